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
    let readers = Readers()
    /// Whether something waits in `Contents.newer` or `.older`.
    ///
    /// Stored under the lock; a hint for those who leave.
    let hasRetired = Atomic<Bool>(false)
    let lock = Lock(Contents())
    private let livingCount = Atomic<Int>(0)

    /// How many slots of the current snapshot are living.
    ///
    /// Set under the lock; a pass that reads zero has nobody to call.
    ///
    /// Relaxed: whoever relies on an earlier `add` has synchronised with it, and so sees at least its count.
    var living: Int {
        @inline(__always) get { livingCount.load(ordering: .relaxed) }
        set { livingCount.store(newValue, ordering: .relaxed) }
    }

    /// Runs `body` as a pass: what it reaches through the snapshot stays alive until it returns, whatever is removed.
    @inline(__always)
    func read<Result>(_ body: (Snapshot?) -> Result) -> Result {
        let ticket = readers.enter()
        // Sequentially consistent: see "Why nothing is released too early".
        let memory = unsafe head.load(ordering: .sequentiallyConsistent)
        let result = if let memory = unsafe memory { unsafe body(Snapshot(memory)) } else { body(nil) }
        leave(ticket)
        return result
    }

    /// Ends a pass.
    ///
    /// What is retired may be what it was the last to hold.
    @inline(__always)
    func leave(_ ticket: Readers.Ticket) {
        if readers.leave(ticket), hasRetired.load(ordering: .sequentiallyConsistent) { reclaimAfterLeaving() }
    }

    /// Runs `body` as a pass, for every living slot, in order.
    func forEachLiving(_ body: (borrowing Slot) -> Void) {
        unsafe read { snapshot in
            guard let snapshot = unsafe snapshot else { return }
            for index in 0..<(unsafe snapshot.count) where unsafe snapshot.slots[index].isLiving {
                unsafe body(snapshot.slots[index])
            }
        }
    }

    override func remove(_ id: UInt64) -> Bool { remove(CollectionOfOne(id)) == 1 }
    override func isActive(_ id: UInt64) -> Bool { isRegistered(id) }
    override func describe(_ id: UInt64) -> String? { description(of: id) }

    deinit {
        // No pass is under way and no token is left: each would hold the registry.
        dispose()
    }
}
