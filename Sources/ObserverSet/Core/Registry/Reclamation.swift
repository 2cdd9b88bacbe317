import Synchronization

/// Makes sure that nothing is released while a traversal may reach it.
///
/// Two counts of the traversals under way take turns, as in sleepable read-copy-update (SRCU). New traversals add
/// themselves to the *open* count. The *idle* count only falls, except for latecomers (see below). When the idle count
/// is zero, the two change roles, which is called a *flip*. After a flip, every new traversal is counted on the other
/// side, so even traversals that overlap without end can't postpone a release forever.
///
/// Whatever has been unlinked but not released is *retired*, and is kept in `RareState`. In the functions of a change,
/// `releasable` is what no traversal can reach any longer. The change releases it after unlocking.
///
/// The counts are spread over stripes. The first stripe is inline. More are added when two threads have met in a set,
/// that is, when both notified at the same time, or one changed the set while the other notified. From then on, a
/// thread counts itself on the stripe that its stack's address selects. Each stripe has its own cache lines, so that
/// threads don't pass one line back and forth.
///
/// The argument for correctness is at the end of this file.
@safe struct Reclamation: ~Copyable {
    private let stripes = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineCounts = Pair()
    /// The parity that new traversals take.
    ///
    /// Its loads and stores are relaxed, because it is only a hint: a traversal may take either parity at any time, and
    /// is still counted correctly.
    private let open = Atomic<UInt8>(0)
    /// Whether anything is retired; stored under the lock.
    let hasRetired = Atomic<Bool>(false)

    /// The number of traversals under way that have counted themselves in on one stripe, with one parity.
    typealias Count = Atomic<UInt32>

    private struct Pair: ~Copyable {
        private let even = Count(0)
        private let odd = Count(0)
    }

    /// There are eight stripes of two cache lines each, because processors fetch lines in pairs.
    private static let stripeCount = 8
    private static let stripeSize = 128

    /// The count to which a traversal has added itself, and from which it must subtract itself, and that count's value
    /// before.
    ///
    /// `before` serves only to decide whether to add stripes, so it is nil on an added stripe. A `Traversal` holds its
    /// ticket. The traversal isn't copyable, and counts itself out in its `deinit`, so it does so exactly once.
    typealias Ticket = (count: UnsafeMutablePointer<Count>, before: UInt32?)

    // MARK: Traversals

