import Synchronization

/// The state of a registration for which values may be pending.
///
/// All accesses are relaxed. For a claim, the exchange alone decides. If a removal happens where the observer runs, any
/// later call there comes after it anyway. For all other removals, the library promises only that they take effect
/// soon. The argument for the counts is that of `PendingCount`.
struct RegistrationState: ~Copyable, Sendable {
    // These are numbers, because the conformance of an enumeration to `AtomicRepresentable` adds a kilobyte to every
    // program.
    private static var unclaimed: UInt8 { 0 }
    private static var registered: UInt8 { 1 }
    /// The owner has been found dead, which is recorded only where the observer runs.
    ///
    /// A notifier elsewhere doesn't load the owner for its call, because it might drop the last reference, and the
    /// owner's `deinit` would run there. (A search for dead owners does load them: see `Registry.tryToRemoveDead`.)
    private static var ownerIsDead: UInt8 { 2 }
    private static var removed: UInt8 { 3 }

    private let phase = Atomic(unclaimed)
    /// The number of values that have been posted; for an observer that awaits, the number of those that are still
    /// pending.
    private let posted = Atomic<UInt32>(0)
    /// The number of values that have been taken out of the mailbox.
    ///
    /// For an observer that awaits, it is the number of values that were dropped, because `posted` alone counts the
    /// pending values.
    private let takenOrDropped = Atomic<UInt32>(0)

    /// Claims the state for a registration; returns false if another registration has claimed it already.
    func claim() -> Bool {
        phase.compareExchange(expected: Self.unclaimed, desired: Self.registered, ordering: .relaxed).exchanged
    }

    var isClaimed: Bool { phase.load(ordering: .relaxed) != Self.unclaimed }

    /// Whether the registration has been claimed and not removed, and its owner isn't known to be dead.
    ///
    /// This ignores gates.
    var isRegistered: Bool { phase.load(ordering: .relaxed) == Self.registered }

    /// Whether a call has found that the owner is dead.
    var isOwnerKnownDead: Bool { phase.load(ordering: .relaxed) == Self.ownerIsDead }

    func noteDeadOwner() { phase.store(Self.ownerIsDead, ordering: .relaxed) }
    func markRemoved() { phase.store(Self.removed, ordering: .relaxed) }

    /// The number of values that are pending for the registration, and the number that were dropped, which stops at
    /// 4,294,967,295.
    func counts(isAwaited: Bool) -> (pending: Int, dropped: Int) {
        let (posted, other) = (posted.load(ordering: .relaxed), takenOrDropped.load(ordering: .relaxed))
        return isAwaited ? (Int(posted), Int(other)) : (posted.minus(other), 0)
    }

    /// Call this under the mailbox's lock.
    func notePosted() { posted.increment() }
    /// Records that a value has been taken out of the mailbox of an observer that does not await.
    ///
    /// Call this without the lock.
    func noteTaken() { takenOrDropped.increment() }
    /// Records that a value has been taken out of the mailbox of an observer that awaits.
    ///
    /// Call this under the mailbox's lock. Therefore, a single count of the pending values is enough.
    func noteNoLongerPending() { posted.decrement() }
    func noteDropped() { if takenOrDropped.load(ordering: .relaxed) < .max { takenOrDropped.increment() } }
}
