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

    /// The block that follows the first slot.
    ///
    /// Acquiring, for traversals: it must be seen initialised.
    var block: Block? {
        @inline(__always) get { unsafe head.load(ordering: .acquiring).map { unsafe Block($0) } }
    }

    /// Changed in place, like the slots of a block. It is atomic in part, so that it has one address for life.
    var firstSlot: UnsafeMutablePointer<Slot> {
        @inline(__always) get { unsafe withUnsafePointer(to: room) { unsafe UnsafeMutablePointer(mutating: $0) } }
    }

    override func remove(_ id: UInt64) -> Bool { end(id) }
    override func isActive(_ id: UInt64) -> Bool { isRegistered(id) }
    override func describe(_ id: UInt64) -> String? { description(of: id) }

    deinit {
        // No traversal is under way and no token is left: each would hold the registry. So nobody can come in the way of what
        // is released here; what still waits goes with the backlog.
        if unsafe firstSlot.pointee.isLiving { unsafe firstSlot.pointee.callee.release() }
        guard let block = unsafe block else { return }
        for index in 0..<(unsafe block.capacity) where unsafe block.slots[index].isLiving {
            unsafe block.slots[index].callee.release()
        }
        unsafe block.deallocate()
    }
}

/// What the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    // 32 bits each, for which there is room beside the mutex.

    /// How many slots are taken, from the first on.
    var count: UInt32 = 0
    /// How many of them are living.
    var living: UInt32 = 0
    /// How many observers with an owner were added since dead owners were last looked for.
    var unexamined: UInt32 = 0
    /// Made by the first change after which something has to wait.
    private(set) var backlog: Backlog?

    var isAnythingWaiting: Bool { backlog.map { !$0.isEmpty } ?? false }

    mutating func madeBacklog() -> Backlog {
        if backlog == nil { backlog = Backlog() }
        return backlog!
    }
}
