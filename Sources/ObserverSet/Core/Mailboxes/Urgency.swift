/// How urgently a value is to be delivered: the notifier's task priority, in four steps.
struct Urgency: Comparable, Sendable {
    let step: UInt8

    /// The caller's; a thread outside tasks may have no priority.
    // Not inlined: asked once for a notification, in a function that is called for each observer.
    static var current: Urgency {
        @inline(never) get { Urgency(Task.currentPriority) }
    }

    static var lowest: Urgency { Urgency(step: 0) }

    init(step: UInt8) { self.step = step }

    static func < (left: Urgency, right: Urgency) -> Bool { left.step < right.step }

    // The raw values of `TaskPriority`: comparing priorities calls unspecialised code, and looking the constants up takes
    // as long, here for each notification.
    static var background: UInt8 { 9 }
    static var medium: UInt8 { 21 }

    init(_ priority: TaskPriority) {
        let value = priority.rawValue
        let isDefault = value == Self.medium || value == 0
        step = value > Self.medium ? 3 : isDefault ? 2 : value > Self.background ? 1 : 0
    }

    var priority: TaskPriority {
        switch step {
        case 0: .background
        case 1: .utility
        case 2: .medium
        default: .high
        }
    }
}
