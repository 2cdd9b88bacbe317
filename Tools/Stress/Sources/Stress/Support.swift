import Foundation
import Synchronization

/// What did not hold, and how often.
final class Mistakes: Sendable {
    enum Kind: Int, CaseIterable {
        case calledAfterRemoval = 0
        case calledWithTheDead
        case missedOrOutOfOrder
        case removedTwice
        case activeAfterRemoval
        case missedAfterAddition
        case notReleased
        case wrongCount
        case elementOutOfOrder
        case memoryGrew
    }

    private let kinds = Atomic<Int>(0)

    /// Relaxed, as all that the program itself counts: it must not order what the library should.
    func note(_ kind: Kind, unless holds: Bool) {
        if !holds { kinds.bitwiseOr(1 << kind.rawValue, ordering: .relaxed) }
    }

    var list: [String] {
        let bits = kinds.load(ordering: .relaxed)
        return Kind.allCases.filter { bits & (1 << $0.rawValue) != 0 }.map { "\($0)" }
    }
}

/// Counts the objects of a storm that live.
final class Census: Sendable {
    private let number = Atomic<Int>(0)

    var living: Int { number.load(ordering: .relaxed) }

    func add(_ change: Int) { number.add(change, ordering: .relaxed) }

    /// Whether so many are left, at once or after jobs of other threads have let go of what they held.
    func comes(to expected: Int) -> Bool {
        for _ in 0..<1_000 {
            if living == expected { return true }
            usleep(1_000)
        }
        return false
    }
}

/// An owner or a capture, whose end may do something.
final class Tracked: Sendable {
    private static var alive: Int { 0x600D }

    private let census: Census
    private let atEnd: (@Sendable () -> Void)?
    /// Plain, so that the sanitizers see whoever reads it unpublished or released.
    nonisolated(unsafe) private var canary = Tracked.alive

    init(_ census: Census, atEnd: (@Sendable () -> Void)? = nil) {
        self.census = census
        self.atEnd = atEnd
        census.add(1)
    }

    var isIntact: Bool { unsafe canary == Self.alive }

    deinit {
        atEnd?()
        unsafe canary = 0xDEAD
        census.add(-1)
    }
}

/// A number for each thread, on a cache line of its own; only that thread touches it while threads run.
@safe final class Cells: Sendable {
    nonisolated(unsafe) private let numbers: UnsafeMutablePointer<Int>
    let count: Int

    init(_ count: Int) {
        self.count = count
        unsafe numbers = .allocate(capacity: 16 * count)
        unsafe numbers.initialize(repeating: 0, count: 16 * count)
    }

    subscript(index: Int) -> Int {
        get { unsafe numbers[16 * index] }
        set { unsafe numbers[16 * index] = newValue }
    }

    var sum: Int { (0..<count).reduce(0) { $0 + self[$1] } }

    deinit {
        unsafe numbers.deallocate()
    }
}

/// Where threads wait for each other.
final class Barrier: Sendable {
    private let count: Int
    private let arrived = Atomic<Int>(0)

    init(_ count: Int) {
        self.count = count
    }

    /// Returns when all have called it as often as the caller has.
    func pass() {
        let number = arrived.add(1, ordering: .acquiringAndReleasing).newValue
        let goal = (number + count - 1) / count * count
        while arrived.load(ordering: .acquiring) < goal { sched_yield() }
    }
}

/// Runs `body` on so many threads at once, and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    let start = Barrier(count)
    await withTaskGroup { group in
        for index in 0..<count {
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        start.pass()
                        body(index)
                        continuation.resume()
                    }
                }
            }
        }
    }
}

/// Random numbers that are the same for the same seed (splitmix64, Steele, Lea and Flood).
struct SeededGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) >> 33) % bound
    }
}

/// When to end, if that is asked for.
struct Deadline {
    private let end: Date?

    init(_ seconds: Double?) {
        end = seconds.map { Date().addingTimeInterval($0) }
    }

    var isOver: Bool { end.map { $0 < Date() } ?? false }
}
