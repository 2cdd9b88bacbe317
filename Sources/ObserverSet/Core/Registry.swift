import Synchronization

/// What a set and its tokens share: the slots that notifications walk, and the lock under which they are changed.
///
///     ObserverSet ──▶ Registry ──▶ first slot ──▶ a function, or an entry ┄┄weak┄┄▶ owner
///                        ▲    └──▶ block of slots          └──▶ mailbox, if ever one was needed
///     ObserverToken ─────┘
///
/// A token keeps the registry, never the set: a set that dies empties its registry, and its tokens go inert.
///
/// The first slot is a part of the registry, since most sets have one observer; the others stand in a block, which is
/// replaced when it is full or half of it blank. What an observer holds has exactly one owner: the current slot while it
/// lives, or, once removed, what is `Retired`. All other copies of its bits, in displaced blocks and in removed slots, are
/// borrowed by traversals.
@safe final class Registry: TokenIssuer, @unchecked Sendable {
    /// The memory of the block that follows the first slot.
    ///
    /// Stored under the lock, loaded by counted traversals.
    let head = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    /// The last observer's id; zero if none is living, so that there is nobody to call.
    ///
    /// Stored under the lock.
    ///
    /// Relaxed, and raised before the slot is published: anyone who has learned of an observer, from its `add` or through
    /// the set itself (`isEmpty`, `count`), has acquired the store that published it, and so sees at least its id.
    let lastID = Atomic<UInt64>(0)
    let reclamation = Reclamation()
    let lock = Lock(Contents())
    private let room = Slot()

    /// Changed in place, like the slots of a block. It is atomic in part, so that it has one address for life.
    var firstSlot: UnsafeMutablePointer<Slot> {
        @inline(__always) get { unsafe withUnsafePointer(to: room) { unsafe UnsafeMutablePointer(mutating: $0) } }
    }

    override func remove(_ id: UInt64) -> Bool { end(id) }
    override func isActive(_ id: UInt64) -> Bool { isRegistered(id) }
    override func describe(_ id: UInt64) -> String? { description(of: id) }

    deinit {
        // No traversal is under way and no token is left: each would hold the registry.
        removeAll(dropping: false)
    }
}

/// What the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    /// How many slots are taken, from the first on, and how many of them are living.
    var count = 0
    var living = 0
    /// How many observers with an owner were added since dead owners were last looked for.
    var unexamined = 0
    var backlog = Backlog()
    /// Mailboxes that were not idle when their observer could be reached no more, until they are: `settled()` waits for
    /// them too.
    var departing: [ObjectIdentifier: Mailbox] = [:]
}