    /// Counts the calling traversal in.
    ///
    /// From now until `leave`, whatever it loads from the registry stays alive.
    @inline(__always)
    func enter() -> Ticket {
        let parity = Int(open.load(ordering: .relaxed))
        // The next two accesses are sequentially consistent. The load of the stripes must be, as their installation and
        // the load in `eachCountWasZero` are: see the paragraph on stripes below. The addition is A in "Why nothing is
        // released too early".
        let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent)
        let count = unsafe stripes.map { unsafe Self.counts($0, Self.stripe()) } ?? first
        let before = unsafe count[parity].wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        return unsafe (count + parity, stripes == nil ? before : nil)
    }

    /// Counts a traversal out, and returns the count before it, if that is known, and the count after it.
    ///
    /// The subtraction is sequentially consistent, because of "Why nothing is forgotten".
    @inline(__always)
    static func leave(_ ticket: Ticket) -> (before: UInt32?, after: UInt32) {
        unsafe (ticket.before, ticket.count.pointee.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue)
    }

    /// Takes note that a traversal has counted itself out, and returns whether it may have been the last one that could
    /// reach something retired.
    ///
    /// If another thread was counted in the meantime, this also adds the stripes.
    @inline(__always)
    func noteLeft(_ count: (before: UInt32?, after: UInt32)) -> Bool {
        // If the other traversals were nested in this one, or this one in them, the count is now what it was before. So
        // if it has changed, another thread was counted.
        if let before = count.before, before != count.after { addStripes() }
        guard count.after == 0 else { return false }
        // This load is sequentially consistent, because of "Why nothing is forgotten".
        // fault: no-look-after-leaving
        return hasRetired.load(ordering: .sequentiallyConsistent)
    }

    // MARK: Changes, under the lock

    /// Keeps what was unlinked until no traversal can reach it; if no traversal is under way, moves it to `releasable`
    /// at once.
    @inline(__always)
    func retire(_ unlinked: consuming Retired, _ contents: inout Contents, _ releasable: inout Retired) {
        // If anything is retired already, a traversal is probably under way, and reading the counts would take their
        // cache line away from it.
        if !contents.hasRetired && eachCountWasZero() {
            releasable.append(contentsOf: unlinked)
        } else {
            let rare = contents.madeRare()
            rare.lastRetiringThread = Self.stackNumber()
            rare.newer.append(contentsOf: unlinked)
            contents.hasRetired = true
            // This store may be relaxed, because the unlocking thread's fence follows it: see "Why nothing is
            // forgotten".
            hasRetired.store(true, ordering: .relaxed)
        }
    }

    /// Moves what no traversal can reach any longer to `releasable`.
    func collect(_ contents: inout Contents, _ releasable: inout Retired) {
        guard contents.hasRetired, let rare = contents.rare else { return }
        while rare.hasRetired, idleCountsWereZero() {
            // Flip only while the idle count is zero. With a flip on every attempt, two threads could take turns to
            // keep a count above zero forever.
            open.store(1 ^ open.load(ordering: .relaxed), ordering: .relaxed)
            releasable.append(contentsOf: rare.older.take())
            // fault: epoch-skipped
            rare.older = rare.newer.take()
        }
        if rare.hasRetired { return }
        contents.hasRetired = false
        // Relaxed, because a traversal that still sees `true` only tries the lock for nothing.
        hasRetired.store(false, ordering: .relaxed)
    }

    /// Whether each count of the idle side was zero at some moment during this call; new traversals are counted on the
    /// open side.
    func idleCountsWereZero() -> Bool { eachCountWasZero(Int(1 ^ open.load(ordering: .relaxed))) }

    /// Whether each count was zero at some moment during this call.
    @inline(__always)
    func eachCountWasZero() -> Bool {
        // fault: quick-way-looks-at-one-count
        eachCountWasZero(0) && eachCountWasZero(1)
    }

    @inline(__always)
    private func eachCountWasZero(_ parity: Int) -> Bool {
        guard unsafe Self.isZero(first[parity]) else { return false }
        // This load is sequentially consistent. If it misses the installation, then a traversal that counts itself in
        // on an added stripe loads the head later.
        guard let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent) else { return true }
        // fault: stripes-unseen
        return (0..<Self.stripeCount).allSatisfy { unsafe Self.isZero(Self.counts(stripes, $0)[parity]) }
    }

    // This load is Z in "Why nothing is released too early", and therefore sequentially consistent.
    @inline(__always)
    private static func isZero(_ count: borrowing Count) -> Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    // MARK: Stripes

    /// Adds the stripes, once in a set's life, when two threads have met in it.
    @inline(never)
    func addStripes() {
        // This load may be relaxed, because it only saves work: the exchange below decides.
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

    /// The inline counts, which are atomic, and therefore have one address as long as they live.
    private var first: UnsafeMutablePointer<Count> {
        @inline(__always) get {
            unsafe withUnsafePointer(to: inlineCounts) {
                unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Count.self)
            }
        }
    }

    /// The stripe on which the calling thread counts itself: a hash of `stackNumber()`.
    ///
    /// Threads with neighbouring stacks get different stripes. (Stacks are usually half a mebibyte or eight mebibytes
    /// apart.) Any value would be correct.
    @inline(__always)
    private static func stripe() -> Int {
        let thread = stackNumber()
        return Int((thread ^ (thread >> 4)) % UInt(stripeCount))
    }

    /// A number that tells threads apart, only for the sake of speed: the address of the calling thread's stack, in
    /// half mebibytes.
    // A function that takes a local variable's address gets a stack protector. This one is not inlined, so that
    // traversals without contention don't pay for a protector.
    @inline(never)
    static func stackNumber() -> UInt {
        var here: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) } >> 19
    }

    deinit {
        // Relaxed, because no other thread refers to this object any longer.
        unsafe stripes.load(ordering: .relaxed)?.deallocate()
    }
}

