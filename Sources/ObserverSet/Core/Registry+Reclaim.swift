import Synchronization

/// What was unlinked: a pass that begins now cannot reach it, but one that began earlier may.
@safe struct Retired: @unchecked Sendable {
    /// Removed observers.
    var payloads: [AnyPayload] = []
    /// Displaced snapshots, whose slots own nothing any more, in the order in which they were current.
    var snapshots = unsafe [Snapshot]()

    var isEmpty: Bool { unsafe payloads.isEmpty && snapshots.isEmpty }
}

/// What a change hands out, to be released when the lock is free again.
@safe struct Displaced: ~Copyable {
    /// The first needs no array.
    private var payload: AnyPayload?
    private var others = Retired()

    @inline(__always)
    mutating func append(_ payload: AnyPayload) {
        if self.payload == nil { self.payload = payload } else { others.payloads.append(payload) }
    }

    mutating func append(_ snapshot: Snapshot) {
        unsafe others.snapshots.append(snapshot)
    }

    mutating func append(contentsOf retired: Retired) {
        others.payloads += retired.payloads
        unsafe others.snapshots += retired.snapshots
    }

    /// Releases it all; the `deinit` of closures' captures runs here.
    consuming func release() {
        CallOut.assertNoLockIsHeld()
        unsafe others.snapshots.forEach { unsafe $0.deallocate() }
    }
}

// # The argument for correctness
//
// Passes hold no lock, so that a change may find some of them walking what it displaces. *Unlinking* is the store to
// `head` after which no newcomer reaches the item: a fresh snapshot, or the same one again after a slot was marked
// removed.
//
// The parts, by who writes them:
//  - a pass: the count of (parity, stripe), in `Readers`;
//  - a change, under the lock: slots and their liveness, a snapshot's count, `head`, the lists, the parity,
//    `hasRetired`.
//
// ## What publishes what
// A slot's payload is written before the snapshot's count is stored (releasing); a pass reads it after loading the
// count (acquiring). The slots taken over into a fresh snapshot are written before `head` is stored; a pass reads them
// after loading `head`. On arm64 neither order comes for free: without them a pass could see the count and not the
// payload.
//
// ## Why nothing is released too early
// A pass adds one to a count (A), then loads `head` (H). A change unlinks (U), then reads each count as zero (Z), and
// only then releases. All four are sequentially consistent, so they stand in one order S in which each thread's own
// steps keep theirs. If a pass can reach the item, its H came before U: so A < H < U < Z, its own addition was in the
// count that Z read as zero, so its subtraction was too; it has left, and its leaving (a release) synchronises with Z
// (an acquire). If its A comes after Z in S, its H comes after U, and it cannot reach the item. It does not matter
// which parity the pass took, nor when it read it: each item waits until both counts were seen zero once after its
// unlinking. The quick way in `retire` looks at both at once; the long way sees one before each flip, and an item
// passes two flips: `newer` → `older` → detached.
//
// With acquire and release alone, A and H could change places (a store and a later load of another location may): the
// pass would load the old head, the change see no pass, and release what the pass is about to walk. A locked
// instruction on x86 hides that. On arm64 the single-instruction atomics hide it for A and H (`ldapr` after an exclusive
// pair does not), and nothing hides it for U and Z: `stlr` may change places with a later `ldapr`. So a test on a machine
// that hides it proves nothing.
//
// Stripes appear without the lock. Their installation, and every load of the pointer to them, are sequentially
// consistent too: if Z's load of the pointer misses the installation, then Z < installation < the pass's load of the
// pointer < A, and H comes after U as before.
//
// Marking a slot removed is relaxed: a pass that misses it is one that had begun, and the payload is still there for
// it. One that begins after `remove` returned has H after U, and so sees the mark (promise 4).
//
// ## Why nothing is kept for ever
// Passes that overlap without end never let a single count fall to zero. But the idle parity takes no newcomers, except
// those that read the parity before the last flip; so it empties, and the counts change places. *The idle side
// must be empty at the flip*: with a flip on every attempt, two threads in turn kept one count above zero for ever.
//
// ## Why nothing is forgotten
// Whoever makes the last obstacle vanish must see that something waits, or leave it to someone who will look:
//  - a leaver that emptied its count then loads `hasRetired`; if set, it fences, and tries the lock. Failing, it goes;
//  - whoever unlocks while something waits fences, and looks at the idle counts; if they are zero, it tries again.
// Between a leaver's subtraction and its try, and between an unlocking and the look at the counts, stands a
// sequentially consistent fence: the mutex promises only acquire and release, and `Lock.isTaken` nothing, so that
// without either fence the leaver could see the lock taken and the unlocker the count occupied. For the same reason the
// subtraction and the flag's load are sequentially consistent; the flag's stores may be relaxed, since the unlocker's
// fence follows them. It says "while the idle counts are zero", not "while something waits" (a removal made inside an
// observer would wait for itself), and not "once more" (a wake-up could be lost).
//
// ## Re-entrancy
// A nested pass counts itself in again. A removal inside an observer marks the slot, which the outer passes on this and
// on any older snapshot skip from then on; its payload waits for them all, the caller's own included. An addition
// inside an observer stands behind the count that the passes under way have loaded, or in a fresh snapshot.

