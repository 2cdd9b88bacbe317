/// One step of a random program.
///
/// Its numbers are resolved when it runs, by both worlds in the same way.
struct Operation: CustomStringConvertible {
    enum Verb: CaseIterable {
        case add, removeByToken, removeBySet, removeByForeignSet, removeAll, removeAllOwned
        case replaceOwner, dropOwner, replaceSet, notify, count, isEmpty, isActive
        case addToGroup, store, emptyBag, replaceBag, countBag
    }

    /// The members of a group, of which some set is the first.
    enum Members: CaseIterable {
        case both, bothReversed, sameTwice, nested

        /// The sets with whom an observer of the group is registered, in order.
        func sets(first: Int) -> [Int] {
            switch self {
            case .both, .nested: [first, 1 - first]
            case .bothReversed: [1 - first, first]
            case .sameTwice: [first, first]
            }
        }
    }

    /// The synchronous kinds of observer.
    enum Kind: CaseIterable {
        case closure, owner, method, nonisolated, nonisolatedOwner, once, onceOwner

        var hasOwner: Bool { self == .owner || self == .method || self == .nonisolatedOwner || self == .onceOwner }
        var isOnce: Bool { self == .once || self == .onceOwner }
    }

    var verb: Verb
    var kind = Kind.closure
    /// Which of the world's sets.
    var set = 0
    /// Which of the world's owners.
    var owner = 0
    /// How far back from the newest registration, modulo their number.
    var back = 0
    /// What the new observer or owner does when it is called, and when it or its capture dies.
    var program = 0
    var farewell = 0
    /// Which of the world's bags.
    var bag = 0
    var members = Members.both

    var description: String {
        switch verb {
        case .add:
            "add \(kind) to set \(set), owner \(owner), program \(program), farewell \(farewell)"
        case .addToGroup:
            "add \(kind) to a group of \(members.sets(first: set)), owner \(owner), program \(program), farewell \(farewell)"
        case .store:
            "store the registration \(back) back in bag \(bag)"
        case .emptyBag, .replaceBag, .countBag:
            "\(verb) \(bag)"
        case .removeByToken, .removeBySet, .removeByForeignSet, .isActive:
            "\(verb) of the registration \(back) back"
        case .removeAll, .notify, .count, .isEmpty, .replaceSet:
            "\(verb), set \(set)"
        case .removeAllOwned:
            "\(verb), set \(set), owner \(owner)"
        case .dropOwner:
            "\(verb) \(owner)"
        case .replaceOwner:
            "\(verb) \(owner), program \(program), farewell \(farewell)"
        }
    }
}

/// What both worlds tell of a run, to be compared; packed, since a run makes many millions.
struct Occurrence: Equatable, CustomStringConvertible {
    enum Tag: UInt64 {
        case called, methodCalled, captureDied, ownerDied, removed, removedOwned, counted, isEmpty, isActive
        case bagCounted
        /// An operation inside an observer or a `deinit` begins; without it, what dies before one that tells nothing could
        /// be taken for dying after it.
        case began
    }

    private let bits: UInt64

    init(_ tag: Tag, _ subject: Int, _ value: Int) {
        bits = tag.rawValue << 56 | UInt64(truncatingIfNeeded: subject) << 28 | UInt64(truncatingIfNeeded: value)
    }

    init(_ tag: Tag, _ subject: Int, _ value: Bool) {
        self.init(tag, subject, value ? 1 : 0)
    }

    var description: String {
        let tag = Tag(rawValue: bits >> 56).map { "\($0)" } ?? "?"
        return "\(tag) \(bits >> 28 & 0xFFF_FFFF): \(bits & 0xFFF_FFFF)"
    }

    static func == (left: Self, right: Self) -> Bool { left.bits == right.bits }
}

/// Draws operations, and the programs of a round.
struct OperationGenerator {
    static let setCount = 2
    static let ownerCount = 4
    static let bagCount = 2
    /// The number of programs in a round, of which the first is empty.
    static let programCount = 16

    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// A number below the bound; its bias is too small to do harm, and it is fast without optimisation.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: generator.next() >> 33) % bound
    }

    /// Programs that observers, owners and captures run: short ones, since they nest.
    mutating func programs() -> [[Operation]] {
        var programs: [[Operation]] = [[]]
        while programs.count < Self.programCount {
            var program: [Operation] = []
            for _ in 0...below(3) { program.append(operation(isCrowded: below(2) == 0)) }
            programs.append(program)
        }
        return programs
    }

    /// Any operation: rather an addition or rather a removal, so that sets keep the size that they should have.
    mutating func operation(isCrowded: Bool) -> Operation {
        var operation = Operation(verb: verb(isCrowded: isCrowded))
        operation.kind = Operation.Kind.allCases[below(Operation.Kind.allCases.count)]
        operation.set = below(Self.setCount)
        operation.owner = below(Self.ownerCount)
        operation.back = below(64)
        operation.program = program()
        operation.farewell = program()
        operation.bag = below(Self.bagCount)
        operation.members = Operation.Members.allCases[below(Operation.Members.allCases.count)]
        return operation
    }

    /// Most observers do nothing of their own.
    private mutating func program() -> Int {
        below(3) == 0 ? below(Self.programCount) : 0
    }

    private mutating func verb(isCrowded: Bool) -> Operation.Verb {
        switch below(1000) {
        case 0..<180: .notify
        case 180..<380: isCrowded ? .removeByToken : .add
        case 380..<580: isCrowded ? .removeBySet : .add
        case 580..<650: .add
        case 650..<680: isCrowded ? .emptyBag : .addToGroup
        case 680..<710: .removeByToken
        case 710..<740: .store
        case 740..<745: .emptyBag
        case 745..<750: .replaceBag
        case 750..<770: .removeByForeignSet
        case 770..<775: .removeAll
        case 775..<790: .removeAllOwned
        case 790..<820: .replaceOwner
        case 820..<840: .dropOwner
        case 840..<850: .replaceSet
        case 850..<900: .count
        case 900..<930: .isEmpty
        case 930..<950: .countBag
        default: .isActive
        }
    }
}
