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
/// Its properties answer different questions:
///
/// - `isClaimed`: has a set taken it? Each set that registers the observer needs a registration of its own.
/// - `isRegistered`: has a set taken it, and not removed it, and is its owner not known to be dead?
/// - `isClosed`: has one of its gates been passed, so that nothing can come through?
/// - `isActive`: may a value be posted for it, and delivered? It is registered, and not closed.
///
/// (A gate's `isPassed` is about that gate alone. A token's `isActive` is the user's question, which also looks at the
/// owner.)
///
///     Registration ─┬ FurtherRegistration
///                   └ AnyTarget ─┬ WeakObject, and the markers: SettledWait, EndOfTraversals
///                                └ Target<Parameters> ── one class for each kind of observer
@usableFromInline
package class Registration: @unchecked Sendable {
    /// The target to which a notification sends its value for this registration; the outermost one, if there are
    /// conversions.
    @usableFromInline var target: AnyTarget { unsafe unsafeDowncast(self, to: AnyTarget.self) }
    /// The observer: the innermost target, that is, the target behind all conversions.
    ///
    /// All registrations of one observer share one order.
    // It is yielded, because a getter would retain it, and each change of a set reads this property several times.
    var innermost: AnyTarget { _read { yield unsafe unsafeDowncast(self, to: AnyTarget.self) } }

    // MARK: Gates

    /// The gate that a call for this registration must pass; nil if it has none of its own.
    var gate: OnceGate? { nil }
    /// The registration that this one was made from; nil if there is none.
    ///
    /// A call must also pass the gates of the original, after this registration's own gate.
    var original: Registration? { nil }

    /// Whether the observer is called only once.
    ///
    /// If so, its call is never cancelled, because the call itself has ended the registration.
    final var isCalledOnce: Bool { gate != nil || original?.isCalledOnce == true }
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
        return endRegistrationsAndBeginCall()
    }

    // The gate nearest to the set comes first. If it has been passed before, the gates behind it are left as they are,
    // because they may still let another source's value through.
    private final func passEachGate() -> Bool { gate?.pass() != false && original?.passEachGate() != false }

    // The gate nearest to the set comes first here, too, because the end of another gate's registration removes this
    // gate's token. By then, the call has begun as far as this gate is concerned.
    private final func endRegistrationsAndBeginCall() -> Bool {
        let mayCall = gate?.endRegistrationAndBeginCall() != false
        return original?.endRegistrationsAndBeginCall() != false && mayCall
    }

    // MARK: The tag

    /// The number that a slot stores in place of the address of a function's code.
    ///
    /// It tells the class of this object, and has the flags of the observer that are often needed. Tags are the highest
    /// numbers, because no function has such an address. Low numbers would be wrong on WebAssembly, where functions are
    /// numbered from 1.
    final var tag: UInt { kind | innermost.traits }
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

    /// The registration's state, which lives as long as this object; nil if there is none.
    ///
    /// Several registrations may share a state: see `FurtherRegistration`.
    var state: UnsafePointer<RegistrationState>? { nil }
    /// The registration that has the state: this one, or the one whose state it shares.
    ///
    /// Each pending value holds it, whichever of the registrations that share the state the value was sent to.
    var stateOwner: Registration { self }

    @inline(__always)
    final func withState<Result>(_ body: (borrowing RegistrationState) -> Result) -> Result? {
        unsafe state.map { unsafe body($0.pointee) }
    }

    /// Identifies the registration in its mailbox; registrations that share a state count as one.
    final var stateAddress: UInt { unsafe UInt(bitPattern: state) }

    /// Claims this registration for a set and returns it; if it has been claimed before, claims and returns another
    /// one.
    final func claimedOrAnother() -> Registration {
        if claim() { return self }
        let other = another()
        _ = other.claim()
        return other
    }

    /// Returns another registration, which has the same target, but its own state.
    ///
    /// A call for the new registration must also pass the gates of this one.
    final func another() -> Registration { FurtherRegistration(target, of: self, sharingState: false) }

    /// Claims the registration for a set; returns false if it has been claimed before.
    ///
    /// A registration without a state can be claimed any number of times.
    final func claim() -> Bool { withState { $0.claim() } ?? true }
    final var isClaimed: Bool { withState { $0.isClaimed } ?? false }

    /// Whether the registration has been claimed and not removed, and its owner isn't known to be dead; true if there
    /// is no state, because all calls are then made in place, after a look at the slot.
    final var isRegistered: Bool { withState { $0.isRegistered } != false }

    /// Whether values for the registration may still be posted and delivered: it is registered, and no gate has been
    /// passed.
    // The gates are asked, too, because a value that comes after the only call of an observer must neither wait for
    // that call nor cancel it.
    final var isActive: Bool { isRegistered && !isClosed }
    /// Tells the notifier if a call has found that the owner is dead.
    final func reportOwnerIfKnownDead(to notifier: inout Notifier) {
        if withState({ $0.isOwnerKnownDead }) == true { notifier.metDead = true }
    }
    final func noteDeadOwner() { withState { $0.noteDeadOwner() } }

    /// Records that the registration has been removed, or is about to be removed.
    ///
    /// Values that are still enqueued are then skipped when their turn comes. This may be called under the lock.
    final func markRemoved() { withState { $0.markRemoved() } }

    /// The number of values that are pending for the registration in a mailbox, and the number that were dropped
    /// because there was no room for them.
    final var counts: (pending: Int, dropped: Int) { withState { $0.counts(isAwaited: innermost.isAwaited) } ?? (0, 0) }

    // MARK: Values from a mailbox

    /// Call this under the mailbox's lock.
    final func notePosted() { withState { $0.notePosted() } }
    final func noteTaken() { withState { $0.noteTaken() } }
    /// Call this and the next method under the mailbox's lock, and only for observers that await.
    final func noteNoLongerPending() { withState { $0.noteNoLongerPending() } }
    final func noteDropped() { withState { $0.noteDropped() } }

    /// If the observer awaits, drops the values of its removed registrations, and cancels the call in progress if that
    /// is this one's; call this after `markRemoved()`.
    final func cancel() { innermost.cancel(self) }
}

/// A registration that isn't its target's first one, or that has a gate or an original with gates.
///
/// If `once` makes it from another registration, it shares that one's state, and so do those that are made from it. So
/// there is one state for all values that are pending. If `starting(with:)` has posted a first value to the original
/// registration, then whatever ends the registration in the set drops that value, too.
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
    override var innermost: AnyTarget { _read { yield ownTarget.innermost } }
    override var state: UnsafePointer<RegistrationState>? {
        // fault: first-value-outlives-its-registration
        unsafe (sharesState ? ownOriginal?.state : nil) ?? withUnsafePointer(to: ownState) { unsafe $0 }
    }
    override var stateOwner: Registration {
        unsafe sharesState && ownOriginal?.state != nil ? ownOriginal!.stateOwner : self
    }
    override var gate: OnceGate? { ownGate }
    override var original: Registration? { ownOriginal }
    override var kind: UInt { Self.furtherKind }
}
