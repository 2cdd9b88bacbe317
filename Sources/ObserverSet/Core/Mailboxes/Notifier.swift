/// The caller of a notification, about whom targets and mailboxes ask once for all observers.
///
/// Small: each nested notification has one on its stack.
struct Notifier {
    /// The mailbox of the actor that the caller is known to be on; never loaded, only compared.
    ///
    /// No other mailbox has its address meanwhile: the traversal keeps the target, which holds the mailbox.
    private var current: ObjectIdentifier?
    /// Identifies the actor that the compiler says the caller is isolated to, and zero if to none.
    ///
    /// When the runtime has been asked, the actor that the caller is on, and zero if that could not be confirmed.
    private var actor: UInt
    private var isAsked = false
    private var knownUrgency: Urgency?

    init(claiming actor: UInt) { self.actor = actor }

    /// Whether the caller is on the actor of a mailbox; false if that cannot be confirmed.
    @inline(__always)
    mutating func isOn(_ mailbox: Mailbox) -> Bool { current == ObjectIdentifier(mailbox) || confirm(mailbox) }

    /// Asks about the actor that the compiler names. If it names none, asks about the main actor, on which code without
    /// isolation may happen to run.
    // A function of its own, so that the usual way stays short.
    @inline(never)
    private mutating func confirm(_ mailbox: Mailbox) -> Bool {
        guard actor == 0 ? mailbox.isMain && !isAsked : mailbox.identity == actor else { return false }
        isAsked = true
        guard mailbox.isCurrent else {
            actor = 0
            return false
        }
        // Once more for another mailbox of that identity: one of the two is that of an actor that is gone, whose executor may
        // have been another one.
        (actor, current) = (mailbox.identity, ObjectIdentifier(mailbox))
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
}
