/// An observer that belongs to an actor or a queue: called in place if the notifier is already there and no value waits
/// that must come first, and through the mailbox otherwise.
@usableFromInline
@safe class IsolatedEntry<Parameters: Sendable>: WaitingEntry<Parameters>, @unchecked Sendable {
    // First, where the status leaves room for four bytes of it: an entry then fits into sixteen bytes less.
    private let pending = Pending()
    private let home: Mailbox

    fileprivate init(in mailbox: Mailbox) {
        home = mailbox
    }

    deinit {
        home.endUse()
    }

    /// Calls the observer; false if its owner is dead.
    fileprivate func call(_ parameters: Parameters) -> Bool { fatalError("abstract") }

    /// Whether the notifier is on the observer's actor, and no value waits for this observer that a call in place would
    /// overtake.
    @inline(__always)
    fileprivate final func mayCall(by context: inout NotifyContext) -> Bool { context.isOn(home) && pending.isEmpty }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        deliver(parameters, for: self, by: &context)
    }

    /// Calls the observer for one of its registrations, or enqueues the call.
    @inline(never)
    fileprivate final func deliver(
        _ parameters: Parameters, for registration: WaitingEntry<Parameters>, by context: inout NotifyContext
    ) -> Bool {
        if !mayCall(by: &context) {
            guard registration.status.isActive else { return !registration.status.isOwnerKnownDead }
            guard context.isOn(home), home.catchUp(self, pending) else {
                home.post(Job(value: parameters, recipient: registration), pending, registration.status, by: &context)
                return true
            }
            // One of the values that waited may have ended the registration.
            guard registration.status.isActive else { return !registration.status.isOwnerKnownDead }
        }
        return !registration.passGates() || call(parameters)
    }

    override final func receive(_ value: any Sendable) { receive(value, for: self) }

    fileprivate final func receive(_ value: any Sendable, for registration: WaitingEntry<Parameters>) {
        pending.begin()
        registration.status.begin()
        if registration.status.isActive, registration.passGates(), !call(unboxed(value)) {
            registration.status.noteDeadOwner()
        }
        pending.end()
    }

    override final func isKnownAlive(by context: inout NotifyContext) -> Bool {
        mayCall(by: &context) ? isAlive : super.isKnownAlive(by: &context)
    }

    override final func forRegistration(_ gates: [OnceGate]) -> Entry<Parameters> {
        gates.isEmpty && !status.isClaimed ? self : RepeatedEntry(self, gates)
    }

    override final var isInCall: Bool { pending.isInCall }
    override final var mailbox: Mailbox? { home }
    override final var placeDescription: String {
        "on " + home.description + Mailbox.describe(isInCall: pending.isInCall, waiting: pending.waiting)
    }
}

/// An isolated observer without an owner.
@usableFromInline
@safe final class IsolatedClosure<Parameters: Sendable>: IsolatedEntry<Parameters>, @unchecked Sendable {
    private let function: @Sendable (Parameters) -> Void

    @usableFromInline
    init(_ function: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox) {
        self.function = function
        super.init(in: mailbox)
    }

    /// Calls the observer if it may be called in place; false otherwise.
    @inline(__always)
    func callInPlace(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        guard mayCall(by: &context) else { return false }
        function(parameters)
        return true
    }

    fileprivate override func call(_ parameters: Parameters) -> Bool {
        function(parameters)
        return true
    }

    override var tag: UInt { Self.closureTag }
}

/// An isolated observer with a weakly held owner.
@usableFromInline
@safe
final class IsolatedOwnedEntry<Owner: AnyObject & Sendable, Parameters: Sendable>: IsolatedEntry<Parameters>,
    @unchecked Sendable
{
    private weak let weakOwner: Owner?
    private let function: @Sendable (Owner, Parameters) -> Void

    // The owner is borrowed: to retain an object that has weak references takes several times as long as any other.
    @usableFromInline
    init(_ owner: borrowing Owner, _ function: @escaping @Sendable (Owner, Parameters) -> Void, in mailbox: Mailbox) {
        weakOwner = copy owner
        self.function = function
        super.init(in: mailbox)
    }

    // Spares the call in place, which is the usual one, a jump through the method table.
    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        mayCall(by: &context) ? call(parameters) : super.deliver(parameters, by: &context)
    }

    @inline(__always)
    fileprivate override func call(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}

/// One more registration of an isolated observer, or one that is called once.
///
/// It has an end of its own; the observer has one order for all of them.
private final class RepeatedEntry<Parameters: Sendable>: WaitingEntry<Parameters>, @unchecked Sendable {
    private let first: IsolatedEntry<Parameters>
    private let gates: [OnceGate]

    init(_ first: IsolatedEntry<Parameters>, _ gates: [OnceGate]) {
        self.first = first
        self.gates = gates
    }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        first.deliver(parameters, for: self, by: &context)
    }

    override func receive(_ value: any Sendable) { first.receive(value, for: self) }
    override func isKnownAlive(by context: inout NotifyContext) -> Bool {
        first.mayCall(by: &context) ? isAlive : super.isKnownAlive(by: &context)
    }

    override func forRegistration(_ more: [OnceGate]) -> Entry<Parameters> {
        more.isEmpty && !status.isClaimed ? self : RepeatedEntry(first, gates + more)
    }

    override func passGates() -> Bool { gates.pass() }
    override var base: AnyEntry? { first }
    override var observer: Recipient { first }
    override var isInCall: Bool { first.isInCall }
}
