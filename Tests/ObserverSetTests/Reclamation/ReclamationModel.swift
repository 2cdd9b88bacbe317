/// A small model of the reclamation in `Core`, for `Explorer` to try in every interleaving.
///
/// One step is one access of `Readers`, `Registry+Reclaim.swift`, `Pass` or the lock to what threads share. What only
/// the lock's holder touches (the lists of what is retired) changes together with the step beside it.
///
/// What the model covers: the parity read as a hint and used late, the count on the first pair or on a stripe, the
/// installation of stripes, the load of the head, nested passes, removals inside an observer; the look at the flag, the
/// try at the lock; unlinking, the quick way of `retire`, the two lists, the flips, the flag, the unlocking and the look
/// after it. An *item* is whatever a store to the head unlinks, a removed observer or a displaced snapshot; a pass
/// reaches every item that was not unlinked when it loaded the head, from then until it counts itself out.
///
/// What it leaves out: how slots are published to passes (`Snapshot.count`, acquiring), the relaxed mark of a removed
/// slot (a pass that misses it is one that may reach the item, which the model supposes of all), who keeps the registry
/// alive, and the weak owners.
///
/// By default memory is sequentially consistent. With `isWeak`, each thread has a buffer of its latest stores, first in,
/// first out, and an unlocking may reach threads late:
///  - a sequentially consistent load waits until no sequentially consistent store is in its thread's own buffer, and a
///    fence until the buffer is empty; other loads wait for nothing, and see their own thread's stores;
///  - an addition or a subtraction is one, in that no other thread's comes between its look and its store;
///  - a try at the lock may find it taken after it was unlocked, until the thread has passed a fence.
///
/// So a store may be overtaken by later loads of other places, which is the fault that x86 and most code for arm64 hide.
/// Neither stores overtaken by stores nor loads by loads are in the model; the order that publication needs is the
/// thread sanitizer's to check.
struct Scenario: Sendable {
    let name: String
    let programs: [[Instruction]]
    /// How many stripes there are beside the first; zero if none is ever installed.
    let seats: Int
    var isWeak = false
    var fault: ReclamationFault?

    init(_ name: String, seats: Int = 0, _ threads: [[Act]]) {
        self.name = name
        self.seats = seats
        self.isWeak = isWeak
        programs = threads.map { Instruction.program($0) }
    }

    var onWeakMemory: Scenario {
        var copy = self
        copy.isWeak = true
        return copy
    }

    func with(_ fault: ReclamationFault) -> Scenario {
        var copy = fault.needsWeakMemory ? onWeakMemory : self
        copy.fault = fault
        return copy
    }

    /// Threads that may change places in a state without a difference.
    ///
    /// Not where threads go on for ever: there it matters who moved.
    func isTwin(_ thread: Int) -> Bool {
        thread > 0 && seats < 2 && programs[thread] == programs[thread - 1] && programs[thread].last != .again
    }

    var start: ModelState {
        var state = ModelState()
        for (index, program) in programs.enumerated() {
            var thread = ModelThread()
            thread.step = program[0].firstStep
            state.threads[index] = thread.word
        }
        return state
    }
}

/// A mistake that the algorithm could have: each must be found, or a silent exploration would prove nothing.
enum ReclamationFault: String, CaseIterable, Sendable {
    /// What is retired is detached when only one parity was seen empty after the unlinking.
    case flipsTwiceAtOnce, detachesAfterOneFlip, quickWayLooksAtOneCount
    /// A pass leaves before its walk, or another side than it came in on.
    case countsOutBeforeWalking, leavesOpenSide
    /// Who makes the last obstacle vanish does not look whether something waits.
    case flagIsIgnored, noLookAfterUnlocking
    /// The parity changes on an occupied idle side; newcomers take the idle side; an unlocker waits for readers.
    case flipsWhileOccupied, countsInOnIdleSide, triesWhileRetired
    /// One of the four accesses of "Why nothing is released too early" is not sequentially consistent.
    case headLoadIsRelaxed, countInIsReleasing, headStoreIsReleasing, countLoadsAreAcquiring
    /// One of those of "Why nothing is forgotten" is not.
    case countOutIsReleasing, flagLoadIsRelaxed, noFenceAfterUnlocking, noFenceBeforeTry

    var needsWeakMemory: Bool {
        switch self {
        case .headLoadIsRelaxed, .countInIsReleasing, .headStoreIsReleasing, .countLoadsAreAcquiring: true
        case .countOutIsReleasing, .flagLoadIsRelaxed, .noFenceAfterUnlocking, .noFenceBeforeTry: true
        default: false
        }
    }
}

/// What a thread does.
enum Act: Sendable {
    case notify([Act])
    /// Ends a registration: unlinks that item.
    case remove(Int)
    /// Takes the lock and unlinks nothing, as `append` does.
    case append
    /// Begins again, for ever.
    case again

    static var notify: Act { .notify([]) }
}

enum Instruction: Sendable, Equatable {
    case enter(depth: Int)
    case leave(depth: Int)
    case change(item: Int?)
    case again

    static func program(_ acts: [Act], depth: Int = 0) -> [Instruction] {
        acts.flatMap { act -> [Instruction] in
            switch act {
            case .notify(let inner):
                [.enter(depth: depth)] + program(inner, depth: depth + 1) + [.leave(depth: depth)]
            case .remove(let item): [.change(item: item)]
            case .append: [.change(item: nil)]
            case .again: [.again]
            }
        }
    }

    var firstStep: ModelStep {
        switch self {
        case .enter: .readParity
        case .leave: .countOut
        case .change: .lock
        case .again: .finished
        }
    }

    var depth: Int {
        switch self {
        case .enter(let depth), .leave(let depth): depth
        case .change, .again: 0
        }
    }
}

enum ModelStep: UInt8, Sendable {
    // A pass.
    case readParity, loadStripes, countIn, loadHead
    case countOut, walkLate, installStripes, lookAtFlag, tryAfterLeaving
    // A change.
    case lock, unlink, lookAtBothCounts, raiseFlag
    case lookAtIdleCount, flip, flipAnyway, lowerFlag, unlock
    case lookAgain, lookAtIdleCountAgain, tryAgain
    case release
    case finished
}

/// A store that has been made, and perhaps not yet reached memory.
enum ModelStore: Equatable, Sendable {
    case unlink(UInt64)
    case flag(Bool)
    case flip
    case unlock
    case installStripes
    /// Of a count, by its place: parity, or 2 + 2 * seat + parity.
    case add(Int)
    case subtract(Int)

    var code: UInt64 {
        switch self {
        case .unlink(let item): 1 + UInt64(item.trailingZeroBitCount)
        case .flag(let isRaised): isRaised ? 5 : 6
        case .flip: 7
        case .unlock: 8
        case .installStripes: 9
        case .add(let place): 10 + 2 * UInt64(place)
        case .subtract(let place): 11 + 2 * UInt64(place)
        }
    }

    init(code: UInt64) {
        switch code {
        case 1...4: self = .unlink(1 << (code - 1))
        case 5, 6: self = .flag(code == 5)
        case 7: self = .flip
        case 8: self = .unlock
        case 9: self = .installStripes
        default: self = code % 2 == 0 ? .add(Int(code - 10) / 2) : .subtract(Int(code - 10) / 2)
        }
    }
}
