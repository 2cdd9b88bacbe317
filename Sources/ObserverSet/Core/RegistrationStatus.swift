import Synchronization

/// What has become of the registration of an observer whose values may wait.
///
/// Relaxed throughout: a removal in the observer's own isolation is ordered before any later delivery by that isolation,
/// and no other removal promises more than "soon".
struct RegistrationStatus: ~Copyable, Sendable {
    private enum State: UInt8, AtomicRepresentable {
        case unregistered, registered
        /// Noticed where the observer runs: a notifier does not load an owner from elsewhere, lest the owner die there.
        case ownerIsDead
        case removed
    }

    private let state: Atomic<State>

    init(isClaimed: Bool = false) {
        state = Atomic(isClaimed ? .registered : .unregistered)
    }

    /// Whether it becomes the status of a registration by this call.
    func claim() -> Bool {
        state.compareExchange(expected: .unregistered, desired: .registered, ordering: .relaxed).exchanged
    }

    /// Whether a value may be enqueued.
    var isOpen: Bool { state.load(ordering: .relaxed).rawValue < State.ownerIsDead.rawValue }

    /// Whether what has waited may be delivered.
    var isActive: Bool { state.load(ordering: .relaxed) == .registered }

    var isRemoved: Bool { state.load(ordering: .relaxed) == .removed }

    func noteDeadOwner() { state.store(.ownerIsDead, ordering: .relaxed) }

    func end() { state.store(.removed, ordering: .relaxed) }
}
