/// A small model of the reclamation in `Core`, for `Exploration` to try in every interleaving.
///
/// One step is one access of `Reclamation.swift`, `Traversal` or the lock to what threads share. What only
/// the lock's holder touches (the lists of what is retired) changes together with the step beside it.
///
/// What the model covers: the parity read as a hint and used late, the count on the first pair or on a stripe, the
/// installation of stripes, the load of the head, nested traversals, removals inside an observer; the look at the flag,
/// the try at the lock; unlinking, the quick way of `retire`, the two lists, the flips, the flag, the unlocking and the look
/// after it. An *item* is whatever a store to the head unlinks, a removed observer or a displaced block; a traversal
/// reaches every item that was not unlinked when it loaded the head, from then until it counts itself out. (A slot becomes
/// vacant when nothing waits, that is, when all that was unlinked has been released: that no traversal reaches it then is
/// the same as that nothing is released too early.)
///
/// What it leaves out: how slots are published (by their id, acquiring), the relaxed mark of a removed slot (a traversal
/// that misses it is one that may reach the item, which the model supposes of all), who keeps the registry
/// alive, the weak owners, and several items unlinked in one critical section.
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

    /// The threads are given by what each does, see `Instruction`.
    init(_ name: String, seats: Int = 0, _ threads: String...) {
        self.name = name
        self.seats = seats
        programs = threads.map(Instruction.program)
    }

    func with(_ fault: ReclamationFault? = nil, isWeak: Bool) -> Scenario {
        var copy = self
        copy.isWeak = isWeak
        copy.fault = fault
        return copy
    }

    var start: ModelState {
        var state = ModelState()
        for (index, program) in programs.enumerated() { state[index].step = program[0].firstStep }
        return state
    }
}

/// What a thread does next, as a character of its program.
enum Instruction: Sendable, Equatable {
    /// `(` begins a traversal, and `)` ends it; traversals may be nested twice.
    case enter(depth: Int)
    case leave(depth: Int)
    /// `0` to `7`: ends a registration, that is, unlinks that item.
    case remove(UInt8)
    /// `+`: takes the lock and unlinks nothing.
    case append
    /// `^`: installs stripes, as whoever has left does, if another thread has changed the set meanwhile.
    case install
    /// `*`: begins again, for ever.
    case again

    static func program(_ text: String) -> [Instruction] {
        var depth = 0
        return text.map { character in
            switch character {
            case "(":
                depth += 1
                return .enter(depth: depth - 1)
            case ")":
                depth -= 1
                return .leave(depth: depth)
            case "+": return .append
            case "^": return .install
            case "*": return .again
            default: return .remove(1 << UInt8(character.wholeNumberValue!))
            }
        }
    }

    var firstStep: ModelStep {
        switch self {
        case .enter: .readParity
        case .leave: .countOut
        case .remove, .append: .lock
        case .install: .installStripesAlone
        case .again: .finished
        }
    }
}

/// A mistake that the algorithm could have: each must be found, or a silent exploration would prove nothing.
enum ReclamationFault: String, CaseIterable, Sendable {
    /// What is retired is detached when only one parity was seen empty after the unlinking.
    case flipsTwiceAtOnce, detachesAfterOneFlip, quickWayLooksAtOneCount
    /// Traversals that came in on a stripe are not looked for.
    case stripesAreIgnored
    /// A traversal leaves before its walk, or another side than it came in on.
    case countsOutBeforeWalking, leavesOpenSide
    /// Who makes the last obstacle vanish does not look whether something waits.
    case flagIsIgnored, noLookAfterUnlocking
    /// The parity changes on an occupied idle side; newcomers take the idle side; an unlocker waits for traversals.
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
