/// A target that belongs to an actor or a queue.
///
/// An actor's target is called in place if the notifier is on that actor, and no earlier value is pending for the
/// target, or all of these can be delivered first (see `catchUp`). Otherwise the value goes through the target's
/// mailbox. A queue's target is never called in place.
@usableFromInline
@safe class IsolatedTarget<Parameters: Sendable>: Target<Parameters>, @unchecked Sendable {
    // These two are side by side, because the first leaves a gap that takes four bytes of the second. That makes the
    // object sixteen bytes smaller.
    private let ownState = RegistrationState()
    private let pending = PendingCount()
    private let ownMailbox: Mailbox

    fileprivate init(in mailbox: Mailbox) { ownMailbox = mailbox }

    deinit { ownMailbox.endUse() }

    /// Calls the function, or returns false if its owner is dead; call this only where the observer runs.
    fileprivate func call(_ parameters: Parameters) -> Bool { fatalError("abstract") }

    /// Whether the notifier is on the target's actor, and neither a pending value nor a call in progress would be
    /// overtaken by a call in place.
    @inline(__always)
    fileprivate final func mayCallInPlace(for notifier: inout Notifier) -> Bool {
        notifier.isOn(ownMailbox) && pending.isSettled
    }

    @inline(never)
    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        if !mayCallInPlace(for: &notifier) {
            guard registration.isRegistered else { return registration.reportOwnerIfKnownDead(to: &notifier) }
            guard notifier.isOn(ownMailbox), ownMailbox.catchUp(self, pending) else {
                return ownMailbox.post(value, to: registration, pending, by: &notifier)
            }
            // One of the pending values may have ended the registration.
            guard registration.isRegistered else { return registration.reportOwnerIfKnownDead(to: &notifier) }
        }
        if takeCall(for: registration), !call(value) { notifier.metDead = true }
    }

    override final func deliver(_ value: any Sendable, for registration: Registration) {
        pending.noteCall()
        registration.noteTaken()
        if registration.isRegistered, takeCall(for: registration), !call(unboxed(value)) {
            registration.noteDeadOwner()
        }
        pending.noteReturn()
    }

    override final func checkOwner(for registration: Registration, reportingTo notifier: inout Notifier) {
        guard mayCallInPlace(for: &notifier) else { return registration.reportOwnerIfKnownDead(to: &notifier) }
        if isOrphaned { notifier.metDead = true }
    }

    override final var state: UnsafePointer<RegistrationState>? { unsafe withUnsafePointer(to: ownState) { unsafe $0 } }
    override final func isBeingCalled(for registration: Registration) -> Bool { pending.isInCallOrCatchUp }
    override final var mailbox: Mailbox? { ownMailbox }
    override var traits: UInt { Self.hasMailbox }
}

/// The target of an isolated function without an owner.
@usableFromInline
@safe final class IsolatedFunction<Parameters: Sendable>: IsolatedTarget<Parameters>, @unchecked Sendable {
    private let function: @Sendable (Parameters) -> Void

    @usableFromInline
    init(_ function: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox) {
        self.function = function
        super.init(in: mailbox)
    }

    /// Calls the function if it may be called in place, and returns false otherwise.
    @inline(__always)
    func callInPlace(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        guard mayCallInPlace(for: &notifier) else { return false }
        function(parameters)
        return true
    }

    fileprivate override func call(_ parameters: Parameters) -> Bool {
        function(parameters)
        return true
    }

    override var kind: UInt { Self.functionKind }
}

/// The target of an isolated function with an owner, which it holds weakly.
@usableFromInline @safe
final class IsolatedOwnedTarget<Parameters: Sendable>: IsolatedTarget<Parameters>,
    @unchecked Sendable
{
    private weak let weakOwner: AnyObject?
    private let function: @Sendable (AnyObject, Parameters) -> Void

    // The owner is borrowed, because retaining an object that has weak references takes several times as long as
    // retaining another object.
    @usableFromInline
    init(
        _ owner: borrowing AnyObject, _ function: @escaping @Sendable (AnyObject, Parameters) -> Void,
        in mailbox: Mailbox
    ) {
        weakOwner = copy owner
        self.function = function
        super.init(in: mailbox)
    }

    // This is overridden so that a call in place, which is the usual case, needs no jump through the method table.
    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        guard registration === self, mayCallInPlace(for: &notifier) else {
            return super.send(value, for: registration, by: &notifier)
        }
        if !call(value) { notifier.metDead = true }
    }

    @inline(__always)
    fileprivate override func call(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override var owner: AnyObject? { weakOwner }
    override var traits: UInt { Self.hasMailbox | Self.hasOwner }
}
