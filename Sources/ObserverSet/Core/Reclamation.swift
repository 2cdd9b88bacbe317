import Synchronization

/// What sees to it that nothing is released while a traversal may reach it.
///
/// Two counts of the traversals under way take turns, as in sleepable read-copy-update (SRCU): newcomers add themselves to
/// the *open* one, while the *idle* one can only fall (but for latecomers, see below). When the idle count is zero, the two
/// change places. Traversals that overlap without end therefore cannot postpone a release for ever: after the change every
/// newcomer counts itself on the other side.
///
/// The counts are spread over stripes. The first is inline; after two threads were seen to notify at the same time, or one to
/// change the set while another one notified it, there are more, and each thread counts itself on its own cache line instead
/// of passing one back and forth.
///
/// The argument for correctness stands below.
@safe struct Reclamation: ~Copyable {
    private let stripes = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineCounts = Pair()
    /// The parity that newcomers take.
    ///
    /// A hint: a traversal may take either parity at any time and be counted correctly.
    private let open = Atomic<UInt8>(0)
    /// Whether something waits to be released; stored under the lock.
    let isWaiting = Atomic<Bool>(false)

    /// How many traversals are inside that came in on one stripe, with one parity.
    fileprivate typealias Count = Atomic<UInt32>

    private struct Pair: ~Copyable {
        private let even = Count(0)
        private let odd = Count(0)
    }

    /// Eight stripes, each alone on two cache lines, since processors fetch lines in pairs.
    private static let stripeCount = 8
    private static let stripeSize = 128

    /// What a traversal needs to leave where it came in.
    @safe struct Ticket {
        fileprivate let count: UnsafeMutablePointer<Count>
        /// How many traversals were inside when it came in; nil on a stripe, where others are no news.
        fileprivate let before: UInt32?
    }

    // MARK: Traversals

    /// Counts the calling traversal in.
    ///
    /// From here until `leave`, what it loads from the registry stays alive.
    @inline(__always)
    func enter() -> Ticket {
        let parity = Int(open.load(ordering: .relaxed))
        // Sequentially consistent, like the installation and the load in `isEmpty`.
        let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent)
        let count = unsafe stripes.map { unsafe Self.counts($0, Self.stripe()) } ?? first
        let before = unsafe count[parity].wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        return unsafe Ticket(count: count + parity, before: stripes == nil ? before : nil)
    }

    /// Counts the calling traversal out, and says whether something waits that it may have been the last to hold.
    @inline(__always)
    func leave(_ ticket: Ticket) -> Bool {
        let after = unsafe ticket.count.pointee.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
        // A traversal finds the count as it left it if the others were nested in it, or it in them. Otherwise there are two
        // threads.
        if let before = ticket.before, before != after { addStripes() }
        guard after == 0 else { return false }
        // fault: no-look-after-leaving
        return isWaiting.load(ordering: .sequentiallyConsistent)
    }

    // MARK: Changes, under the lock

    /// Keeps what was unlinked until no traversal can reach it; not at all, if none is under way.
    @inline(__always)
    func retire(_ unlinked: Retired, _ contents: inout Contents, _ displaced: inout Retired) {
        // Where something waits already, a traversal probably is under way, and a look at the counts would take them away
        // from it.
        if !contents.isAnythingWaiting && isEmpty() {
            displaced.append(contentsOf: unlinked)
        } else {
            let backlog = contents.madeBacklog()
            backlog.thread = Self.thread()
            backlog.newer.append(contentsOf: unlinked)
            isWaiting.store(true, ordering: .relaxed)
        }
    }

    /// Detaches what no traversal can reach any more.
    func collect(_ backlog: Backlog, _ displaced: inout Retired) {
        while !backlog.isEmpty, idleIsEmpty() {
            // Only while the idle side is empty: flipping on an occupied one would let two threads in turn keep a count
            // above zero for ever.
            open.store(1 ^ open.load(ordering: .relaxed), ordering: .relaxed)
            displaced.append(contentsOf: backlog.older)
            // fault: epoch-skipped
            backlog.older = backlog.newer
            backlog.newer = Retired()
        }
        if backlog.isEmpty { isWaiting.store(false, ordering: .relaxed) }
    }

    /// Whether no traversal is counted on the idle side; those that come in do so on the open one.
    func idleIsEmpty() -> Bool {
        isEmpty(Int(1 ^ open.load(ordering: .relaxed)))
    }

    /// Whether each count was seen to be zero at some time during this call.
    @inline(__always)
    func isEmpty() -> Bool {
        // fault: quick-way-looks-at-one-count
        isEmpty(0) && isEmpty(1)
    }

    @inline(__always)
    private func isEmpty(_ parity: Int) -> Bool {
        guard unsafe Self.isZero(first[parity]) else { return false }
        // If this load misses the installation, then whoever counts itself in on a stripe loads the head after us.
        guard let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent) else { return true }
        // fault: stripes-unseen
        return (0..<Self.stripeCount).allSatisfy { unsafe Self.isZero(Self.counts(stripes, $0)[parity]) }
    }

    @inline(__always)
    private static func isZero(_ count: borrowing Count) -> Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    // MARK: Stripes

    /// Once in the life of a set, when two threads have been seen to meet.
    @inline(never)
    func addStripes() {
        guard unsafe stripes.load(ordering: .relaxed) == nil else { return }
        let size = Self.stripeCount * Self.stripeSize
        let fresh = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.stripeSize)
        for stripe in 0..<Self.stripeCount {
            for parity in 0..<2 { unsafe (Self.counts(fresh, stripe) + parity).initialize(to: Count(0)) }
        }
        let installation = unsafe stripes.compareExchange(
            expected: nil, desired: fresh, ordering: .sequentiallyConsistent)
        if unsafe !installation.exchanged { unsafe fresh.deallocate() }
    }

    @inline(__always)
    private static func counts(_ stripes: UnsafeMutableRawPointer, _ stripe: Int) -> UnsafeMutablePointer<Count> {
        unsafe (stripes + stripe &* stripeSize).assumingMemoryBound(to: Count.self)
    }

    /// The counts that are a part of the registry; atomic, so that they have one address for life.
    private var first: UnsafeMutablePointer<Count> {
        @inline(__always) get {
            unsafe withUnsafePointer(to: inlineCounts) {
                unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Count.self)
            }
        }
    }

    /// Where the calling thread counts itself: a hash of what tells threads apart.
    ///
    /// Neighbouring threads, whose stacks are usually half a mebibyte or eight apart, get different stripes. Any value would
    /// be correct.
    @inline(__always)
    private static func stripe() -> Int {
        let thread = thread()
        return Int((thread ^ (thread >> 4)) % UInt(stripeCount))
    }

    /// Tells threads apart, but for the sake of speed alone: where the calling thread's stack lies, to half a mebibyte.
    // What takes a local's address gets a stack protector, which an uncontended traversal need not pay for.
    @inline(never)
    static func thread() -> UInt {
        var here: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) } >> 19
    }

    deinit {
        unsafe stripes.load(ordering: .relaxed)?.deallocate()
    }
}

