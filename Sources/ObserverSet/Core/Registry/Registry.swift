import Synchronization

/// The state that a set and its tokens share: the slots that notifications walk, and the lock that guards changes to them.
///
///     ObserverSet ──▶ Registry ──▶ first slot ──▶ a function, or an entry ┄┄weak┄┄▶ owner
///                        ▲    └──▶ block of slots          └──▶ mailbox of its actor
///     ObserverToken ─────┘
///
/// A registry knows who observes, an entry (`Observers`) what to call and where, a mailbox (`Mailboxes`) when. Read on along
/// one of four ways:
///
/// - that of a value: `Slots`, `Slot`, `Traversal`, `NotifyContext`, `Entry`, `IsolatedEntry`, `Mailbox`, `ActorMailbox`;
/// - that of a value for an observer that awaits: `AwaitingEntry`, `AwaitingMailbox`, `AwaitingJobs`;
/// - that of a removal: `Registry+Write`, `Cleanup`, `Retired`, `RareState`, `Reclamation`; and of `once`: `OnceGate`;
/// - that of a caller who waits: `SettledWait`, `Registry+Queries`, `Removal`.
///
/// The guarantees that comments number are listed in the article "Guarantees and known compiler holes". A comment `fault:` with
/// a name marks what `Tools/broken-variants` breaks on purpose, to see that the tests notice.
///
/// A token keeps the registry alive, never the set. When a set is released, it empties its registry, and its tokens
/// become inactive.
///
/// `package`, not internal: a layer that holds objects weakly and calls them itself has a registry of its own, see
/// `WeakEntry`.
///
/// What an observer holds has exactly one owner: the observer's current slot until it is removed, and a `Retired` after
/// that. All other copies of those bits, in replaced blocks and in removed slots, are borrowed by traversals.
@safe package final class Registry: TokenIssuer, @unchecked Sendable {
    /// Changed under the lock; walked by traversals, which hold no lock but are counted.
    let slots = Slots()
    /// The id of the observer that was added last; zero if none is registered, so that a notification has nobody to
    /// call.
    ///
    /// Stored under the lock, before the slot is published. A thread that knows of an observer, from its `add` or
    /// through the set itself (`isEmpty`, `count`), has acquired the store that published the slot, and so sees at least
    /// that observer's id.
    let lastID = Atomic<UInt64>(0)
    let reclamation = Reclamation()
    let lock = Lock(Contents())
    /// Whether there is a producer that is informed when the set becomes observed or unobserved.
    let hasDemand: Bool
    /// Whether descriptions say where an observer runs: not where all run in one isolation domain.
    let isShared: Bool

    init(telling demand: Demand?) {
        hasDemand = demand != nil
        isShared = true
        super.init()
        if demand != nil { lock.withLock { $0.madeRare().demand = demand } }
    }

    package override init() {
        hasDemand = false
        isShared = false
        super.init()
    }

    /// Ends a registration; false if it had ended before, or its owner is dead.
    ///
    /// The owner is checked before the observer is released: the release may deallocate it.
    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        let marker = removal?.endOfTraversals()
        return write(
            { contents, cleanup in
                let removed = remove(id, &contents, &cleanup)
                // Behind the observer: see `Removal`.
                if let marker { reclamation.retire(Retired(Callee(retaining: marker)), &contents, &cleanup.releasable) }
                return removed
            },
            afterUnlocking: { removed in
                if let removal {
                    let mailbox = removed.map { entry in entry?.mailbox }
                    removal.follow { mailbox.map { [$0].compactMap(\.self) } ?? self.busyMailboxes }
                }
                return removed.map { entry in entry?.isAlive ?? true } ?? false
            })
    }

    override func close(_ id: UInt64) { _ = registration(id) { entry, _ in entry?.end() } }
    override func isActive(_ id: UInt64) -> Bool { registration(id) { _, _ in true } ?? false }
    override func describe(_ id: UInt64) -> String? { registration(id, describe) ?? nil }
    override func counts(_ id: UInt64) -> (waiting: Int, dropped: Int) {
        registration(id) { entry, _ in entry?.counts ?? (0, 0) } ?? (0, 0)
    }
}

/// The state that the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    var counts = SlotCounts()
    /// The id that was issued last. Never reset, as `lastID` is: a token of a removed observer must not name a later one.
    var lastIssued: UInt64 = 0
    /// Whether something waits for its release, as `Reclamation.isWaiting` tells traversals.
    var isAnythingWaiting = false
    /// Allocated when there is first something to put into it.
    private(set) var rare: RareState?

    mutating func madeRare() -> RareState {
        let made = rare ?? RareState()
        rare = made
        return made
    }

    /// Drops the address of a removed entry's object, so that looking for the object finds no entry.
    mutating func forget(_ entry: AnyEntry) {
        if let address = entry.address { _ = rare?.idsByAddress.removeAndTrim(address) }
    }
}
