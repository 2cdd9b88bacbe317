/// What all threads share and what each has alone, packed: there are hundreds of thousands.
struct ModelState: Hashable {
    var shared: UInt64 = 0
    var threads = SIMD4<UInt64>()

    func hash(into hasher: inout Hasher) {
        var mixed = shared
        for index in 0..<4 { mixed = (mixed ^ (mixed >> 29) ^ threads[index]) &* 0x9E37_79B9_7F4A_7C15 }
        hasher.combine(mixed)
    }

    static func == (left: Self, right: Self) -> Bool {
        left.shared == right.shared && left.threads == right.threads
    }
}

extension UInt64 {
    /// The field of so many bits from that one on.
    fileprivate func bits(_ offset: UInt64, _ width: UInt64) -> UInt64 { (self >> offset) & ((1 << width) - 1) }
}

/// What all threads share. Sets of items are bits.
struct ModelMemory {
    /// Three bits for each count.
    var counts: UInt64 = 0
    var open: UInt64 = 0
    var hasStripes = false
    var hasRetired = false
    var isLocked = false
    /// What the head's stores have unlinked.
    var unlinked: UInt64 = 0
    var newer: UInt64 = 0
    var older: UInt64 = 0
    var released: UInt64 = 0

    init(_ word: UInt64) {
        counts = word.bits(0, 18)
        open = word.bits(18, 1)
        hasStripes = word.bits(19, 1) == 1
        hasRetired = word.bits(20, 1) == 1
        isLocked = word.bits(21, 1) == 1
        unlinked = word.bits(22, 4)
        newer = word.bits(26, 4)
        older = word.bits(30, 4)
        released = word.bits(34, 4)
    }

    var word: UInt64 {
        let flags = open | (hasStripes ? 2 : 0) | (hasRetired ? 4 : 0) | (isLocked ? 8 : 0)
        return counts | flags << 18 | unlinked << 22 | newer << 26 | older << 30 | released << 34
    }

    func count(_ place: Int) -> UInt64 { counts.bits(3 * UInt64(place), 3) }

    mutating func apply(_ store: ModelStore) {
        switch store {
        case .unlink(let item): unlinked |= item
        case .flag(let isRaised): hasRetired = isRaised
        case .flip: open ^= 1
        case .unlock: isLocked = false
        case .installStripes: hasStripes = true
        case .add(let place): set(place, count(place) + 1)
        case .subtract(let place): set(place, count(place) &- 1)
        }
    }

    private mutating func set(_ place: Int, _ count: UInt64) {
        let shift = 3 * UInt64(place)
        counts = counts & ~(7 << shift) | (count & 7) << shift
    }

    /// What is wrong with it when every thread has come to its end.
    var fault: String? {
        if newer | older != 0 || released != unlinked { return "something stays retired for ever" }
        if counts != 0 { return "a pass is counted for ever" }
        if hasRetired { return "the flag stays raised" }
        return isLocked ? "the lock stays taken" : nil
    }
}

/// How a pass came in.
struct ModelTicket {
    var parity: UInt64 = 0
    var isStriped = false
    var before: UInt64 = 0
    /// The items that the pass may be walking.
    var reach: UInt64 = 0

    init() {}

    init(_ word: UInt64) {
        parity = word.bits(0, 1)
        isStriped = word.bits(1, 1) == 1
        before = word.bits(2, 3)
        reach = word.bits(5, 4)
    }

    var word: UInt64 { parity | (isStriped ? 2 : 0) | before << 2 | reach << 5 }
}

/// What a thread has alone.
struct ModelThread {
    var counter = 0
    var step = ModelStep.finished
    /// Which count, or the pointer to the stripes, is looked at next, and of which parity.
    var cursor = 0
    var parity: UInt64 = 0
    var isWaiting = false
    var emptiedItsCount = false
    /// An unlocking may not have reached the thread yet.
    var mayMissUnlocking = false
    var displaced: UInt64 = 0
    var outer = ModelTicket()
    var inner = ModelTicket()
    /// Stores that have not reached memory, five bits each, the oldest in the lowest.
    var buffer: UInt64 = 0

    static let bufferSize: UInt64 = 4

    init() {}

    init(_ word: UInt64) {
        counter = Int(word.bits(0, 5))
        step = ModelStep(rawValue: UInt8(word.bits(5, 5)))!
        cursor = Int(word.bits(10, 2))
        parity = word.bits(12, 1)
        isWaiting = word.bits(13, 1) == 1
        emptiedItsCount = word.bits(14, 1) == 1
        mayMissUnlocking = word.bits(15, 1) == 1
        displaced = word.bits(16, 4)
        outer = ModelTicket(word.bits(20, 9))
        inner = ModelTicket(word.bits(29, 9))
        buffer = word.bits(38, 20)
    }

    var word: UInt64 {
        let flags = parity | (isWaiting ? 2 : 0) | (emptiedItsCount ? 4 : 0) | (mayMissUnlocking ? 8 : 0)
        let place = UInt64(counter) | UInt64(step.rawValue) << 5 | UInt64(cursor) << 10
        return place | flags << 12 | displaced << 16 | outer.word << 20 | inner.word << 29 | buffer << 38
    }

    /// The items that any of the thread's passes may be walking.
    static func reach(_ word: UInt64) -> UInt64 { word.bits(25, 4) | word.bits(34, 4) }

    static func buffer(_ word: UInt64) -> UInt64 { word.bits(38, 20) }

    static func stores(in buffer: UInt64) -> [ModelStore] {
        var stores: [ModelStore] = []
        var rest = buffer
        while rest != 0 {
            stores.append(ModelStore(code: rest.bits(0, 5)))
            rest >>= 5
        }
        return stores
    }

    /// Adds a store behind the others; false if there is no room.
    mutating func enqueue(_ store: ModelStore) -> Bool {
        var shift: UInt64 = 0
        while shift < 5 * Self.bufferSize {
            if buffer.bits(shift, 5) == 0 {
                buffer |= store.code << shift
                return true
            }
            shift += 5
        }
        return false
    }

    /// Takes the oldest store out.
    mutating func dequeue() -> ModelStore {
        let store = ModelStore(code: buffer.bits(0, 5))
        buffer >>= 5
        return store
    }
}
