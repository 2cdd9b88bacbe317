/// What targets and mailboxes ask, once for all observers, about the caller of a notification; targets also note here
/// that they have met a dead owner.
///
/// It is small, because each nested notification has one on its stack.
struct Notifier {
    /// The mailbox of the actor that the caller is known to be on; it is only compared, and never loaded.
    ///
    /// No other mailbox can have its address in the meantime, because the traversal keeps the target alive, and the
    /// target holds the mailbox.
    private var confirmedMailbox: UInt = 0
    /// Identifies the actor to which the caller is isolated, according to the compiler; zero if there is none.
    ///
    /// Once the runtime has been asked about a living actor, it identifies the actor that the caller is on, and is zero
    /// if that could not be confirmed.
    private var actorAddress: UInt
    private var hasAskedRuntime = false
    private var knownUrgency: Urgency?
    /// Whether the notification has learned of a dead owner, whose registration must be removed when it ends.
    var metDead = false

    init(on actorAddress: UInt) { self.actorAddress = actorAddress }

    /// Whether the caller is on a mailbox's actor; false if that can't be confirmed.
    @inline(__always)
    mutating func isOn(_ mailbox: Mailbox) -> Bool { confirmedMailbox == Self.address(of: mailbox) || confirm(mailbox) }

    private static func address(of mailbox: Mailbox) -> UInt { UInt(bitPattern: ObjectIdentifier(mailbox)) }

    /// Asks the runtime whether the caller is on a mailbox's actor.
    ///
    /// It asks about the actor that the compiler names. If the compiler names none, it asks about the main actor,
    /// because code without isolation may happen to run there.
    // This is a separate function, so that the usual way stays short.
    @inline(never)
    private mutating func confirm(_ mailbox: Mailbox) -> Bool {
        guard actorAddress == 0 ? mailbox.isMain && !hasAskedRuntime : mailbox.actorAddress == actorAddress else {
            return false
        }
        hasAskedRuntime = true
        guard mailbox.isCurrent else {
            // If the mailbox's actor is gone, another actor has its address by now, and the answer says nothing about
            // that one.
            if mailbox.actor != nil { actorAddress = 0 }
            return false
        }
        // If another mailbox has the same actor address, the runtime is asked once more: one of the two mailboxes
        // belongs to an actor that is gone, and whose executor may have been a different one.
        (actorAddress, confirmedMailbox) = (mailbox.actorAddress, Self.address(of: mailbox))
        return true
    }

    /// How urgently the values must be delivered.
    var urgency: Urgency {
        mutating get {
            let urgency = knownUrgency ?? .current
            knownUrgency = urgency
            return urgency
        }
    }
}
