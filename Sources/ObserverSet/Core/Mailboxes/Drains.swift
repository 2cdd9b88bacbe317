/// Which drains of a mailbox there are: tasks that deliver what waits in it, one at a time.
struct Drains: Sendable {
    /// The urgencies of those on their way, at most one of each: a bit for each step.
    private var sent: UInt8 = 0
    /// The urgency of the one under way, if there is one.
    private(set) var running: Urgency?

    /// Whether a drain has to be sent: none that is as urgent is under way or on its way.
    @inline(__always)
    func isNeeded(for urgency: Urgency) -> Bool {
        sent >> urgency.step == 0 && (running.map { $0 < urgency } ?? true)
    }

    /// Notes that a drain is sent, and returns true, unless none has to be.
    @inline(__always)
    mutating func claim(_ urgency: Urgency) -> Bool {
        guard isNeeded(for: urgency) else { return false }
        sent |= 1 << urgency.step
        return true
    }

    /// Notes that a drain has arrived, and returns whether it may begin: no other is under way.
    mutating func begin(_ urgency: Urgency) -> Bool {
        sent &= ~(1 << urgency.step)
        guard running == nil else { return false }
        running = urgency
        return true
    }

    mutating func end() { running = nil }
}