/// What was unlinked: a traversal that begins now cannot reach it, but one that began earlier may.
@safe struct Retired {
    /// What removed observers held; the first needs no array.
    private var first: Callee?
    private var others: [Callee] = []
    /// Blocks that others have replaced, whose slots own nothing any more, in the order in which they were current.
    var blocks = unsafe [Block]()

    init() {}

    init(_ callee: Callee) { first = callee }

    init(_ block: Block) { unsafe blocks = unsafe [block] }

    var isEmpty: Bool { unsafe first == nil && blocks.isEmpty }

    @inline(__always)
    mutating func append(_ callee: Callee) {
        if first == nil { first = callee } else { others.append(callee) }
    }

    @inline(__always)
    mutating func append(contentsOf other: Retired) {
        guard !isEmpty else { return self = other }
        other.forEachCallee { append($0) }
        unsafe blocks += other.blocks
    }

    func forEachCallee(_ body: (Callee) -> Void) {
        if let first { body(first) }
        others.forEach(body)
    }

    /// Marks an observer removed in the blocks that have it; false if one had it not.
    ///
    /// From the latest. A living observer that is in one of them is in all later ones: where it is missing, we are done.
    func markRemoved(_ id: UInt64) -> Bool {
        unsafe blocks.reversed().allSatisfy { unsafe $0.markRemoved(id) }
    }

    /// The same for all observers, up to a block that has been dealt with so.
    func markAllRemoved() -> Bool {
        unsafe blocks.reversed().allSatisfy { unsafe $0.markAllRemoved() }
    }

    /// Releases it all; the `deinit` of closures' captures runs here.
    @inline(__always)
    func release() {
        CallOut.assertNoLockIsHeld()
        forEachCallee { $0.release() }
        unsafe blocks.forEach { unsafe $0.deallocate() }
    }
}

/// What a change leaves to be done when the lock is free: it runs code of the user's.
struct Aftermath {
    /// To be released.
    var displaced = Retired()
    /// Made by the few changes that remove observers which are awaited: those.
    private var ended: Ended?

    private final class Ended {
        var entries: [AnyEntry] = []
    }

    /// The registration of that observer has been removed.
    @inline(__always)
    mutating func end(_ entry: AnyEntry) {
        entry.end()
        guard entry.isAwaited else { return }
        let made = ended ?? Ended()
        ended = made
        made.entries.append(entry)
    }

