/// Where observers are added: the sources of a world, by number.
enum Place {
    /// Two sets.
    static let sets = 0...1
    /// The sources of a publisher: events that are values, objects, objects of a subclass, and all.
    static let value = 2
    static let base = 3
    static let derived = 4
    static let all = 5
    /// Two local sets.
    static let local = 6
    static let otherLocal = 7

    static let count = 8

    /// Whether the place is a publisher's, which has no `count`, and removes no registration by its token.
    static func isPublished(_ place: Int) -> Bool { place >= value && place <= all }
    static func isLocal(_ place: Int) -> Bool { place >= local }

    /// A place that did not issue the tokens of the given place.
    static func foreign(to place: Int) -> Int {
        switch place {
        case 0: 1
        case local: otherLocal
        case otherLocal: local
        default: 0
        }
    }
}

/// One step of a random program.
///
/// Its numbers are resolved when it runs, by both worlds in the same way.
struct Operation: CustomStringConvertible, Equatable {
    enum Verb: CaseIterable {
        case add, removeByToken, removeBySet, removeByForeignSet, removeAll, removeAllOwned
        case replaceOwner, dropOwner, replaceSet, notify, count, isActive
        case addToGroup
        /// For observers that await: add one, resume a suspended call, wait until a source is settled, read how many
        /// values one has lost.
        case addAwaiting, addAwaitingToGroup, letOn, settle, countLost
    }

    /// The members of a group, relative to the set `first`.
    enum Members: CaseIterable {
        case both, bothReversed, sameTwice, nested, withEvents

        /// The places with which an observer of the group is registered, in order.
        func places(first: Int) -> [Int] {
            switch self {
            case .both, .nested: [first, 1 - first]
            case .bothReversed: [1 - first, first]
            case .sameTwice: [first, first]
            case .withEvents: [first, Place.value]
            }
        }
    }

    /// The kinds of observer: those called on the notifying thread, those of an actor, and those that await.
    enum Kind: CaseIterable {
        case closure, owner, method, nonisolated, nonisolatedOwner, once, onceOwner
        case actorOwner
        case awaited, awaitedOnActor, awaitedOwner, awaitedActorOwner

        static let synchronous = allCases.filter { $0 != .actorOwner && !$0.isAwaiting }
        /// One of an actor is as frequent as three others.
        static let hopping = synchronous + [.actorOwner, .actorOwner, .actorOwner]
        static let awaiting: [Kind] = [.awaited, .awaitedOnActor, .awaitedOwner, .awaitedActorOwner]

        var hasOwner: Bool {
            switch self {
            case .owner, .method, .nonisolatedOwner, .onceOwner, .actorOwner, .awaitedOwner, .awaitedActorOwner: true
            default: false
            }
        }
        var isOnce: Bool { self == .once || self == .onceOwner }
        var isAwaiting: Bool { Self.awaiting.contains(self) }
    }

    var verb: Verb
    var kind = Kind.closure
    /// Which of the world's places.
    var place = 0
    /// Which of the world's owners.
    var owner = 0
    /// How far back from the newest registration, modulo their number.
    var back = 0
    /// The programs that the new observer or owner runs when it is called, and when it or its capture is deallocated.
    var program = 0
    var farewell = 0
    /// How often an awaited call is suspended, and the program that it runs each time it is resumed.
    var suspensions = 0
    var sequel = 0
    /// For an observer of a group.
    var members: Members?
    /// Selects one of several ways to do the same: the type as which an event is published, how values are buffered
    /// (there are `bufferings` ways).
    var form = 0

    static let bufferings = 5

    /// Where the observer is added, in order.
    var places: [Int] { members?.places(first: place) ?? [place] }

    /// How many values may wait, and whether newer values replace older ones.
    var room: Int { form == 0 ? .max : form % 2 == 1 ? 1 : 3 }
    var keepsNewest: Bool { form <= 2 }

    /// The verb, and whatever is not as it is at first.
    var description: String {
        let plain = Mirror(reflecting: Operation(verb: verb)).children
        let special = zip(Mirror(reflecting: self).children, plain).filter { "\($0.value)" != "\($1.value)" }
        return special.reduce("\(verb)") { "\($0), \($1.0.label ?? "") \($1.0.value)" }
    }
}

/// Operations, and the programs that observers, owners and captures run; the first of these is empty.
struct ModelProgram {
    var routines: [[Operation]]
    var operations: [Operation] = []

    /// How many operations there are in all.
    var count: Int { routines.reduce(operations.count) { $0 + $1.count } }
}

extension ModelProgram: CustomStringConvertible {
    /// A line for each operation, and one for each program that there is.
    var description: String {
        let steps = operations.enumerated().map { "  \($0 + 1). \($1)" }
        let programs = routines.enumerated().filter { !$1.isEmpty }.map { index, routine in
            "  program \(index): " + routine.map(\.description).joined(separator: "; ")
        }
        return (steps + programs).joined(separator: "\n")
    }
}
