import Synchronization

/// Makes sure that nothing is released while a traversal may reach it.
///
/// Two counts of the traversals under way take turns, as in sleepable read-copy-update (SRCU). New traversals add
/// themselves to the *open* count. The *idle* one only falls, except for latecomers (see below). When the idle count is
/// zero, the two change roles; this is a *flip*. So traversals that overlap without end cannot postpone a release for
/// ever: after the flip every new traversal is counted on the other side.
///
/// What has been unlinked and not yet released is *retired*: it is kept in `RareState`. In the functions of a change,
/// `releasable` is what no traversal can reach any more, and what the change releases after unlocking.
///
/// The counts are spread over stripes. The first stripe is inline. More are added when two threads have been seen to
/// notify at the same time, or one to change the set while another notified it. From then on a thread counts itself on
/// the stripe that its stack's address selects. Each stripe has cache lines of its own, so that threads do not pass one
/// line back and forth.
///
/// The argument for correctness is at the end of this file.
@safe struct Reclamation: ~Copyable {
    private let stripes = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineCounts = Pair()
    /// The parity that new traversals take.
    ///
    /// A hint: a traversal may take either parity at any time, and is still counted correctly.
    private let open = Atomic<UInt8>(0)
    /// Whether anything waits for release; stored under the lock.
    let hasRetired = Atomic<Bool>(false)

    /// How many traversals are under way that counted themselves in on one stripe, with one parity.
    typealias Count = Atomic<UInt32>

    private struct Pair: ~Copyable {
        private let even = Count(0)
        private let odd = Count(0)
    }

    /// Eight stripes of two cache lines each, since processors fetch lines in pairs.
    private static let stripeCount = 8
    private static let stripeSize = 128

    /// Where a traversal counted itself in, and must count itself out; and the count before it was added, nil on an added
    /// stripe, since it serves only to decide whether to add stripes.
    ///
    /// A `Traversal`, which is not copyable, holds it, and counts itself out in its `deinit`, once.
    typealias Ticket = (count: UnsafeMutablePointer<Count>, before: UInt32?)

    // MARK: Traversals