extension Registry {
    /// Keeps a removed observer until no pass can hold it; not at all, if there is none.
    ///
    /// Under the lock, like the other one.
    @inline(__always)
    func retire(_ payload: AnyPayload, _ contents: inout Contents, _ displaced: inout Displaced) {
        if mayReleaseAtOnce(contents) {
            contents.noteDeparture(of: payload, from: self)
            displaced.append(payload)
        } else {
            contents.newer.payloads.append(payload)
            hasRetired.store(true, ordering: .relaxed)
        }
    }

    /// Keeps a displaced snapshot until no pass can walk it; not at all, if there is none.
    func retire(_ snapshot: Snapshot, _ contents: inout Contents, _ displaced: inout Displaced) {
        if mayReleaseAtOnce(contents) {
            unsafe displaced.append(snapshot)
        } else {
            unsafe contents.newer.snapshots.append(snapshot)
            hasRetired.store(true, ordering: .relaxed)
        }
    }

    /// Whether no pass is under way.
    ///
    /// Where something waits already, one probably is, and a look at the counts would take them away from it.
    @inline(__always)
    private func mayReleaseAtOnce(_ contents: borrowing Contents) -> Bool {
        !contents.hasRetired && readers.isEmpty()
    }

    /// Detaches what no pass can hold any more, and says whether something still waits.
    ///
    /// Under the lock, as the last step of each change.
    @inline(__always)
    private func reclaim(_ contents: inout Contents, _ displaced: inout Displaced) -> Bool {
        defer { checkInvariants(contents) }
        guard contents.hasRetired else { return false }
        while contents.hasRetired, readers.idleIsEmpty() {
            readers.flip()
            for payload in contents.older.payloads { contents.noteDeparture(of: payload, from: self) }
            displaced.append(contentsOf: contents.older)
            // fault: epoch-skipped
            contents.older = contents.newer
            contents.newer = Retired()
        }
        if !contents.hasRetired { hasRetired.store(false, ordering: .relaxed) }
        return contents.hasRetired
    }

    /// Makes a change, sees to what became free meanwhile, and releases what was displaced.
    @inline(__always)
    func write<Result: Sendable>(_ change: Change<Result>) -> Result {
        write(change, answering: { $0 })
    }

    /// The same, and makes an answer of the change's result when the lock is free, before anything is released.
    @inline(__always)
    func write<Result: Sendable, Answer>(_ change: Change<Result>, answering answer: (Result) -> Answer) -> Answer {
        var displaced = Displaced()
        var isWaiting = false
        let result = lock.withLock { contents in
            let result = change(&contents, &displaced)
            // fault: released-under-the-lock
            isWaiting = reclaim(&contents, &displaced)
            return result
        }
        // fault: no-look-after-unlocking
        if isWaiting { reclaimAfterUnlocking(&displaced) }
        let answer = answer(result)
        displaced.release()
        return answer
    }

    /// The same, unless another thread holds the lock.
    func writeIfAvailable(_ change: Change<Void>) {
        var displaced = Displaced()
        let isWaiting = lock.withLockIfAvailable { contents in
            change(&contents, &displaced)
            return reclaim(&contents, &displaced)
        }
        // fault: no-look-after-unlocking
        if isWaiting == true { reclaimAfterUnlocking(&displaced) }
        displaced.release()
    }

    /// After an unlocking that left something retired.
    @inline(never)
    private func reclaimAfterUnlocking(_ displaced: inout Displaced) {
        while true {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            guard readers.idleIsEmpty() else { return }
            let isWaiting = lock.withLockIfAvailable { contents in reclaim(&contents, &displaced) }
            guard isWaiting == true else { return }
        }
    }

    /// After a pass that emptied its count and saw that something is retired.
    @inline(never)
    func reclaimAfterLeaving() {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        writeIfAvailable { _, _ in }
    }
}
