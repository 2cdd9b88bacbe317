/// Keeps track of a mailbox's drains, which are tasks that deliver its pending values, one drain at a time.
struct Drains: Sendable {
    /// The urgencies of the drains that have been started but have not arrived, at most one of each: a bit for each
    /// step.
    private var onTheirWay: UInt8 = 0
    /// The urgency of the drain that is running; nil if none is.
    private(set) var running: Urgency?

    /// Whether a drain must be started, because none that is at least as urgent is running or on its way.
    @inline(__always)
    func isNeeded(for urgency: Urgency) -> Bool {
        onTheirWay >> urgency.rank == 0 && (running.map { $0 < urgency } ?? true)
    }

    /// Records that a drain is started, and returns true; returns false if no drain is needed.
    @inline(__always)
    mutating func reserve(_ urgency: Urgency) -> Bool {
        guard isNeeded(for: urgency) else { return false }
        onTheirWay |= 1 << urgency.rank
        return true
    }

    /// Records that a drain has arrived, and returns whether it may begin, because no other is running.
    mutating func beginIfNoneIsRunning(_ urgency: Urgency) -> Bool {
        onTheirWay &= ~(1 << urgency.rank)
        guard running == nil else { return false }
        running = urgency
        return true
    }

    mutating func end() { running = nil }
}
