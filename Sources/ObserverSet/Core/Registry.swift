import Synchronization

/// What a set and its tokens share: the snapshot that passes walk, and the lock under which it is changed.
///
///     ObserverSet ──▶ Registry ──▶ Snapshot ──▶ Slot ──▶ Payload ──▶ the observer, its captures
///                        ▲            (one current; displaced       └──▶ Entry ┄┄weak┄┄▶ owner
///     ObserverToken ─────┘             ones until reclaimed)                  └──▶ Mailbox
///
/// A token keeps the registry, never the set: a set that dies empties its registry, and its tokens go inert.
///
/// A payload has exactly one owner: the current snapshot's living slot, or, once removed, a `Retired` value.
/// All other copies of its bits, in displaced snapshots and in removed slots, are borrowed by passes.
@safe final class Registry: TokenIssuer, @unchecked Sendable {
    /// The current snapshot's memory.
    ///
    /// Stored under the lock, loaded by counted passes.
    let head = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    /// Whether something waits in `Contents.newer` or `.older`.
    ///
    /// Stored under the lock; a hint for those who leave.
    let hasRetired = Atomic<Bool>(false)
    private let livingCount = Atomic<Int>(0)
    // Between what each change stores above and below, and apart from both.
    let readers = Readers()
    let lock = Lock(Contents())

    /// How many slots of the current snapshot are living.
    ///
    /// Set under the lock; a notification that reads zero has nobody to call.
    ///
    /// Relaxed, and raised before the slot is published: anyone who has learned of an observer, from its `add` or through
    /// the set itself (`isEmpty`, `count`), has acquired the store that published it, and so sees at least its count.
    var living: Int {
        @inline(__always) get { livingCount.load(ordering: .relaxed) }
        set { livingCount.store(newValue, ordering: .relaxed) }
    }

    override func remove(_ id: UInt64) -> Bool { end(id) }
    override func isActive(_ id: UInt64) -> Bool { isRegistered(id) }
    override func describe(_ id: UInt64) -> String? { description(of: id) }

    deinit {
        // No pass is under way and no token is left: each would hold the registry.
        dispose()
    }
}
