import Foundation

/// What all threads share, and what each thread has for itself.
///
/// It consists of bytes only, since there are hundreds of thousands of states.
struct ModelState: Hashable {
    var memory = ModelMemory()
    private var first = ModelThread()
    private var second = ModelThread()
    private var third = ModelThread()
    private var fourth = ModelThread()

    subscript(thread: Int) -> ModelThread {
        get { thread == 0 ? first : thread == 1 ? second : thread == 2 ? third : fourth }
        set {
            switch thread {
            case 0: first = newValue
            case 1: second = newValue
            case 2: third = newValue
            default: fourth = newValue
            }
        }
    }

    /// Hashes all bytes at once, which is several times as fast as one field after the other.
    func hash(into hasher: inout Hasher) { unsafe withUnsafeBytes(of: self) { unsafe hasher.combine(bytes: $0) } }

    static func == (left: Self, right: Self) -> Bool {
        unsafe withUnsafeBytes(of: left) { left in
            unsafe withUnsafeBytes(of: right) { right in
                unsafe memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0
            }
        }
    }
}

/// What all threads share.
///
/// Sets of items are bits.
struct ModelMemory {
    /// The counts: those of the first pair by parity, then those of each stripe.
    var counts = ModelBytes()
    var open: UInt8 = 0
    var hasStripes = false
    var hasRetired = false
    var isLocked = false
    /// What the stores to the head have unlinked.
    var unlinked: UInt8 = 0
    var newer: UInt8 = 0
    var older: UInt8 = 0
    var released: UInt8 = 0

    mutating func apply(_ store: ModelStore) {
        let operand = store.operand
        switch store.kind {
        case .none: break
        case .unlink: unlinked |= operand
        case .flag: hasRetired = operand == 1
        case .flip: open ^= 1
        case .unlock: isLocked = false
        case .installStripes: hasStripes = true
        case .add: counts[operand] &+= 1
        case .subtract: counts[operand] &-= 1
        }
    }

    /// What is wrong with this memory when every thread has finished.
    var fault: String? {
        if newer | older != 0 || released != unlinked { return "something stays retired for ever" }
        if (0..<8).contains(where: { counts[$0] != 0 }) { return "a pass is counted for ever" }
        if hasRetired { return "the flag stays raised" }
        return isLocked ? "the lock stays taken" : nil
    }
}

/// Eight bytes.
struct ModelBytes {
    private var word: UInt64 = 0

    subscript(index: UInt8) -> UInt8 {
        get { UInt8(truncatingIfNeeded: word >> (8 * UInt64(index))) }
        set { word = word & ~(0xFF << (8 * UInt64(index))) | UInt64(newValue) << (8 * UInt64(index)) }
    }
}

/// How a traversal counted itself in.
struct ModelTicket {
    var parity: UInt8 = 0
    var isStriped = false
    var before: UInt8 = 0
    /// The items that the traversal may be walking.
    var reach: UInt8 = 0
}

/// What a thread has for itself.
struct ModelThread {
    /// The stores that have not reached memory yet, oldest first.
    private(set) var buffer = (ModelStore(), ModelStore(), ModelStore(), ModelStore())
    var counter: UInt8 = 0
    var step = ModelStep.finished
    var outer = ModelTicket()
    var inner = ModelTicket()
    var emptiedItsCount = false
    var hasMetAnother = false
    /// Which count (or the pointer to the stripes) is read next, and of which parity.
    var cursor: UInt8 = 0
    var parity: UInt8 = 0
    var isWaiting = false
    /// Whether the thread may not yet have seen that the lock was unlocked.
    var mayMissUnlocking = false
    var releasable: UInt8 = 0

    var hasStores: Bool { buffer.0.kind != .none }
    /// The stores in the buffer; any after the last are of the kind `none`.
    var stores: [ModelStore] { hasStores ? [buffer.0, buffer.1, buffer.2, buffer.3] : [] }

    /// Adds a store at the end of the buffer; false if the buffer is full.
    mutating func enqueue(_ store: ModelStore) -> Bool {
        guard buffer.3.kind == .none else { return false }
        switch (buffer.0.kind, buffer.1.kind, buffer.2.kind) {
        case (.none, _, _): buffer.0 = store
        case (_, .none, _): buffer.1 = store
        case (_, _, .none): buffer.2 = store
        default: buffer.3 = store
        }
        return true
    }

    /// Removes the oldest store.
    mutating func dequeue() -> ModelStore {
        let oldest = buffer.0
        buffer = (buffer.1, buffer.2, buffer.3, ModelStore())
        return oldest
    }
}

/// A store that has been made, but has possibly not reached memory yet.
struct ModelStore {
    enum Kind: UInt8 { case none, unlink, flag, flip, unlock, installStripes, add, subtract }

    var kind = Kind.none
    /// The items, the flag's new value, or the index of a count.
    var operand: UInt8 = 0
}

enum ModelStep: UInt8, Sendable {
    // A traversal.
    case readParity, loadStripes, countIn, loadHead, installStripesAlone
    case countOut, walkLate, installStripes, lookAtFlag, tryAfterLeaving
    // A change.
    case lock, unlink, lookAtBothCounts, raiseFlag
    case lookAtIdleCount, flip, flipAnyway, lowerFlag, unlock
    case lookAgain, lookAtIdleCountAgain, tryAgain
    case release
    case finished
}
