/// How urgently a value must be delivered: the notifier's task priority, reduced to four steps.
struct Urgency: Comparable, Sendable {
    let rank: UInt8

    /// The caller's urgency; that of medium priority if a thread outside tasks has none.
    // It is not inlined, because it is asked only once for each notification, but in a function that is called for each
    // observer.
    static var current: Urgency { @inline(never) get { Urgency(Task.currentPriority) } }

    static var lowest: Urgency { Urgency(rank: 0) }

    init(rank: UInt8) { self.rank = rank }

    static func < (left: Urgency, right: Urgency) -> Bool { left.rank < right.rank }

    // These are raw values of `TaskPriority`. Comparing priorities would call unspecialised code, and looking up the
    // constants would take as long. Both would happen in each notification.
    static var background: UInt8 { 9 }
    static var medium: UInt8 { 21 }

    init(_ priority: TaskPriority) {
        let value = priority.rawValue
        let isDefault = value == Self.medium || value == 0
        rank = value > Self.medium ? 3 : isDefault ? 2 : value > Self.background ? 1 : 0
    }

    var priority: TaskPriority {
        switch rank {
        case 0: .background
        case 1: .utility
        case 2: .medium
        default: .high
        }
    }
}
