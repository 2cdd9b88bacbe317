/// Draws operations, and the programs of a round.
struct OperationGenerator {
    static let ownerCount = 4
    static let slotCount = 2
    /// The number of programs in a round, of which the first is empty.
    static let programCount = 16

    private let choices: Choices

    init(_ choices: Choices) {
        self.choices = choices
    }

    /// The approximate size at which sets are kept; large sets grow, and are compacted.
    func size() -> Int {
        [4, 10, 10, 20, 20, 40, 40, 120][choices.below(8)]
    }

    /// Programs that observers, owners and captures run: short ones, since they nest.
    func routines() -> [[Operation]] {
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
    func operation(isCrowded: Bool) -> Operation {
        var operation = Operation(verb: (isCrowded ? Self.crowdedVerbs : Self.verbs)[choices.below(256)])
        switch operation.verb {
        case .add:
            operation.place = Self.places[choices.below(Self.places.count)]
            chooseObserver(of: &operation)
        case .addToGroup:
            operation.place = choices.below(2)
            operation.members = Self.members[choices.below(Self.members.count)]
            chooseObserver(of: &operation)
        case .notify:
            let place = choices.below(Self.places.count + 1)
            operation.place = place < Self.places.count ? Self.places[place] : Place.delegates
            operation.form = choices.below(4)
        case .addAwaiting:
            operation.place = Self.awaitingPlaces[choices.below(Self.awaitingPlaces.count)]
            chooseAwaitingObserver(of: &operation)
        case .addAwaitingToGroup:
            operation.place = choices.below(2)
            operation.members = Self.members[choices.below(Self.members.count)]
            chooseAwaitingObserver(of: &operation)
        case .settle:
            operation.place = choices.below(3)
        case .removeByToken, .removeBySet, .removeByForeignSet, .isActive, .letOn, .countLost:
            operation.back = choices.below(64)
        case .removeAll, .replaceSet, .count, .isEmpty:
            operation.place = choices.below(Place.count)
        case .removeAllOwned:
            operation.place = choices.below(Place.count)
            operation.owner = choices.below(Self.ownerCount)
        case .replaceOwner:
            operation.owner = choices.below(Self.ownerCount)
            operation.program = program()
            operation.farewell = program()
        case .dropOwner, .addDelegate:
            operation.owner = choices.below(Self.ownerCount)
        case .store, .takeValues:
            operation.back = choices.below(64)
            operation.slot = choices.below(Self.slotCount)
        case .makeValues:
            operation.place = choices.below(2)
            operation.slot = choices.below(Self.slotCount)
            operation.form = choices.below(Operation.bufferings)
        case .emptyBag, .replaceBag, .countBag, .dropValues, .makeIterator, .dropIterator:
            operation.slot = choices.below(Self.slotCount)
        case .listDelegates: break
        }
        return operation
    }

    private func chooseObserver(of operation: inout Operation) {
        let kinds = World.awaits && !Place.isLocal(operation.place) ? Self.kinds : Self.localKinds
        operation.kind = kinds[choices.below(kinds.count)]
        operation.program = program()
        chooseOwner(of: &operation)
    }

    private func chooseAwaitingObserver(of operation: inout Operation) {
        operation.kind = Operation.Kind.awaiting[choices.below(Operation.Kind.awaiting.count)]
        operation.program = program()
        operation.suspensions = choices.below(4) % 3
        if operation.suspensions > 0 { operation.sequel = program() }
        chooseOwner(of: &operation)
        // While a value is on its way to the actor that owns the observer, it does not wait any more, and nothing has
        // been called yet. The contract does not say whether there is room for a value that is notified meanwhile.
        if operation.kind != .awaitedActorOwner { operation.form = choices.below(Operation.bufferings) }
    }

    private func chooseOwner(of operation: inout Operation) {
        guard operation.kind.hasOwner else { return operation.farewell = program() }
        operation.owner = choices.below(Self.ownerCount)
    }

    /// The program of an observer, an owner or a capture; most of them run none.
    private func program() -> Int {
        let draw = choices.below(3 * Self.programCount)
        return draw < Self.programCount ? draw : 0
    }

    private static let localKinds = Operation.Kind.synchronous
    private static let kinds = Operation.Kind.synchronous + Operation.Kind.ofAnActor
    private static let members = Operation.Members.allCases

    /// The places for observers: the sets more often than others, and rarely a `NotificationCenter`, which is slow.
    private static let places: [Int] = {
        var places = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
        places += [Place.value, Place.base, Place.derived, Place.all, Place.local, Place.local, Place.otherLocal]
        #if NotificationCenter
        places.append(Place.bridge)
        #else
        // Keeps the length, so that the same seed makes the same choices except for this one.
        places.append(0)
        #endif
        return places
    }()

    /// The places for observers that await, which a local set cannot have.
    private static let awaitingPlaces: [Int] = {
        var places = [0, 0, 0, 0, 1, 1, 1, Place.value, Place.base, Place.derived, Place.all]
        #if NotificationCenter
        places.append(Place.bridge)
        #else
        places.append(0)
        #endif
        return places
    }()

    private static let verbs = table(isCrowded: false)
    private static let crowdedVerbs = table(isCrowded: true)

    /// Contains each verb as often as its weight; 256 in all.
    private static func table(isCrowded: Bool) -> [Operation.Verb] {
        let weights: [(Operation.Verb, Int)] = [
            (.notify, 45), (isCrowded ? .removeByToken : .add, 40), (.letOn, 7), (.countLost, 2), (.settle, 2),
            (isCrowded ? .removeBySet : .add, 43), (.addAwaiting, 6), (.addAwaitingToGroup, 2), (.add, 16),
            (isCrowded ? .emptyBag : .addToGroup, 8), (.removeByToken, 7), (.store, 7), (.emptyBag, 1),
            (.replaceBag, 1),
            (.removeByForeignSet, 4), (.removeAll, 2), (.removeAllOwned, 4), (.replaceOwner, 7), (.dropOwner, 4),
            (.replaceSet, 3), (.count, 6), (.isEmpty, 4), (.countBag, 3), (.isActive, 10), (.addDelegate, 8),
            (.listDelegates, 1), (.makeValues, 3), (.dropValues, 1), (.makeIterator, 3), (.dropIterator, 1),
            (.takeValues, 3), (.dropValues, 1), (.dropIterator, 1),
        ]
        let table = weights.flatMap { verb, weight in Array(repeating: verb, count: weight) }
        precondition(table.count == 256)
        return table
    }
}
