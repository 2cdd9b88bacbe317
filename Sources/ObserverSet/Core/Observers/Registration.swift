/// One registration of an observer, to which a slot and the jobs in a mailbox refer.
///
/// A registration knows whether it is still active, and how many values are pending for it. If its observer is called
/// only once, the registration also has the gate for that call. A `Target` has the function to call. Each target is
/// also its own first registration, because most observers are registered once, and then need only one object. Every
/// other registration is a `FurtherRegistration`, and so is every registration that has a gate.
///
/// A target that has no state needs no further registrations. All its calls are made in place, so the removed flag in
/// the slot is all there is to know, and several slots may refer to the same target.
///
///     Recipient ─┬ SettledWait
///                └ Registration ─┬ FurtherRegistration
///                                └ AnyTarget ─┬ WeakTarget
///                                             └ Target<Parameters> ── one class for each kind of observer
@usableFromInline
class Registration: Recipient, @unchecked Sendable {
    /// The target to which a notification sends its value for this registration; the outermost one, if there are
    /// conversions.
    @usableFromInline var target: AnyTarget { unsafe unsafeDowncast(self, to: AnyTarget.self) }
    /// The observer: the innermost target, that is, the target behind all conversions.
    ///
    /// All registrations of one observer share one order.
    // It is yielded, because a getter would retain it, and each change of a set reads this property several times.
    var observer: AnyTarget { _read { yield unsafe unsafeDowncast(self, to: AnyTarget.self) } }

    // MARK: Gates

    /// The gate that a call for this registration must pass; nil if it has none of its own.
    var gate: OnceGate? { nil }
    /// The registration that this one was made from; nil if there is none.
    ///
    /// A call must also pass the gates of the original, after this registration's own gate.
    var original: Registration? { nil }

    override final var isCalledOnce: Bool { gate != nil || original?.isCalledOnce == true }
    /// Whether some gate has been passed already, so that no call can pass all of them.
    final var isClosed: Bool { gate?.isPassed == true || original?.isClosed == true }

    /// Passes all gates, and ends their registrations; returns true if the caller may make the call.
    ///
    /// If there are gates, only one caller gets `true`. Call this where the observer runs, just before its call. It
    /// also returns true after the set has been deallocated, although `remove()` then returns false, because the first
    /// value that was enqueued before is still delivered.
    final func passGates() -> Bool {
        guard passEachGate() else { return false }
        // This comes after all gates have been passed, because ending one registration may pass the gate of another.
        endAll()
        return true
    }

    // The gate nearest to the set comes first. If it has been passed before, the gates behind it are left as they are,
    // because they may still let another source's value through.
    private final func passEachGate() -> Bool { gate?.pass() != false && original?.passEachGate() != false }

    private final func endAll() {
        original?.endAll()
        gate?.end()
    }

    // MARK: The tag

    /// The number that a slot stores in place of the address of a function's code.
    ///
    /// It tells the class of this object, and has the flags of the observer that are often needed. Tags are the highest
    /// numbers, because no function has such an address. Low numbers would be wrong on WebAssembly, where functions are
    /// numbered from 1.
    final var tag: UInt { kind | observer.traits }
    var kind: UInt { Self.leastTag }
    static var leastTag: UInt { .max - 63 }
    /// The kind of an `IsolatedFunction`; any other target has kind `leastTag`.
    static var functionKind: UInt { leastTag | 1 }
    /// The kind of a `FurtherRegistration`.
    static var furtherKind: UInt { leastTag | 2 }
    /// The bits of a tag in which its kind is stored.
    static var kinds: UInt { leastTag | 3 }
    static var hasOwner: UInt { 4 }
    static var hasMailbox: UInt { 8 }
    static var isAwaited: UInt { 16 }
    static var isWeak: UInt { 32 }
    static var mayDie: UInt { hasOwner | isWeak }

    // MARK: The state

    /// Claims this registration for a set and returns it; if it has been claimed before, claims and returns another
    /// one.
    final func claimed() -> Registration {
        if claim() { return self }
        let other = another()
        _ = other.claim()
        return other
    }

    /// Makes a registration that has the same target and gates, and a state of its own.
    final func another() -> Registration { FurtherRegistration(target, of: self, sharingState: false) }

    /// Claims the registration for a set; returns false if it has been claimed before.
    ///
    /// A registration without a state can be claimed any number of times.
    final func claim() -> Bool { withState { $0.claim() } ?? true }
    final var isClaimed: Bool { withState { $0.isClaimed } ?? false }

    // The gates are asked, too, because a value that comes after the only call of an observer must neither wait for
    // that call nor cancel it.
    override final var isActive: Bool { isRegistered && !isClosed }
    /// Whether a call has found that the owner is dead.
    final var ownerCheck: OwnerCheck { withState { $0.isOwnerKnownDead } == true ? .foundDead : .passed }
    final func noteDeadOwner() { withState { $0.noteDeadOwner() } }

    /// Records that the registration has been removed, or is about to be removed.
    ///
    /// Values that are still enqueued are then skipped when their turn comes. This may be called under the lock.
    final func markRemoved() { withState { $0.markRemoved() } }

    /// The number of values that are pending for the registration in a mailbox, and the number that were dropped
    /// because there was no room for them.
    final var counts: (pending: Int, dropped: Int) { withState { $0.counts(isAwaited: observer.isAwaited) } ?? (0, 0) }

    // MARK: Values from a mailbox

    /// If the observer awaits, drops the values that are pending for the registration, and cancels its call in
    /// progress.
    final func cancel() { observer.cancel(self) }

    override final var isInCall: Bool { observer.isBeingCalled }
    override final func receive(_ value: any Sendable) { observer.receive(value, for: self) }
    override final func receive(_ value: any Sendable, on actor: isolated (any Actor)?) async {
        await observer.receive(value, for: self, on: actor)
    }
    override final func isFor(_ observer: Recipient) -> Bool { self.observer === observer }
}

/// A registration that isn't its target's first one, or that has a gate or an original with gates.
///
/// A registration that `once` makes from another registration shares that one's state. So there is one state for all
/// values that are pending. If `starting(with:)` has posted a first value to the original registration, then whatever
/// ends the registration in the set drops that value, too.
@usableFromInline
final class FurtherRegistration: Registration, @unchecked Sendable {
    let ownTarget: AnyTarget
    private let ownGate: OnceGate?
    private let ownOriginal: Registration?
    private let sharesState: Bool
    private let ownState = RegistrationState()

    /// Makes a registration of `target` from `original`.
    ///
    /// If `sharingState` is true and the original has a state, the new registration uses that state.
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

/// What is known about an observer's owner after a value has been sent or delivered.
enum OwnerCheck {
    /// The owner is alive, or there is no owner, or no code on the observer's actor has looked yet.
    case passed
    /// The owner has been deallocated, so the registration must be removed.
    case foundDead
}
