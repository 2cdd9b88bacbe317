/// Where observers are added: the sources of a world, by number.
enum Place {
    /// Two sets.
    static let sets = 0...1
    /// The sources of a publisher: events that are values, objects, objects of a subclass, and all.
    static let value = 2
    static let base = 3
    static let derived = 4
    static let all = 5
    /// A notification name of a `NotificationCenter`.
    static let bridge = 6
    /// Two local sets.
    static let local = 7
    static let otherLocal = 8
    /// The delegates of a `MulticastDelegate`, which are added by a separate operation.
    static let delegates = 9

    static let count = 10

    static func isPublished(_ place: Int) -> Bool { place >= value && place <= all }
    static func isLocal(_ place: Int) -> Bool { place == local || place == otherLocal }
    /// Whether the place has a `count`.
    static func isCounted(_ place: Int) -> Bool { place <= 1 || place >= local }
    /// Whether the place can remove a registration, given its token.
    static func removesTokens(_ place: Int) -> Bool { place <= 1 || place >= local }

    /// A place that did not issue the tokens of the given place.
    static func foreign(to place: Int) -> Int {
        switch place {
        case 0: 1
        case local: otherLocal
        case otherLocal: local
        default: 0
        }
    }

    static func description(_ place: Int) -> String {
        switch place {
        case 0, 1: "set \(place)"
        case value: "the publisher's values"
        case base: "the publisher's objects"
        case derived: "the publisher's objects of a subclass"
        case all: "all events"
        case bridge: "the center"
        case delegates: "the delegates"
        default: "local set \(place - local)"
        }
    }
}

/// One step of a random program.
///
/// Its numbers are resolved when it runs, by both worlds in the same way.
struct Operation: CustomStringConvertible, Equatable {
    enum Verb: CaseIterable {
        case add, removeByToken, removeBySet, removeByForeignSet, removeAll, removeAllOwned
        case replaceOwner, dropOwner, replaceSet, notify, count, isEmpty, isActive
        case addToGroup, store, emptyBag, replaceBag, countBag
        case addDelegate, listDelegates
        case makeValues, dropValues, makeIterator, dropIterator, takeValues
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
    enum Kind {
        case closure, owner, method, nonisolated, nonisolatedOwner, once, onceOwner
        case actorOwner
        case awaited, awaitedOnActor, awaitedOwner, awaitedActorOwner

        static let synchronous: [Kind] = [
            .closure, .owner, .method, .nonisolated, .nonisolatedOwner, .once, .onceOwner,
        ]
        static let ofAnActor: [Kind] = [.actorOwner, .actorOwner, .actorOwner]
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
    /// Which of the world's bags, or of its sequences.
    var slot = 0
    var members = Members.both
    /// Selects one of several ways to do the same: the type as which an event is published, whether delegates throw, how
    /// values are buffered (there are `bufferings` ways).
    var form = 0

    static let bufferings = 5

    /// How many values may wait, and whether newer values replace older ones.
    var room: Int { form == 0 ? .max : form % 2 == 1 ? 1 : 3 }
    var keepsNewest: Bool { form <= 2 }

    var description: String {
        let place = Place.description(place)
        return switch verb {
        case .add, .addAwaiting: "add \(observer) to \(place)"
        case .addToGroup, .addAwaitingToGroup: "add \(observer) to a group (\(members)) of \(place) first"
        case .store: "store the registration \(back) back in bag \(slot)"
        case .emptyBag, .replaceBag, .countBag, .dropValues, .makeIterator, .dropIterator:
            "\(verb) \(slot)"
        case .takeValues: "\(verb) \(slot), at most \(back % 4 + 1)"
        case .makeValues: "\(verb) \(slot), form \(form), of \(place)"
        case .removeByToken, .removeBySet, .removeByForeignSet, .isActive, .countLost:
            "\(verb) of the registration \(back) back"
        case .removeAll, .count, .isEmpty, .replaceSet: "\(verb): \(place)"
        case .notify: "\(verb), form \(form): \(place)"
        case .removeAllOwned: "\(verb), owner \(owner): \(place)"
        case .dropOwner, .addDelegate: "\(verb) \(owner)"
        case .listDelegates: "\(verb)"
        case .letOn: "let the one on that is number \(back) of the suspended"
        case .settle: "settle \(self.place < 2 ? place : "a group of both sets")"
        case .replaceOwner: "\(verb) \(owner), program \(program), farewell \(farewell)"
        }
    }

    private var observer: String {
        let awaiting = kind.isAwaiting ? ", form \(form), suspended \(suspensions) times, sequel \(sequel)" : ""
        return
            (kind.hasOwner
            ? "\(kind) of owner \(owner), program \(program)"
            : "\(kind), program \(program), farewell \(farewell)")
            + awaiting
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
