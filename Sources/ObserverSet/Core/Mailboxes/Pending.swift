import Synchronization

/// How many values were posted to an observer, and how many of its calls with them have begun and ended, for all its
/// registrations together.
///
/// Relaxed throughout. A thread sees its own posts, and those of another thread that it knows of through any
/// synchronisation; a notification that knows of no earlier one may go first. Only code on the observer's actor begins and
/// ends calls, and only code there depends on that. (If the actor is gone, the one thread that drains does.) Each count is
/// written by one thread at a time, so that a load and a store suffice.
struct Pending: ~Copyable, Sendable {
    private let posted = Atomic<UInt32>(0)
    private let begun = Atomic<UInt32>(0)
    private let ended = Atomic<UInt32>(0)

    /// Whether no value is left.
    ///
    /// One counts until its call has returned, so that a value which is notified inside that call is posted, too: otherwise
    /// an observer that always notifies again would call itself without end, where it now takes turns.
    var isEmpty: Bool {
        @inline(__always) get { posted.load(ordering: .relaxed) == ended.load(ordering: .relaxed) }
    }

    var isInCall: Bool { begun.load(ordering: .relaxed) != ended.load(ordering: .relaxed) }

    /// How many values wait, without the one of a call.
    var waiting: Int { posted.load(ordering: .relaxed).waiting(begun.load(ordering: .relaxed)) }

    /// Called under the mailbox's lock.
    func post() { posted.increment() }
    func begin() { begun.increment() }
    func end() { ended.increment() }
}

/// The state of one registration of an observer whose values may wait.
///
/// Relaxed throughout. A removal in the observer's own isolation is ordered before any later delivery in that
/// isolation; for other removals only "soon" is promised. The counts are as in `Pending`.
struct RegistrationStatus: ~Copyable, Sendable {
    // Numbers, not an enumeration that is `AtomicRepresentable`: its conformance is a kilobyte of every program.
    private static var unregistered: UInt8 { 0 }
    private static var registered: UInt8 { 1 }
    /// Set only where the observer runs.
    ///
    /// A notifier elsewhere does not load the owner for each call, since it might drop the last reference, and the owner's
    /// `deinit` would run there.
    private static var ownerIsDead: UInt8 { 2 }
    private static var removed: UInt8 { 3 }

    private let state = Atomic(unregistered)
    private let posted = Atomic<UInt32>(0)
    private let begun = Atomic<UInt32>(0)

    /// Claims the status for a registration; false if another registration has it already.
    func claim() -> Bool {
        state.compareExchange(expected: Self.unregistered, desired: Self.registered, ordering: .relaxed).exchanged
    }

    var isClaimed: Bool { state.load(ordering: .relaxed) != Self.unregistered }

    /// Whether a value may be enqueued, and one from the mailbox be delivered.
    var isActive: Bool { state.load(ordering: .relaxed) == Self.registered }

    /// Whether a call has found that the owner is dead.
    var isOwnerKnownDead: Bool { state.load(ordering: .relaxed) == Self.ownerIsDead }

    func noteDeadOwner() { state.store(Self.ownerIsDead, ordering: .relaxed) }
    func end() { state.store(Self.removed, ordering: .relaxed) }

    /// How many values wait for this registration.
    var waiting: Int { posted.load(ordering: .relaxed).waiting(begun.load(ordering: .relaxed)) }

    /// Called under the mailbox's lock.
    func post() { posted.increment() }
    func begin() { begun.increment() }
}

extension Atomic<UInt32> {
    fileprivate func increment() { store(load(ordering: .relaxed) &+ 1, ordering: .relaxed) }
}

extension UInt32 {
    /// The difference of two counts that may have been read at different moments.
    fileprivate func waiting(_ begun: UInt32) -> Int { Int(Swift.max(0, Int32(bitPattern: self &- begun))) }
}
