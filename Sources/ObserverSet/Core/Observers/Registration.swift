/// One registration of an observer: what a slot, a token and a mailbox refer to.
///
/// A registration knows whether it is still active, how many values are pending for it, and, if its observer is to be called
/// only once, the gate for that call. A `Target` is what is called. A target is its own first registration, so that the
/// usual observer, which is registered once, is a single object. A `FurtherRegistration` stands for every other one, and for
/// one that is called once. (A target without a state needs no other: all its calls are made in place, so the slot's mark is
/// all there is to know, and several slots may refer to it.)
///
///     Recipient ─┬ SettledWait
///                └ Registration ─┬ FurtherRegistration
///                                └ AnyTarget ─┬ WeakTarget
///                                             └ Target<Parameters> ── one class for each kind of observer
@usableFromInline
class Registration: Recipient, @unchecked Sendable {
    /// The target that a notification calls for this registration.
    @usableFromInline var target: AnyTarget { unsafe unsafeDowncast(self, to: AnyTarget.self) }
    /// The observer itself: the target behind all conversions. Its registrations share one order.
    // It is yielded, because a getter would retain it, and each change of a set asks several times.
    var observer: AnyTarget { _read { yield unsafe unsafeDowncast(self, to: AnyTarget.self) } }
    // MARK: Gates

    /// What a call has to pass for this registration, if the observer is called once.
    var gate: OnceGate? { nil }
    /// The registration that this one was made from, whose gates are behind this one's, seen from the set.
    var original: Registration? { nil }

    override final var isCalledOnce: Bool { gate != nil || original?.isCalledOnce == true }
    /// Whether no call can pass all gates any longer.
    final var isClosed: Bool { gate?.isPassed == true || original?.isClosed == true }

    /// Passes all gates, and ends their registrations; returns true for the one caller who may make the call.
    ///
    /// It is asked where the observer runs, just before the call. It also returns true after the set has been released, when
    /// `remove()` returns false: the values that are enqueued then are delivered, once.
    final func passGates() -> Bool {
        guard passAllGates() else { return false }
        // Only now, because the end of one registration passes the gate of the other.
        endAll()
        return true
    }

    // If the gate nearest to the set has been passed, those behind it may still let another source's value through.
    private final func passAllGates() -> Bool { gate?.pass() != false && original?.passAllGates() != false }

    private final func endAll() {
        original?.endAll()
        gate?.end()
    }

    // MARK: The tag

    /// What a slot stores in place of the address of a function's code: the class of this object, and what is often asked
    /// about its observer.
    ///
    /// The numbers are the highest ones, because no function is at such an address. Low addresses would not do on
    /// WebAssembly, where functions are numbered from 1.
    final var tag: UInt { kind | observer.traits }
    var kind: UInt { Self.leastTag }
    static var leastTag: UInt { .max - 63 }
    /// The kind of an `IsolatedFunction`; any other target has kind `leastTag`.
    static var functionKind: UInt { leastTag | 1 }
    /// The kind of a `FurtherRegistration`.
    static var furtherKind: UInt { leastTag | 2 }
    static var kinds: UInt { leastTag | 3 }
    static var hasOwner: UInt { 4 }
    static var hasMailbox: UInt { 8 }
    static var isAwaited: UInt { 16 }
    static var isWeak: UInt { 32 }
    static var mayDie: UInt { hasOwner | isWeak }

    // MARK: The state

    /// Returns this registration, or another one of the observer if this one is taken already.
    final func claimed() -> Registration {
        if claim() { return self }
        let other = another()
        _ = other.claim()
        return other
    }

    /// A registration with the same target and gates, and a state of its own.
    final func another() -> Registration { FurtherRegistration(target, of: self, sharingState: false) }

    /// Takes the registration for a set; returns false if it is taken already.
    final func claim() -> Bool { withState { $0.claim() } ?? true }
    final var isClaimed: Bool { withState { $0.isClaimed } ?? false }

    // A value for an observer that has had its only call must neither wait nor cancel that call.
    override final var isActive: Bool { isRegistered && !isClosed }
    /// Whether a call has found that the owner is dead.
    final var ownerCheck: OwnerCheck { withState { $0.isOwnerKnownDead } == true ? .foundDead : .passed }
    final func noteDeadOwner() { withState { $0.noteDeadOwner() } }

    /// Records that the registration has been removed, or is about to be, so that values that are still enqueued are skipped
    /// when their turn comes.
    ///
    /// This may be called under the lock.
    final func markRemoved() { withState { $0.markRemoved() } }

    /// How many values are pending for it in a mailbox, and how many were dropped because there was no room for them.
    final var counts: (pending: Int, dropped: Int) { withState { $0.counts(isAwaited: observer.isAwaited) } ?? (0, 0) }

    // MARK: Values from a mailbox

    /// Drops the values that are pending for it, and cancels its call in progress, if the observer awaits.
    final func cancel() { observer.cancel(self) }

    override final var isInCall: Bool { observer.isBeingCalled }
    override final func receive(_ value: any Sendable) { observer.receive(value, for: self) }
    override final func receive(_ value: any Sendable, on actor: isolated (any Actor)?) async {
        await observer.receive(value, for: self, on: actor)
    }
    override final func isFor(_ observer: Recipient) -> Bool { self.observer === observer }
}

/// A registration of a target that has another one already, or a registration for a single call.
///
/// What `once` makes of an observer's registration shares the state of that registration, so that there is one state for all
/// that is pending for the observer here: if `starting(with:)` has posted a first value for the observer, then whatever ends
/// the registration in the set drops that value, too.
@usableFromInline
final class FurtherRegistration: Registration, @unchecked Sendable {
    let ownTarget: AnyTarget
    private let ownGate: OnceGate?
    private let ownOriginal: Registration?
    private let sharesState: Bool
    private let ownState = RegistrationState()

    /// A registration of `target`, made from `original`; it shares the state of that one, if that has a state.
    @usableFromInline
    init(_ target: AnyTarget, _ gate: OnceGate? = nil, of original: Registration?, sharingState: Bool = true) {
        ownTarget = target
        ownGate = gate
        ownOriginal = original
        sharesState = sharingState
    }

    @usableFromInline override var target: AnyTarget { ownTarget }
    override var observer: AnyTarget { _read { yield ownTarget.observer } }
    override var state: UnsafePointer<RegistrationState>? {
        // fault: first-value-outlives-its-registration
        unsafe (sharesState ? ownOriginal?.state : nil) ?? withUnsafePointer(to: ownState) { unsafe $0 }
    }
    override var gate: OnceGate? { ownGate }
    override var original: Registration? { ownOriginal }
    override var kind: UInt { Self.furtherKind }
}

/// What a value has found out about an observer's owner on its way.
enum OwnerCheck {
    /// The owner is alive, or nobody has asked yet, or there is none.
    case passed
    /// The owner has been deallocated, so the registration is to be removed.
    case foundDead
}
