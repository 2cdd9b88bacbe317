import Synchronization

/// What a set and its tokens share: the slots that notifications walk, and the lock under which they are changed.
///
///     ObserverSet ──▶ Registry ──▶ first slot ──▶ a function, or an entry ┄┄weak┄┄▶ owner
///                        ▲    └──▶ block of slots          └──▶ mailbox, if ever one was needed
///     ObserverToken ─────┘
///
/// A token keeps the registry, never the set: a set that dies empties its registry, and its tokens go inert.
///
/// `package`, not internal: a layer that tells objects on its own terms has a registry of its own, see `WeakEntry`.
///
/// What an observer holds has exactly one owner: its current slot while it lives, or, once removed, what is `Retired`. All
/// other copies of its bits, in displaced blocks and in removed slots, are borrowed by traversals.
@safe package final class Registry: TokenIssuer, @unchecked Sendable {
    /// Changed under the lock, walked by counted traversals.
    let slots = Slots()
    /// The last observer's id; zero if none is living, so that there is nobody to call.
    ///
    /// Stored under the lock.
    ///
    /// Relaxed, and raised before the slot is published: anyone who has learned of an observer, from its `add` or through
    /// the set itself (`isEmpty`, `count`), has acquired the store that published it, and so sees at least its id.
    let lastID = Atomic<UInt64>(0)
    let reclamation = Reclamation()
    let lock = Lock(Contents())
    /// Whether a producer is to be told if the set is observed.
    let hasDemand: Bool

    init(telling demand: Demand?) {
        hasDemand = demand != nil
        super.init()
        if demand != nil { lock.withLock { $0.madeBacklog().demand = demand } }
    }

    package override init() {
        hasDemand = false
        super.init()
    }

    override func remove(_ id: UInt64) -> Bool { end(id) }
    override func isActive(_ id: UInt64) -> Bool { isRegistered(id) }
    override func describe(_ id: UInt64) -> String? { description(of: id) }
    override func droppedCount(_ id: UInt64) -> Int { droppedCount(of: id) }
}

/// What the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    var counts = SlotCounts()
    /// Made by the first change after which something has to wait, and by the first `WeakEntry`.
    private(set) var backlog: Backlog?

    var isAnythingWaiting: Bool { backlog.map { !$0.isEmpty } ?? false }

    mutating func madeBacklog() -> Backlog {
        let made = backlog ?? Backlog()
        backlog = made
        return made
    }

    /// An entry has been removed: whoever looks for its object finds none.
    mutating func forget(_ entry: AnyEntry) {
        if let address = entry.address { backlog?.forget(address) }
    }
}
