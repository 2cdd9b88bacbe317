import Synchronization

/// Counts the passes that are walking a snapshot, so that nothing they may still reach is released under them.
///
/// Two counts take turns, as in sleepable read-copy-update (SRCU): newcomers add themselves to the *open* one, while
/// the *idle* one can only fall (but for latecomers, see `Registry+Reclaim.swift`). When the idle count is zero, the
/// two change places. Passes that overlap without end therefore cannot postpone a release for ever: after the change
/// every newcomer counts itself on the other side.
///
/// The counts are spread over stripes. The first is inline; after two threads were seen inside at the same time, there
/// are more, and each thread counts itself on its own cache line instead of passing one back and forth.
///
/// `Registry+Reclaim.swift` argues why each access has the order it has.
@safe struct Readers: ~Copyable {
    private let before = Gap()
    /// The parity that newcomers take.
    ///
    /// A hint: a pass may take either parity at any time and be counted correctly.
    private let open = Atomic<UInt32>(0)
    private let first = Counts()
    private let stripes = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let after = Gap()

    /// Eight stripes, each alone on two cache lines, since processors fetch lines in pairs.
    private static let stripeCount = 8
    private static let stripeSize = 128

    /// What a pass needs to leave where it came in.
    @safe struct Ticket {
        fileprivate let stripes: UnsafeMutableRawPointer?
        fileprivate let seat: Int
        fileprivate let parity: UInt32
        /// How many passes were inside when it came in; on `first` only.
        fileprivate let before: UInt32
    }

    /// Counts the calling pass in.
    ///
    /// From here until `leave`, what it loads from the registry stays alive.
    @inline(__always)
    func enter() -> Ticket {
        let parity = open.load(ordering: .relaxed)
        // Sequentially consistent, like the installation and the load in `isEmpty`; the argument is in `Registry`.
        if let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent) {
            let seat = Self.seat()
            _ = unsafe Self.counts(stripes, seat).pointee.enter(parity)
            return unsafe Ticket(stripes: stripes, seat: seat, parity: parity, before: 0)
        }
        return unsafe Ticket(stripes: nil, seat: 0, parity: parity, before: first.enter(parity))
    }

    /// Counts the calling pass out, and says whether that emptied its count.
    @inline(__always)
    func leave(_ ticket: Ticket) -> Bool {
        if let stripes = unsafe ticket.stripes {
            return unsafe Self.counts(stripes, ticket.seat).pointee.leave(ticket.parity) == 0
        }
        let after = first.leave(ticket.parity)
        // A pass finds the count as it left it if the others were nested in it, or it in them. Otherwise there are two
        // threads.
        if after != ticket.before { addStripes() }
        return after == 0
    }

    /// Whether no pass is counted on the idle side; those that come in do so on the open one.
    func idleIsEmpty() -> Bool {
        isEmpty(1 ^ open.load(ordering: .relaxed))
    }

    /// Whether each count was seen to be zero at some time during this call.
    @inline(__always)
    func isEmpty() -> Bool {
        // fault: quick-way-looks-at-one-count
        isEmpty(0) && isEmpty(1)
    }

    /// Makes the idle side the open one.
    ///
    /// Under the registry's lock, and only while the idle side is empty: flipping on an occupied one would let two
    /// threads in turn keep a count above zero for ever.
    func flip() {
        open.store(1 ^ open.load(ordering: .relaxed), ordering: .relaxed)
    }

    @inline(__always)
    private func isEmpty(_ parity: UInt32) -> Bool {
        guard first.isEmpty(parity) else { return false }
        // If this load misses the installation, then whoever counts itself in on a stripe loads the head after us.
        guard let stripes = unsafe stripes.load(ordering: .sequentiallyConsistent) else { return true }
        // fault: stripes-unseen
        for seat in 0..<Self.stripeCount {
            guard unsafe Self.counts(stripes, seat).pointee.isEmpty(parity) else { return false }
        }
        return true
    }

    /// Once in the life of a set, after the pass that first met another thread's.
    @inline(never)
    private func addStripes() {
        let size = Self.stripeCount * Self.stripeSize
        let fresh = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Self.stripeSize)
        for seat in 0..<Self.stripeCount {
            unsafe (fresh + seat * Self.stripeSize).initializeMemory(as: Counts.self, to: Counts())
        }
        let installation = unsafe stripes.compareExchange(
            expected: nil, desired: fresh, ordering: .sequentiallyConsistent)
        if unsafe !installation.exchanged { unsafe fresh.deallocate() }
    }

    @inline(__always)
    private static func counts(_ stripes: UnsafeMutableRawPointer, _ seat: Int) -> UnsafeMutablePointer<Counts> {
        unsafe (stripes + seat * stripeSize).assumingMemoryBound(to: Counts.self)
    }

    /// Where the calling thread counts itself: a hash of where its stack lies.
    ///
    /// Stacks are at least half a mebibyte apart, usually eight; both distances give neighbouring threads different
    /// seats. Any value would be correct.
    @inline(never)  // what takes a local's address gets a stack protector, which an uncontended pass need not pay for
    private static func seat() -> Int {
        var here: UInt8 = 0
        let address = unsafe withUnsafeMutablePointer(to: &here) { UInt(bitPattern: $0) } >> 19
        return Int((address ^ (address >> 4)) % UInt(stripeCount))
    }

    deinit {
        unsafe stripes.load(ordering: .relaxed)?.deallocate()
    }

    /// The passes that came in on one stripe, by parity.
    private struct Counts: ~Copyable {
        private let even = Atomic<UInt32>(0)
        private let odd = Atomic<UInt32>(0)

        /// Counts one pass in, and returns how many were inside.
        @inline(__always)
        func enter(_ parity: UInt32) -> UInt32 {
            parity == 0
                ? even.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
                : odd.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
        }

        /// Counts one pass out, and returns how many are left.
        @inline(__always)
        func leave(_ parity: UInt32) -> UInt32 {
            parity == 0
                ? even.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
                : odd.wrappingSubtract(1, ordering: .sequentiallyConsistent).newValue
        }

        @inline(__always)
        func isEmpty(_ parity: UInt32) -> Bool {
            parity == 0
                ? even.load(ordering: .sequentiallyConsistent) == 0
                : odd.load(ordering: .sequentiallyConsistent) == 0
        }
    }

    /// A cache line's length of nothing.
    ///
    /// A thread that only changes the set would otherwise take the counts away from one that notifies it with each of its
    /// stores to what stands beside them, and not only when it looks at them.
    private struct Gap {
        private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0, 0, 0, 0)
    }
}