    /// Counts the calling traversal in.
    ///
    /// From here until `leave`, what it loads from the registry stays alive.
    @inline(__always)
    func enter() -> Ticket {
        let parity = Int(open.load(ordering: .relaxed))
        // Sequentially consistent, as are the installation of the stripes and the load in `isEmpty`.
        let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent)
        let count = unsafe stripes.map { unsafe Self.counts($0, Self.stripe()) } ?? first
        let before = unsafe count[parity].wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        return unsafe (count + parity, stripes == nil ? before : nil)
    }

    /// Counts a traversal out, and returns the count before it, if known, and after it.
    @inline(__always)
    static func leave(_ ticket: Ticket) -> (before: UInt32?, after: UInt32) {
        unsafe (ticket.before, ticket.count.pointee.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue)
    }

    /// After a traversal has counted itself out: true if something waits that it may have been the last to reach.
    @inline(__always)
    func mayRelease(_ count: (before: UInt32?, after: UInt32)) -> Bool {
        // Nested traversals restore the count: it is unchanged if the others were nested in this one, or this one in
        // them. A difference means that another thread was counted.
        if let before = count.before, before != count.after { addStripes() }
        guard count.after == 0 else { return false }
        // fault: no-look-after-leaving
        return hasRetired.load(ordering: .sequentiallyConsistent)
    }

    // MARK: Changes, under the lock

    /// Keeps what was unlinked until no traversal can reach it; if no traversal is under way, moves it to `releasable`
    /// at once.
    @inline(__always)
    func retire(_ unlinked: consuming Retired, _ contents: inout Contents, _ releasable: inout Retired) {
        // If something waits already, a traversal is probably under way, and reading the counts would take their cache
        // line away from it.
        if !contents.hasRetired && isEmpty() {
            releasable.append(contentsOf: unlinked)
        } else {
            let rare = contents.madeRare()
            rare.thread = Self.thread()
            rare.newer.append(contentsOf: unlinked)
            contents.hasRetired = true
            hasRetired.store(true, ordering: .relaxed)
        }
    }

    /// Moves what no traversal can reach any more to `releasable`.
    func collect(_ contents: inout Contents, _ releasable: inout Retired) {
        guard contents.hasRetired, let rare = contents.rare else { return }
        while !rare.isEmpty, idleIsEmpty() {
            // Flips only while the idle count is zero: with a flip on every attempt, two threads could take turns to
            // keep a count above zero for ever.
            open.store(1 ^ open.load(ordering: .relaxed), ordering: .relaxed)
            releasable.append(contentsOf: rare.older.take())
            // fault: epoch-skipped
            rare.older = rare.newer.take()
        }
        guard rare.isEmpty else { return }
        contents.hasRetired = false
        hasRetired.store(false, ordering: .relaxed)
    }

    /// Whether no traversal is counted on the idle side; new ones are counted on the open side.
    func idleIsEmpty() -> Bool {
        isEmpty(Int(1 ^ open.load(ordering: .relaxed)))
    }

    /// Whether each count was read as zero at some moment during this call.
    @inline(__always)
    func isEmpty() -> Bool {
        // fault: quick-way-looks-at-one-count
        isEmpty(0) && isEmpty(1)
    }

    @inline(__always)
    private func isEmpty(_ parity: Int) -> Bool {
        guard unsafe Self.isZero(first[parity]) else { return false }
        // If this load misses the installation, then a traversal that counts itself in on an added stripe loads the
        // head later.
        guard let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent) else { return true }
        // fault: stripes-unseen
        return (0..<Self.stripeCount).allSatisfy { unsafe Self.isZero(Self.counts(stripes, $0)[parity]) }
    }

    @inline(__always)
    private static func isZero(_ count: borrowing Count) -> Bool { count.load(ordering: .sequentiallyConsistent) == 0 }

    // MARK: Stripes

    /// Adds the stripes, once in the life of a set, when two threads have been seen in it at once.
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

    /// The inline counts, which are atomic, and so have one address as long as they live.
    private var first: UnsafeMutablePointer<Count> {
        @inline(__always) get {
            unsafe withUnsafePointer(to: inlineCounts) {
                unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Count.self)
            }
        }
    }

    /// The stripe on which the calling thread counts itself: a hash of `thread()`.
    ///
    /// Threads with neighbouring stacks, which are usually half a mebibyte or eight mebibytes apart, get different
    /// stripes. Any value would be correct.
    @inline(__always)
    private static func stripe() -> Int {
        let thread = thread()
        return Int((thread ^ (thread >> 4)) % UInt(stripeCount))
    }

    /// Distinguishes threads, for the sake of speed alone: the address of the calling thread's stack, in half
    /// mebibytes.
    // A function that takes the address of a local variable gets a stack protector. Not inlined, so that uncontended
    // traversals do not pay for one.
    @inline(never)
    static func thread() -> UInt {
        var here: UInt8 = 0
        return unsafe withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) } >> 19
    }

    deinit {
        unsafe stripes.load(ordering: .relaxed)?.deallocate()
    }
}

