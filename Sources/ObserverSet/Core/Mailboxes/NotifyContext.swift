/// The caller of a notification, about whom mailboxes ask once for all observers.
///
/// Small: each nested notification has one on its stack.
struct NotifyContext {
    /// The mailbox of the actor that the caller is on, as far as it is known; never loaded, only compared.
    private var current: ObjectIdentifier?
    /// Identifies the actor to which the caller is isolated; zero if it is isolated to none.
    private let identity: UInt
    private var knownUrgency: Urgency?
    private var knownOnMainQueue: Bool?

    init(identity: UInt) { self.identity = identity }

    /// Whether the caller is on the actor of a mailbox.
    @inline(__always)
    mutating func isOn(_ mailbox: Mailbox) -> Bool {
        current == ObjectIdentifier(mailbox) || identity != 0 && confirm(mailbox)
    }

    // A function of its own, so that the usual way stays short.
    @inline(never)
    private mutating func confirm(_ mailbox: Mailbox) -> Bool {
        guard mailbox.identity == identity else { return false }
        current = ObjectIdentifier(mailbox)
        return true
    }

    /// How urgently the values are to be delivered.
    var urgency: Urgency {
        mutating get {
            let urgency = knownUrgency ?? .current
            knownUrgency = urgency
            return urgency
        }
    }

    /// Whether code without isolation happens to run on the main actor.
    var isOnMainQueue: Bool {
        mutating get {
            let isOnMainQueue = knownOnMainQueue ?? (identity == 0 && ObserverSet::isOnMainQueue())
            knownOnMainQueue = isOnMainQueue
            return isOnMainQueue
        }
    }
}