    @inline(__always)
    func make() {
        if let ended { ended.entries.forEach { $0.cancel() } }
        displaced.release()
    }
}

/// What waits until no traversal can reach it; guarded by the registry's lock.
final class Backlog: @unchecked Sendable {
    /// Since the last flip.
    var newer = Retired()
    /// Before the last flip.
    var older = Retired()
    /// Who put something here last: see `Reclamation.thread()`.
    var thread: UInt = 0
    /// Mailboxes that were not idle when their observer could be reached no more, until they are: `settled()` waits for
    /// them too.
    var departing: [ObjectIdentifier: AnyMailbox] = [:]
    /// Whom to tell whether the set is observed; here, since few sets have it.
    var demand: Demand?
    /// The ids of living `WeakEntry`s, by the addresses of their objects.
    ///
    /// They wait for nothing. They stand here since most registries have none, and need not pay for the room.
    var ids: [ObjectIdentifier: UInt64] = [:]

    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    /// Marks an observer removed for the traversals of displaced blocks.
    func markRemoved(_ id: UInt64) {
        _ = newer.markRemoved(id) && older.markRemoved(id)
    }

    /// The same for all observers.
    func markAllRemoved() {
        _ = newer.markAllRemoved() && older.markAllRemoved()
    }

    /// Forgets the id of a `WeakEntry` that was removed.
    func forget(_ address: ObjectIdentifier) {
        ids[address] = nil
        // Where thousands were, the room goes with most of them.
        if ids.capacity > 64, ids.count < ids.capacity / 8 { ids = ids.filter { _ in true } }
    }

    deinit {
        // The registry is dead.
        newer.release()
        older.release()
        demand?.note(false)
        demand?.tell()
    }
}

// # The argument for correctness
//
// Traversals hold no lock, so that a change may find some of them walking what it displaces. *Unlinking* is the store to
// `head` after which no newcomer reaches the item: a fresh block, or the same one again after a slot was marked removed.
//
// `Tools/litmus` shows under the C11, arm64 and RISC-V models that these orders forbid what is argued away here, and, under
// C11, that each weaker one would allow it; processors hide a part of that, and the table there says which. Change both
// together.
//
// The parts, by who writes them:
//  - a traversal: the count of (parity, stripe);
//  - a change, under the lock: slots, `head`, the lists of what waits, the parity, `isWaiting`.
//
// ## What publishes what
// A slot's callee is written before its id is stored (releasing); a traversal reads it after loading the id (acquiring).
// The slots taken over into a fresh block are written before `head` is stored; a traversal reads them after loading
// `head`. On arm64 neither order comes for free: without them a traversal could see the id and not the callee.
//
// ## Why nothing is released too early
// A traversal adds one to a count (A), then loads `head` (H). A change unlinks (U), then reads each count as zero (Z), and
// only then releases. All four are sequentially consistent, so they stand in one order S in which each thread's own
// steps keep theirs. If a traversal can reach the item, its H came before U: so A < H < U < Z, its own addition was in the
// count that Z read as zero, so its subtraction was too; it has left, and its leaving (a release) synchronises with Z
// (an acquire). If its A comes after Z in S, its H comes after U, and it cannot reach the item. It does not matter
// which parity the traversal took, nor when it read it: each item waits until both counts were seen zero once after its
// unlinking. The quick way in `retire` looks at both at once; the long way sees one before each flip, and an item
// waits for two flips: `newer` → `older` → detached.
//
// With acquire and release alone, A and H could change places (a store and a later load of another location may): the
// traversal would load the old head, the change see nobody, and release what is about to be walked. A locked
// instruction on x86 hides that. On arm64 the single-instruction atomics hide it for A and H (`ldapr` after an exclusive
// pair does not), and nothing hides it for U and Z: `stlr` may change places with a later `ldapr`. So a test on a machine
// that hides it proves nothing.
//
// Stripes appear without the lock. Their installation, and every load of the pointer to them, are sequentially
// consistent too: if Z's load of the pointer misses the installation, then Z < installation < the traversal's load of
// the pointer < A, and H comes after U as before.
//
// Marking a slot removed is relaxed: a traversal that misses it is one that had begun, and the callee is still there for
// it. One that begins after `remove` returned has H after U, and so sees the mark (promise 4).
//
// Slots at the end become vacant when nothing waits any more: then no traversal is left that saw one of them living. One
// that comes later finds a slot removed, or vacant, or taken by another observer, whose id it acquires with all that
// belongs to it, and which is above its limit unless the notification began after `lastID` was raised to it.
//
// ## Why nothing is kept for ever
// Traversals that overlap without end never let a single count fall to zero. But the idle parity takes no newcomers, except
// those that read the parity before the last flip; so it empties, and the counts change places. *The idle side
// must be empty at the flip*: with a flip on every attempt, two threads in turn kept one count above zero for ever.
//
// ## Why nothing is forgotten
// Whoever makes the last obstacle vanish must see that something waits, or leave it to someone who will look:
//  - a leaver that emptied its count then loads `isWaiting`; if set, it fences, and tries the lock. Failing, it goes;
//  - whoever unlocks while something waits fences, and looks at the idle counts; if they are zero, it tries again.
// Between a leaver's subtraction and its try, and between an unlocking and the look at the counts, stands a
// sequentially consistent fence: the mutex promises only acquire and release, and `Lock.isTaken` nothing, so that
// without either fence the leaver could see the lock taken and the unlocker the count occupied. For the same reason the
// subtraction and the flag's load are sequentially consistent; the flag's stores may be relaxed, since the unlocker's
// fence follows them. It says "while the idle counts are zero", not "while something waits" (a removal made inside an
// observer would wait for itself), and not "once more" (a wake-up could be lost).
//
// ## Re-entrancy
// A nested traversal counts itself in again. A removal inside an observer marks the slot, which the outer ones on this
// and on any older block skip from then on; its callee waits for them all, the caller's own included. The id of an
// observer that is added inside another is above the limit of those that are under way.

