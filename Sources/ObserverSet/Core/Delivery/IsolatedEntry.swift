/// An observer that belongs to an actor or a queue: called in place if the notifier is already there and no value waits
/// that must come first, and through the mailbox otherwise.
@usableFromInline
class IsolatedEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    fileprivate let delivery: Delivery

    fileprivate init(delivery: consuming Delivery) {
        self.delivery = delivery
    }

    /// Calls the observer; false if its owner is dead.
    fileprivate func call(_ parameters: Parameters) -> Bool { fatalError("abstract") }

    override func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        deliver(parameters, for: self, delivery.status, by: &notifier)
    }

    /// The same for one registration of the observer.
    @inline(never)
    fileprivate final func deliver(
        _ parameters: Parameters, for registration: AnyEntry, _ status: borrowing RegistrationStatus,
        by notifier: inout Notifier
    ) -> Bool {
        if delivery.mayCall(from: notifier.identity) { return call(parameters) }
        guard status.isActive else { return !status.isOwnerKnownDead }
        guard delivery.mailbox.catchUp(delivery.pending, by: &notifier) else {
            delivery.mailbox.post(parameters, to: registration, delivery.pending, by: &notifier)
            return true
        }
        // One of the values that waited may have ended the registration.
        guard status.isActive else { return !status.isOwnerKnownDead }
        return call(parameters)
    }

    override final func deliverEnqueued(_ value: any Sendable, _ number: UInt64) {
        deliverEnqueued(value, number, delivery.status)
    }

    fileprivate final func deliverEnqueued(
        _ value: any Sendable, _ number: UInt64, _ status: borrowing RegistrationStatus
    ) {
        if status.isActive, !call(unboxed(value)) { status.noteDeadOwner() }
        delivery.pending.delivered(number)
    }

    override final func isKnownAlive(by notifier: Notifier) -> Bool { isKnownAlive(delivery.status, by: notifier) }

    fileprivate final func isKnownAlive(_ status: borrowing RegistrationStatus, by notifier: Notifier) -> Bool {
        delivery.mayCall(from: notifier.identity) ? isAlive : !status.isOwnerKnownDead
    }

    override final func forRegistration() -> AnyEntry { delivery.status.claim() ? self : RepeatedEntry(self) }
    override final var mailbox: Mailbox? { delivery.mailbox }
    override final var placeDescription: String { delivery.description }
    override final func end() { delivery.status.end() }
}

/// An isolated observer without an owner.
@usableFromInline
@safe final class IsolatedClosure<Parameters: Sendable>: IsolatedEntry<Parameters>, @unchecked Sendable {
    private let function: @Sendable (Parameters) -> Void

    @usableFromInline
    init(_ function: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox) {
        self.function = function
        super.init(delivery: Delivery(mailbox))
    }

    /// Calls the observer if it may be called in place; false otherwise.
    @inline(__always)
    func callInPlace(_ parameters: Parameters, from callerID: UInt) -> Bool {
        guard delivery.mayCall(from: callerID) else { return false }
        function(parameters)
        return true
    }

    fileprivate override func call(_ parameters: Parameters) -> Bool {
        function(parameters)
        return true
    }

    override func ending(_ registration: SelfEndingRegistration) -> Entry<Parameters> {
        IsolatedClosure({ [function] in if registration.end() { function($0) } }, in: delivery.mailbox.beginUse())
    }

    override var isIsolatedClosure: Bool { true }
}

/// An isolated observer with a weakly held owner.
@usableFromInline
@safe
final class IsolatedOwnedEntry<Owner: AnyObject & Sendable, Parameters: Sendable>: IsolatedEntry<Parameters>,
    @unchecked Sendable
{
    private weak let weakOwner: Owner?
    private let function: @Sendable (Owner, Parameters) -> Void

    @usableFromInline
    init(_ owner: Owner, _ function: @escaping @Sendable (Owner, Parameters) -> Void, in mailbox: Mailbox) {
        weakOwner = owner
        self.function = function
        super.init(delivery: Delivery(mailbox))
    }

    // Spares the call in place, which is the usual one, a jump through the method table.
    override func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        delivery.mayCall(from: notifier.identity) ? call(parameters) : super.deliver(parameters, by: &notifier)
    }

    @inline(__always)
    fileprivate override func call(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override func ending(_ registration: SelfEndingRegistration) -> Entry<Parameters> {
        guard let owner = weakOwner else { return self }
        return IsolatedOwnedEntry(
            owner, { [function] in if registration.end() { function($0, $1) } }, in: delivery.mailbox.beginUse())
    }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}

/// One more registration of an isolated observer, which has an end of its own; the observer has one order for all of them.
private final class RepeatedEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    private let first: IsolatedEntry<Parameters>
    private let status = RegistrationStatus(isClaimed: true)

    init(_ first: IsolatedEntry<Parameters>) {
        self.first = first
    }

    override func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        first.deliver(parameters, for: self, status, by: &notifier)
    }

    override func deliverEnqueued(_ value: any Sendable, _ number: UInt64) {
        first.deliverEnqueued(value, number, status)
    }

    override func isKnownAlive(by notifier: Notifier) -> Bool { first.isKnownAlive(status, by: notifier) }
    override var base: AnyEntry? { first }
    override func end() { status.end() }
}
