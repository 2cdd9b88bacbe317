/// Draws operations, and the programs of a round.
struct OperationGenerator {
    static let ownerCount = 4
    /// The number of programs in a round, of which the first is empty.
    static let programCount = 16

    private var choices: SeededGenerator

    init(seed: UInt64) { choices = SeededGenerator(seed: seed) }

    /// The approximate size at which sets are kept; large sets grow, and are compacted.
    mutating func size() -> Int { [4, 10, 10, 20, 20, 40, 40, 120][choices.below(8)] }

    /// Programs that observers, owners and captures run: short ones, since they nest.
    mutating func routines() -> [[Operation]] {
        var routines: [[Operation]] = [[]]
        while routines.count < Self.programCount {
            var routine: [Operation] = []
            for _ in 0...choices.below(3) {
                routine.append(operation(isCrowded: choices.below(2) == 0))
            }
            routines.append(routine)
        }
        return routines
    }

    /// A random operation: more often an addition or, if the sets are crowded, a removal, so that they keep the
    /// intended size.
    ///
    /// It draws no more choices than its verb needs.
    mutating func operation(isCrowded: Bool) -> Operation {
        var operation = Operation(verb: (isCrowded ? Self.crowdedVerbs : Self.verbs)[choices.below(256)])
        switch operation.verb {
        case .add, .addToGroup, .addAwaiting, .addAwaitingToGroup: chooseObserver(of: &operation)
        case .notify:
            operation.place = one(of: Self.places)
            operation.form = choices.below(3)
        case .settle:
            operation.place = choices.below(2)
        case .removeByToken, .removeBySet, .removeByForeignSet, .isActive, .letOn, .countLost:
            operation.back = choices.below(64)
        case .removeAll, .replaceSet, .count:
            operation.place = choices.below(Place.count)
        case .removeAllOwned:
            operation.place = choices.below(Place.count)
            operation.owner = choices.below(Self.ownerCount)
        case .replaceOwner:
            operation.owner = choices.below(Self.ownerCount)
            operation.program = program()
            operation.farewell = program()
        case .dropOwner:
            operation.owner = choices.below(Self.ownerCount)
        }
        return operation
    }

    private mutating func chooseObserver(of operation: inout Operation) {
        let isAwaiting = operation.verb == .addAwaiting || operation.verb == .addAwaitingToGroup
        if operation.verb == .addToGroup || operation.verb == .addAwaitingToGroup {
            operation.place = choices.below(2)
            operation.members = one(of: Operation.Members.allCases)
        } else {
            operation.place = one(of: isAwaiting ? Self.awaitingPlaces : Self.places)
        }
        let mayHop = World.awaits && !Place.isLocal(operation.place)
        operation.kind = one(
            of: isAwaiting ? Operation.Kind.awaiting : mayHop ? Operation.Kind.hopping : Operation.Kind.synchronous)
        operation.program = program()
        if operation.kind.hasOwner {
            operation.owner = choices.below(Self.ownerCount)
        } else {
            operation.farewell = program()
        }
        guard isAwaiting else { return }
        operation.suspensions = choices.below(4) % 3
        if operation.suspensions > 0 { operation.sequel = program() }
        // While a value is on its way to the actor that owns the observer, it does not wait any more, and nothing has
        // been called yet. The contract does not say whether there is room for a value that is notified meanwhile.
        if operation.kind != .awaitedActorOwner { operation.form = choices.below(Operation.bufferings) }
    }

    private mutating func one<Element>(of list: [Element]) -> Element { list[choices.below(list.count)] }

    /// The program of an observer, an owner or a capture; most of them run none.
    private mutating func program() -> Int {
        let draw = choices.below(3 * Self.programCount)
        return draw < Self.programCount ? draw : 0
    }

    /// The places for observers: the sets more often than others.
    private static let places = [
        0, 0, 0, 0, 0, 1, 1, 1, 1, 1, Place.value, Place.base, Place.derived, Place.all, Place.local, Place.local,
        Place.otherLocal,
    ]
    /// The places for observers that await, which a local set cannot have.
    private static let awaitingPlaces = [
        0, 0, 0, 0, 1, 1, 1, Place.value, Place.base, Place.derived, Place.all,
    ]

    private static let verbs = table(isCrowded: false)
    private static let crowdedVerbs = table(isCrowded: true)

    /// Contains each verb as often as its weight; 256 in all.
    private static func table(isCrowded: Bool) -> [Operation.Verb] {
        let weights: [(Operation.Verb, Int)] = [
            (.notify, 53), (isCrowded ? .removeByToken : .add, 47), (.letOn, 8), (.countLost, 2), (.settle, 3),
            (isCrowded ? .removeBySet : .add, 46), (.addAwaiting, 8), (.addAwaitingToGroup, 2), (.add, 16),
            (isCrowded ? .removeByToken : .addToGroup, 8), (.removeByToken, 11), (.removeByForeignSet, 4),
            (.removeAll, 2), (.removeAllOwned, 5), (.replaceOwner, 8), (.dropOwner, 5), (.replaceSet, 4),
            (.count, 12), (.isActive, 12),
        ]
        let table = weights.flatMap { verb, weight in Array(repeating: verb, count: weight) }
        precondition(table.count == 256)
        return table
    }
}
