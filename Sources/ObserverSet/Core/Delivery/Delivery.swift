/// Where an isolated observer runs, and what waits for it there.
///
/// The part of an isolated entry that does not depend on the type of the parameters.
@safe struct Delivery: ~Copyable, Sendable {
    let mailbox: Mailbox
    /// The mailbox's identity, copied so that a notification loads one pointer less.
    private let identity: UInt
    let pending = Pending()
    let status = RegistrationStatus()

    init(_ mailbox: Mailbox) {
        self.mailbox = mailbox
        identity = mailbox.identity
    }

    deinit {
        mailbox.endUse()
    }

    /// Whether the notifier is on the observer's actor, and no value waits for this observer that a call in place would
    /// overtake.
    @inline(__always)
    func mayCall(from callerID: UInt) -> Bool { callerID == identity && pending.lastNumber == 0 }

    var description: String {
        "on " + mailbox.description + Mailbox.describe(mailbox.progress(pending))
    }
}