extension Registry {
    typealias Change<Result> = (inout Contents, inout Aftermath) -> Result

    /// Makes a change, sees to what became free meanwhile, and releases what was displaced.
    @inline(__always)
    func write<Result: Sendable>(_ change: Change<Result>) -> Result {
        write(change, answering: { $0 })
    }

    /// The same, and makes an answer of the change's result when the lock is free, before anything is released.
    @inline(__always)
    func write<Result: Sendable, Answer>(_ change: Change<Result>, answering answer: (Result) -> Answer) -> Answer {
        var after = Aftermath()
        var isWaiting = false
        let result = lock.withLock { contents in
            let result = change(&contents, &after)
            // fault: released-under-the-lock
            isWaiting = collect(&contents, &after)
            return result
        }
        // fault: no-look-after-unlocking
        if isWaiting { collectAfterUnlocking(&after) }
        let answer = answer(result)
        after.make()
        if hasDemand { tellDemand() }
        return answer
    }

    /// The same, unless another thread holds the lock.
    func writeIfAvailable(_ change: Change<Void>) {
        var after = Aftermath()
        let isWaiting = lock.withLockIfAvailable { contents in
            change(&contents, &after)
            return collect(&contents, &after)
        }
        // fault: no-look-after-unlocking
        if isWaiting == true { collectAfterUnlocking(&after) }
        after.make()
        if hasDemand { tellDemand() }
    }

    /// After a change to a set with a producer: has that told what is true now.
    ///
    /// Under the lock once more, so that other sets do not pay for it: as part of the change it costs each one a twentieth.
    @inline(never)
    private func tellDemand() {
        var after = Aftermath()
        var demand: Demand?
        let isWaiting = lock.withLock { contents in
            demand = contents.backlog?.demand
            demand?.note(contents.counts.living > 0)
            return contents.isAnythingWaiting
        }
        if isWaiting { collectAfterUnlocking(&after) }
        after.make()
        demand?.tell()
    }

    /// Releases the producer's function, which the tokens of a dead set would keep.
    func dropDemand() {
        if hasDemand { _ = write { contents, _ in contents.backlog?.demand.take() } }
    }

    /// Detaches what no traversal can reach any more, and says whether something still waits.
    ///
    /// Under the lock, as the last step of each change.
    @inline(__always)
    private func collect(_ contents: inout Contents, _ after: inout Aftermath) -> Bool {
        if contents.isAnythingWaiting, let backlog = contents.backlog { reclamation.collect(backlog, &after.displaced) }
        finish(&contents, &after)
        return contents.isAnythingWaiting
    }

    /// After an unlocking that left something waiting.
    @inline(never)
    private func collectAfterUnlocking(_ after: inout Aftermath) {
        while true {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            guard reclamation.idleIsEmpty() else { return }
            var more = Aftermath()
            let isWaiting = lock.withLockIfAvailable { contents in collect(&contents, &more) }
            after.displaced.append(contentsOf: more.displaced)
            guard isWaiting == true else { return }
        }
    }

    /// After a traversal that emptied its count and saw that something waits.
    @inline(never)
    func collectAfterLeaving() {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var hasMetAnother = false
        writeIfAvailable { contents, _ in
            hasMetAnother = contents.isAnythingWaiting && contents.backlog?.thread != Reclamation.thread()
        }
        if hasMetAnother { reclamation.addStripes() }
    }
}
