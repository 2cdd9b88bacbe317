import Synchronization

/// The state of one registration of an observer whose values may wait.
///
/// Relaxed throughout. A removal in the observer's own isolation is ordered before any later delivery in that
/// isolation; for other removals only "soon" is promised.
struct RegistrationStatus: ~Copyable, Sendable {
    private enum State: UInt8, AtomicRepresentable {
        case unregistered, registered
        /// Set only where the observer runs. A notifier elsewhere does not load the owner for each call, since it might
        /// drop the last reference, and the owner's `deinit` would run there.
        case ownerIsDead
        case removed
    }

    private let state: Atomic<State>

    init(isClaimed: Bool = false) {
        state = Atomic(isClaimed ? .registered : .unregistered)
    }

    /// Claims the status for a registration; false if another registration has it already.
    func claim() -> Bool {
        state.compareExchange(expected: .unregistered, desired: .registered, ordering: .relaxed).exchanged
    }

    /// Whether a value may be enqueued, and one from the mailbox be delivered.
    var isActive: Bool { state.load(ordering: .relaxed) == .registered }

    /// Whether a call has found that the owner is dead.
    var isOwnerKnownDead: Bool { state.load(ordering: .relaxed) == .ownerIsDead }

    func noteDeadOwner() { state.store(.ownerIsDead, ordering: .relaxed) }

    func end() { state.store(.removed, ordering: .relaxed) }
}