// # The argument for correctness
//
// Traversals hold no lock, so a change may find some of them walking what it removes or replaces. *Unlinking* an item
// is the store to `head` after which no new traversal can reach the item. That store installs a fresh block, or, after
// a slot has been marked as removed, stores the same block again.
//
// `Tools/litmus` shows under the C11, arm64 and RISC-V models that these memory orders forbid the outcomes that are
// ruled out here. It also shows, under C11, that each weaker order would allow such an outcome. Some processors hide
// some of these outcomes, and the table there says which. If you change this argument, change those tests, too.
//
// This is shared, and written by:
//  - a traversal: the count of its parity and stripe;
//  - a change, under the lock: the slots, `head`, the lists of what is retired, the parity, `hasRetired`;
//  - any thread, once: the pointer to the added stripes.
//
// ## What publishes what
// A slot's callee is written before the slot's id is stored (releasing). A traversal reads the callee after it has
// loaded the id (acquiring). The slots that a fresh block takes over are written before `head` is stored. A traversal
// reads them after it has loaded `head`. arm64 guarantees neither of these by itself: without the memory orders, a
// traversal could see the id, but not the callee.
//
// ## Why nothing is released too early
// A traversal adds one to a count (A), then loads `head` (H). A change unlinks an item (U), then reads each count as
// zero (Z), and only then releases the item. All four accesses are sequentially consistent. So they have one total
// order S, in which the steps of each thread keep their order. If the thread that reads a count isn't the one that
// unlinked the item, the lock orders U before Z, because both threads have held it.
//
// Suppose the traversal can reach the item. Then its H came before U, and so A < H < U < Z. Therefore the count that Z
// read as zero included the traversal's own addition, and so it also included its subtraction: the traversal has left.
// Its subtraction (a release) synchronises with Z (an acquire), so the traversal has read everything that it reads
// before the item is released.
//
// Suppose instead that its A comes after Z in S. Then its H comes after U, and it cannot reach the item.
//
// Code that looks a registration up by its id loads `head` a second time, and merely acquiring. It finds the block that
// H found, or a later one. If that block is unlinked, H came before this unlinking, too, and the first case applies.
//
// It does not matter which parity the traversal took, or when it read the parity: each item waits until both counts
// have been read as zero, once each, after its unlinking. The quick way, in `retire`, reads both in one call. The long
// way reads one count before each flip, and an item waits for two flips: `newer` → `older` → `releasable`.
//
// Acquire and release alone would not suffice. A and H could change places, as a store and a later load of another
// location may. The traversal would then load the old head, and the change would see no traversal, and release what is
// about to be walked. On x86, this can't be observed for A and H, because the addition is a locked instruction. Nor can
// it on arm64 with the single-instruction atomics (but it can with an exclusive pair, followed by `ldapr`). For U and
// Z, nothing hides it: on x86 a store may change places with a later load, and on arm64 `stlr` may with a later
// `ldapr`. So a test on a machine that hides it proves nothing.
//
// Stripes are added without the lock. Their installation is sequentially consistent, too, and so are both loads of the
// pointer to them: a traversal's, and the one that belongs to Z. If the latter misses the installation, then U < this
// load < the installation < the traversal's load of the pointer < A < H. So H comes after U, as before.
//
// Marking a slot as removed is a relaxed store. A traversal that misses the mark began earlier, and the callee is still
// there for it. A traversal that begins after `remove` has returned has its H after U, and so it sees the mark
// (guarantee 4).
//
// Slots at the end become vacant when nothing is retired any more. Then no traversal is left that saw one of them
// registered. A later traversal finds such a slot removed, vacant, or taken by another observer. In the last case, it
// acquires the id, and with it everything that belongs to that observer. That id is above the notification's limit,
// unless the notification began after `lastID` was raised to it.
//
// ## Why nothing is kept forever
// If traversals overlap without end, a single count may never become zero. But no new traversal takes the idle parity,
// except latecomers, which read the parity before the last flip. So the idle count becomes zero, and the counts change
// roles. *The idle count must be zero at the flip*: when there was a flip on every attempt, two threads that took turns
// kept one count above zero forever.
//
// ## Why nothing is forgotten
// When a thread removes the last obstacle to a release, either this thread must see that something is retired, or
// another thread must look afterwards:
//  - A traversal that leaves, and makes its count zero, then loads `hasRetired`. If that is set, it issues a fence and
//    tries the lock. If it does not get the lock, it does nothing more.
//  - A thread that unlocks while something is retired issues a fence, and then reads the idle counts. If they are zero,
//    it tries the lock again.
//
// So there is a sequentially consistent fence between a traversal's subtraction and its try, and another one between an
// unlocking and the reading of the counts. They are needed because a mutex guarantees only acquire and release, and a
// try that fails doesn't even guarantee these. If either fence were missing, the traversal could see the lock as taken
// although it was free, while the other thread saw the count above zero. For the same reason, the subtraction and the
// load of `hasRetired` are sequentially consistent. The stores to `hasRetired` may be relaxed, because the unlocking
// thread's fence follows them.
//
// The unlocking thread repeats this while something is retired, the idle counts are zero, and it gets the lock. It must
// not repeat it for as long as something is retired, because a removal made inside an observer would then wait for its
// own traversal. Nor may it try only once more, because a wake-up could be lost.
//
// ## Re-entrancy
// A nested traversal counts itself in again. A removal inside an observer marks the slot. From then on, all traversals
// under way skip the slot, in this block and in older ones. The slot's callee stays retired until all of these
// traversals have ended, the caller's own included. An observer that is added inside another one has an id above the
// limits of the traversals under way.
