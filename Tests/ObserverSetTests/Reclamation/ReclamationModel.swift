/// A small model of the reclamation in `Core`, which `Exploration` runs in every interleaving.
///
/// One step is one access of `Reclamation.swift`, of `Traversal` or of the lock to what the threads share. What only
/// the lock's holder touches (the lists of retired items) changes together with the neighbouring step.
///
/// An *item* is whatever a store to the head unlinks: a removed observer, or a block that was replaced. A traversal can
/// reach every item that was not unlinked when the traversal loaded the head, from then until it counts itself out.
///
/// What the model covers:
///  - Traversals: the parity, which is read as a hint and used later; the count on the first pair or on a stripe; the
///    installation of stripes; the load of the head; nested traversals; removals inside an observer; the load of the
///    flag; the attempt to lock.
///  - Changes: unlinking, the quick way of `retire`, the two lists, the flips, the flag, the unlocking, and the reading
///    of the counts after it.
///  - Slots that become vacant: that happens when nothing waits, that is, when everything that was unlinked has been
///    released. So that no traversal can reach such a slot follows from the fact that nothing is released too early.
///
/// What it leaves out:
///  - how slots are published (by their id, which is loaded with acquire);
///  - the relaxed mark of a removed slot (a traversal that misses the mark can reach the item, and the model assumes
///    that of all traversals);
///  - what keeps the registry alive;
///  - owners that are held weakly;
///  - several items that are unlinked in one critical section.
///
/// By default memory is sequentially consistent. With `isWeak`, each thread has a buffer of its latest stores, first
/// in, first out, and a thread may see an unlocking late:
///  - A sequentially consistent load waits until no sequentially consistent store is in its thread's own buffer. A
///    fence waits until the buffer is empty. Other loads do not wait, and see their own thread's stores.
///  - An addition or a subtraction is atomic: no other thread's comes between its load and its store.
///  - An attempt to lock may find the lock taken after it was unlocked, until the thread has passed a fence.
///
/// So a later load of another location may overtake a store. Compiled code hides that fault: on x86 each addition to a
/// count is a locked instruction, which no load overtakes, and most code for arm64 has orders that are stronger than
/// need be. The model contains neither stores that overtake stores nor loads that overtake loads; the thread sanitizer checks
/// the order that publication needs.
struct Scenario: Sendable {
    let name: String
    let programs: [[Instruction]]
    /// The number of stripes in addition to the first pair; zero if none are ever installed.
    let seats: Int
    var isWeak = false
    var fault: ReclamationFault?

    /// Each thread is given by its program, one character for each `Instruction`.
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
    /// `(` begins a traversal, and `)` ends it; a traversal may be nested inside one other.
    case enter(depth: Int)
    case leave(depth: Int)
    /// A digit from `0` to `7`: ends a registration, that is, unlinks that item.
    case remove(UInt8)
    /// `+`: takes the lock and unlinks nothing.
    case append
    /// `^`: installs stripes, as a thread does that has ended its traversal and finds that another thread has changed
    /// the set meanwhile.
    case install
    /// `*`: begins the program again, for ever.
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

/// A mistake that the algorithm could have.
///
/// Each must be found: otherwise an exploration that finds nothing would prove nothing.
enum ReclamationFault: String, CaseIterable, Sendable {
    /// Retired items are detached although only one parity was seen empty after the unlinking.
    case flipsTwiceAtOnce, detachesAfterOneFlip, quickWayLooksAtOneCount
    /// Traversals that are counted on a stripe are ignored.
    case stripesAreIgnored
    /// A traversal counts itself out before its walk, or on another side than the one on which it counted itself in.
    case countsOutBeforeWalking, leavesOpenSide
    /// The thread that removes the last obstacle does not check whether something waits.
    case flagIsIgnored, noLookAfterUnlocking
    /// The sides change although the idle side is occupied; newcomers take the idle side; an unlocking thread waits for
    /// traversals.
    case flipsWhileOccupied, countsInOnIdleSide, triesWhileRetired
    /// One of the four accesses of "Why nothing is released too early" is not sequentially consistent.
    case headLoadIsRelaxed, countInIsReleasing, headStoreIsReleasing, countLoadsAreAcquiring
    /// One of the accesses of "Why nothing is forgotten" is not sequentially consistent, or a fence is missing.
    case countOutIsReleasing, flagLoadIsRelaxed, noFenceAfterUnlocking, noFenceBeforeTry

    var needsWeakMemory: Bool {
        switch self {
        case .headLoadIsRelaxed, .countInIsReleasing, .headStoreIsReleasing, .countLoadsAreAcquiring: true
        case .countOutIsReleasing, .flagLoadIsRelaxed, .noFenceAfterUnlocking, .noFenceBeforeTry: true
        default: false
        }
    }
}