// # The argument for correctness
//
// Traversals hold no lock, so a change may find some of them walking what it removes or replaces. *Unlinking* is the
// store to `head` after which no new traversal can reach the item. It stores a fresh block, or stores the same block
// again after a slot in it was marked as removed.
//
// `Tools/litmus` shows under the C11, arm64 and RISC-V models that these orders forbid the outcomes that are ruled out
// here. It also shows, under C11, that each weaker order would allow such an outcome; processors hide some of these,
// and the table there says which. Change both together.
//
// What is shared, and who writes it:
//  - a traversal: the count of its parity and stripe;
//  - a change, under the lock: the slots, `head`, the lists of what waits, the parity, `hasRetired`;
//  - any thread, once: the pointer to the added stripes.
//
// ## What publishes what
// A slot's callee is written before its id is stored (releasing); a traversal reads the callee after loading the id
// (acquiring). The slots that a fresh block takes over are written before `head` is stored; a traversal reads them
// after loading `head`. arm64 guarantees neither order by itself: without them a traversal could see the id and not the
// callee.
//
// ## Why nothing is released too early
// A traversal adds one to a count (A), then loads `head` (H). A change unlinks (U), then reads each count as zero (Z),
// and only then releases. All four are sequentially consistent. So they have one total order S, in which the steps of
// each thread keep their order. If another thread than the one that unlinked reads a count, the lock, which both have
// held, orders U before Z.
//
// Suppose the traversal can reach the item. Then its H came before U, and so A < H < U < Z. The traversal's own
// addition was therefore included in the count that Z read as zero, and so was its subtraction: the traversal has left.
// Its subtraction (a release) synchronises with Z (an acquire), so all that it read was read before the item is
// released.
//
// Suppose its A comes after Z in S. Then its H comes after U, and it cannot reach the item.
//
// What looks a registration up by its id loads `head` a second time, merely acquiring. It finds the block of H or a later
// one. If that is unlinked, then H came before this unlinking, too, and the first case applies.
//
// It does not matter which parity the traversal took, or when it read the parity: each item waits until both counts
// have been read as zero once after its unlinking. The quick way, in `retire`, reads both in one call. The long way
// reads one before each flip, and an item waits for two flips: `newer` → `older` → `releasable`.
//
// Acquire and release alone would not suffice. A and H could change places, as a store and a later load of another
// location may. The traversal would then load the old head, the change would see no traversal, and would release what
// is about to be walked. For A and H, x86 hides that, since the addition is a locked instruction. So do the
// single-instruction atomics of arm64 (an exclusive pair, followed by `ldapr`, does not). Nothing hides it for U and Z:
// on x86 a store may change places with a later load, and on arm64 `stlr` with a later `ldapr`. So a test on a machine
// that hides it proves nothing.
//
// Stripes are added without the lock. Their installation, and the loads of the pointer to them by traversals and by Z,
// are sequentially consistent, too. If Z's load of the pointer misses the installation, then Z's load < installation <
// the traversal's load of the pointer < A, and H comes after U as before.
//
// Marking a slot as removed is a relaxed store. A traversal that misses the mark had begun before, and the callee is
// still there for it. A traversal that begins after `remove` has returned has its H after U, and so sees the mark
// (guarantee 4).
//
// Slots at the end become vacant when nothing waits any more. Then no traversal is left that saw one of them living. A
// later traversal finds such a slot removed, vacant, or taken by another observer. In the last case it acquires the id,
// and with it everything that belongs to that observer. That id is above the limit of a notification, unless it began
// after `lastID` was raised to it.
//
// ## Why nothing is kept for ever
// Traversals that overlap without end may never let a single count become zero. But no new traversal takes the idle
// parity, except latecomers, which have not seen the last flip. So the idle count becomes zero, and the counts
// change roles. *The idle count must be zero at the flip*: when there was a flip on every attempt, two threads that
// took turns kept one count above zero for ever.
//
// ## Why nothing is forgotten
// The thread that removes the last obstacle to a release must see that something waits, or another thread must look
// after that:
//  - A traversal that leaves, and makes its count zero, then loads `hasRetired`. If that is set, it issues a fence and
//    tries the lock. If it does not get the lock, it does nothing more.
//  - A thread that unlocks while something waits issues a fence, and then reads the idle counts. If they are zero, it
//    tries the lock again.
//
// So there is a sequentially consistent fence between a traversal's subtraction and its try, and another between an
// unlocking and the reading of the counts. A mutex guarantees only acquire and release, and a try that fails guarantees
// not even these. If either fence were missing, the traversal could see the lock as taken although it was free, while
// the other thread saw the count above zero. For the same reason the subtraction and the load of `hasRetired` are
// sequentially consistent. The stores to `hasRetired` may be relaxed, since the unlocking thread's fence follows them.
//
// The unlocking thread repeats this while the idle counts are zero. It must not repeat it while something waits: a
// removal made inside an observer would wait for its own traversal. Nor may it try only once more: a wake-up could be
// lost.
//
// ## Re-entrancy
// A nested traversal counts itself in again. A removal inside an observer marks the slot. From then on all traversals
// under way skip it, on this block and on older ones. Its callee waits for all of them, the caller's own included. An
// observer that is added inside another one has an id above the limits of the traversals under way.
