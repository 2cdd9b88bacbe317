/// Draws operations, and the programs of a round.
struct ProgramGenerator {
    static let ownerCount = 4
    static let senderCount = 2
    static let bagCount = 2
    /// The number of programs in a round, of which the first is empty.
    static let programCount = 16

    private var choices: SeededGenerator

    init(seed: UInt64) { choices = SeededGenerator(seed: seed) }

    /// The approximate size at which the places are kept; large sets grow, and are compacted.
    mutating func size() -> Int { [4, 10, 10, 20, 20, 40, 40, 120][choices.below(8)] }

    mutating func valuesCarryCargo() -> Bool { choices.below(3) > 0 }

    /// Programs that observers, owners and so on run: short ones, since they nest.
    mutating func routines() -> [[Operation]] {
        var routines: [[Operation]] = [[]]
        while routines.count < Self.programCount {
            routines.append((0...choices.below(3)).map { _ in operation(isCrowded: choices.below(2) == 0) })
        }
        return routines
    }

    /// A random operation: more often an addition or, if the places are crowded, a removal, so that they keep the intended
    /// size.
    ///
    /// It draws no more choices than its verb needs.
    mutating func operation(isCrowded: Bool) -> Operation {
        var operation = Operation(verb: (isCrowded ? Self.crowdedVerbs : Self.verbs)[choices.below(256)])
        switch operation.verb {
        case .add: chooseObserver(of: &operation)
        case .notify:
            operation.place = one(of: Self.places)
            operation.form = choices.below(3)
            operation.owner = choices.below(Self.senderCount)
            operation.farewell = program()
        case .settle: operation.tree = tree(depth: 1, mayBeLate: false)
        case .remove, .removeAndWait, .isActive, .ask, .letOn, .registerLater, .read, .cancelReading, .dropStream:
            operation.back = choices.below(64)
        case .combine:
            operation.back = choices.below(64)
            operation.place = choices.below(64)
        case .removeBySet:
            operation.back = choices.below(64)
            operation.place = one(of: Self.setPlaces)
        case .store:
            operation.back = choices.below(64)
            operation.owner = choices.below(Self.bagCount)
            operation.form = choices.below(8) / 7
        case .emptyBag, .endBag: operation.owner = choices.below(Self.bagCount)
        case .removeAll, .replace, .count, .describe: operation.place = choices.below(Place.count)
        case .removeAllOwned:
            operation.place = choices.below(Place.count)
            operation.owner = choices.below(Self.ownerCount)
        case .replaceOwner:
            operation.owner = choices.below(Self.ownerCount)
            operation.program = program()
            operation.farewell = program()
        case .dropOwner: operation.owner = choices.below(Self.ownerCount)
        case .replaceSender: operation.owner = choices.below(Self.senderCount)
        case .deliver: operation.form = choices.below(3) / 2
        case .letQueueRun: break
        }
        return operation
    }

    private mutating func chooseObserver(of operation: inout Operation) {
        // Local sets and delegates are no sources.
        let local = choices.below(10)
        if local < 2 {
            operation.place = local == 0 ? Place.delegates : choices.below(2) + Place.locals.lowerBound
            operation.kind = one(of: [.closure, .owner, .method])
            operation.form = choices.below(2)
        } else {
            operation.tree = tree(depth: [0, 0, 0, 1, 1, 2, 2, 3][choices.below(8)], mayBeLate: true)
            operation.kind = one(of: World.awaits ? Self.kinds : Self.synchronousKinds)
        }
        operation.program = program()
        if operation.kind.hasOwner {
            operation.owner = choices.below(Self.ownerCount)
        } else {
            operation.farewell = program()
        }
        guard operation.kind.isAwaiting || operation.kind == .stream else { return }
        operation.form = choices.below(Operation.bufferings.count)
        if operation.kind == .stream { return }
        operation.suspensions = choices.below(4) % 3
        if operation.suspensions > 0 { operation.sequel = program() }
    }

    private mutating func tree(depth: Int, mayBeLate: Bool) -> Tree {
        guard depth > 0 else {
            let place = one(of: Self.sources)
            return Place.isPosted(place) && choices.below(2) == 0
                ? .posts(place, sender: choices.below(Self.senderCount)) : .leaf(place)
        }
        let member = { (generator: inout Self) in
            generator.tree(depth: generator.choices.below(depth), mayBeLate: mayBeLate)
        }
        switch choices.below(16) {
        case 0, 1: return .map(member(&self), program())
        case 2: return .compactMap(member(&self), program())
        case 3: return .filter(member(&self), program())
        case 4, 5, 6: return .merge((0...choices.below(3)).map { _ in member(&self) }, one(of: Tree.Fold.allCases))
        case 7, 8: return .group((0..<choices.below(4)).map { _ in member(&self) })
        // A source must register an observer before it returns, or `once` can't remove it.
        case 9, 10: return .once(tree(depth: choices.below(depth), mayBeLate: false))
        case 11, 12, 13: return .starting(member(&self), program())
        case 14: return one(of: [.adapted(member(&self)), .nothing])
        default: return mayBeLate && choices.below(2) == 0 ? .late(member(&self)) : .twice(member(&self))
        }
    }

    private mutating func one<Element>(of list: [Element]) -> Element { list[choices.below(list.count)] }

    /// The program of an observer, an owner and so on; most of them run none.
    private mutating func program() -> Int {
        let draw = choices.below(3 * Self.programCount)
        return draw < Self.programCount ? draw : 0
    }

    /// The places that are notified, and those at which observers are added: the sets more often than others.
    private static let places =
        [0, 0, 0, 0, 0, 1, 1, 1, 1, Place.produced] + [3, 4, 5, 6, 7, 7, 8, 9, 9, 10, 11]
    private static let sources = [0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7, 7, 8]
    private static let setPlaces = [0, 0, 1, 1, 2, 9, 10, 11]

    private static let synchronousKinds: [Operation.Kind] = [
        .closure, .owner, .method, .nonisolated, .nonisolatedOwner, .queue, .queueOwner,
    ]
    private static let kinds =
        synchronousKinds + [
            .onActor, .actorOwner, .actorOwner, .actorOwner,
            .awaited, .awaitedOnActor, .awaitedOwner, .awaitedActorOwner, .stream, .stream,
        ]

    private static let verbs = table(isCrowded: false)
    private static let crowdedVerbs = table(isCrowded: true)

    /// Contains each verb as often as its weight; 256 in all.
    private static func table(isCrowded: Bool) -> [Operation.Verb] {
        let weights: [(Operation.Verb, Int)] = [
            (.add, 24), (isCrowded ? .remove : .add, 36), (isCrowded ? .removeBySet : .add, 12),
            (isCrowded ? .registerLater : .add, 4), (.notify, 56), (.deliver, 16), (.letOn, 10), (.letQueueRun, 4),
            (.remove, 8), (.removeBySet, 4), (.removeAll, 2), (.removeAllOwned, 5), (.removeAndWait, 4),
            (.replaceOwner, 8), (.dropOwner, 5), (.replaceSender, 2), (.replace, 4), (.registerLater, 2), (.combine, 4),
            (.store, 6), (.emptyBag, 1), (.endBag, 2), (.count, 5), (.describe, 3), (.isActive, 6), (.ask, 10),
            (.settle, 4), (.read, 6), (.cancelReading, 1), (.dropStream, 2),
        ]
        let table = weights.flatMap { verb, weight in Array(repeating: verb, count: weight) }
        precondition(table.count == 256, "\(table.count)")
        return table
    }
}
