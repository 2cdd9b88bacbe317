import ObserverSet

/// What can be notified: the containers of a world, by number.
enum Place {
    /// Three sets; the last one has a producer.
    static let sets = 0...2
    static let produced = 2
    /// A publisher's events that are values, objects, objects of a subclass, and those that only observers of all events
    /// receive.
    static let value = 3
    static let base = 4
    static let derived = 5
    static let all = 6
    /// A center's posts under a name, and those of a bridged event.
    static let named = 7
    static let bridged = 8
    /// Two local sets, and a multicast delegate.
    static let locals = 9...10
    static let delegates = 11

    static let count = 12

    static func isPublished(_ place: Int) -> Bool { value <= place && place <= all }
    static func isPosted(_ place: Int) -> Bool { place == named || place == bridged }
    /// Whether a place has `count`, and removes registrations itself.
    static func isSet(_ place: Int) -> Bool { sets.contains(place) || locals.contains(place) || place == delegates }
}

/// A source: a tree whose leaves are places.
///
/// Where a case has two numbers, the last one is the program that the source's function runs, or that runs when the first
/// value's cargo is deallocated.
indirect enum Tree: Equatable, Sendable {
    case leaf(Int)
    /// The posts of a center that come from that sender.
    case posts(Int, sender: Int)
    case map(Tree, Int)
    case compactMap(Tree, Int)
    case filter(Tree, Int)
    case merge([Tree], Fold)
    case group([Tree])
    case once(Tree)
    case starting(Tree, Int)
    /// Sources of the client's own: one that adapts, one that registers each observer twice, one that registers it only
    /// later, and one that registers nothing.
    case adapted(Tree)
    case twice(Tree)
    case late(Tree)
    case nothing

    /// How a merged source is made: with an array, or one member after the other, from either side.
    enum Fold: CaseIterable { case array, left, right }

    var children: [Tree] {
        switch self {
        case .leaf, .posts, .nothing: []
        case .map(let tree, _), .compactMap(let tree, _), .filter(let tree, _), .once(let tree), .starting(let tree, _),
            .adapted(let tree), .twice(let tree), .late(let tree):
            [tree]
        case .merge(let trees, _), .group(let trees): trees
        }
    }

    /// The same node with other children.
    func with(_ children: [Tree]) -> Tree {
        switch self {
        case .leaf, .posts, .nothing: self
        case .map(_, let program): .map(children[0], program)
        case .compactMap(_, let program): .compactMap(children[0], program)
        case .filter(_, let program): .filter(children[0], program)
        case .once: .once(children[0])
        case .starting(_, let program): .starting(children[0], program)
        case .adapted: .adapted(children[0])
        case .twice: .twice(children[0])
        case .late: .late(children[0])
        case .merge(_, let fold): .merge(children, fold)
        case .group: .group(children)
        }
    }

    /// The places at the leaves, in order.
    var places: [Int] {
        switch self {
        case .leaf(let place), .posts(let place, _): [place]
        default: children.flatMap(\.places)
        }
    }

    /// The tree with another set in place of the one that has a producer.
    var withoutProducer: Tree { self == .leaf(Place.produced) ? .leaf(0) : with(children.map(\.withoutProducer)) }

    /// Whether an observer may be registered later.
    var isLate: Bool { if case .late = self { true } else { children.contains(where: \.isLate) } }

    /// The trees that are one step simpler.
    var simpler: [Tree] {
        let children = children
        var simpler = children
        switch self {
        case .leaf(let place) where place > 0: simpler = [.leaf(0)]
        case .posts(let place, _): simpler = [.leaf(place)]
        case .map(let tree, let program) where program > 0: simpler.append(.map(tree, 0))
        case .compactMap(let tree, let program): simpler.append(.map(tree, program))
        case .filter(let tree, let program): simpler.append(.map(tree, program))
        case .starting(let tree, let program) where program > 0: simpler.append(.starting(tree, 0))
        case .merge(let trees, let fold) where fold != .array: simpler.append(.merge(trees, .array))
        default: break
        }
        let mayLoseChildren =
            switch self {
            case .group: true;
            case .merge: children.count > 1;
            default: false
            }
        for index in children.indices {
            var fewer = children
            fewer.remove(at: index)
            if mayLoseChildren { simpler.append(with(fewer)) }
            for child in children[index].simpler {
                var changed = children
                changed[index] = child
                simpler.append(with(changed))
            }
        }
        return simpler
    }
}

/// One step of a random program.
///
/// Its numbers are resolved when it runs, by both worlds in the same way.
struct Operation: Equatable, Sendable {
    enum Verb: CaseIterable {
        case add, registerLater, combine
        case remove, removeBySet, removeAll, removeAllOwned, removeAndWait
        case store, emptyBag, endBag
        case replaceOwner, dropOwner, replaceSender, replace
        case notify
        case isActive, ask, count, describe
        /// Runs tasks; resumes a suspended call; lets the blocks on the queue run.
        case deliver, letOn, letQueueRun
        case settle
        /// Begins to wait for an element; cancels the task that does; releases a stream.
        case read, cancelReading, dropStream
    }

    /// The kinds of observer: those called in place, on a queue, on an actor, those that await, and streams.
    enum Kind: CaseIterable {
        case closure, owner, method, nonisolated, nonisolatedOwner
        case queue, queueOwner
        case onActor, actorOwner
        case awaited, awaitedOnActor, awaitedOwner, awaitedActorOwner
        case stream

        var hasOwner: Bool {
            switch self {
            case .owner, .method, .nonisolatedOwner, .queueOwner, .actorOwner, .awaitedOwner, .awaitedActorOwner: true
            default: false
            }
        }
        var isInPlace: Bool {
            switch self {
            case .closure, .owner, .method, .nonisolated, .nonisolatedOwner: true
            default: false
            }
        }
        var isOnQueue: Bool { self == .queue || self == .queueOwner }
        var isOfActor: Bool { self == .onActor || self == .actorOwner }
        var isAwaiting: Bool {
            switch self {
            case .awaited, .awaitedOnActor, .awaitedOwner, .awaitedActorOwner: true
            default: false
            }
        }
    }

    var verb: Verb
    var kind = Kind.closure
    /// The source to which an observer is added, or that is waited for.
    var tree = Tree.leaf(0)
    /// Which of the world's places.
    var place = 0
    /// Which of the world's owners, senders or bags.
    var owner = 0
    /// How far back from the newest token, stream or suspended call, modulo their number.
    var back = 0
    /// The programs that the new observer or owner runs when it is called, and when it, its capture or the value's cargo is
    /// deallocated.
    var program = 0
    var farewell = 0
    /// How often an awaited call is suspended, and the program that it runs each time it is resumed.
    var suspensions = 0
    var sequel = 0
    /// Selects one of several ways to do the same: how values are buffered, the type as which an event is published, how many
    /// tokens are stored, the order in which tasks run.
    var form = 0

    static let bufferings: [Buffering] = [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3), .latest]
    var buffering: Buffering { Self.bufferings[form % Self.bufferings.count] }
}

extension Buffering {
    var keepsOldest: Bool { if case .oldest = self { true } else { false } }
    var room: Int? {
        switch self {
        case .unbounded: nil
        case .newest(let room), .oldest(let room): room
        case .latest: 1
        }
    }
}

/// Operations, and the programs that observers, owners, captures, cargo and functions run; the first of these is empty.
struct ModelProgram: Sendable {
    var routines: [[Operation]] = [[]]
    var operations: [Operation]
    var valuesCarryCargo = true

    /// How many operations there are in all.
    var count: Int { routines.reduce(operations.count) { $0 + $1.count } }
}

// MARK: - Swift

extension Operation: CustomStringConvertible {
    /// An expression that makes the operation: the verb, and whatever is not as it is at first.
    var description: String {
        let plain = Mirror(reflecting: Operation(verb: verb)).children
        let special = zip(Mirror(reflecting: self).children, plain).filter { "\($0.value)" != "\($1.value)" }
        let arguments = special.map { child, _ in
            let value = String(reflecting: child.value)
            return ", \(child.label!): \(value.replacing("ObserverSetTests.", with: ""))"
        }
        return "Operation(verb: .\(verb)\(arguments.joined()))"
    }
}

extension ModelProgram: CustomStringConvertible {
    /// A test that performs the program.
    var description: String {
        func list(_ operations: [Operation], _ indentation: String) -> String {
            operations.map { "\(indentation)\($0),\n" }.joined()
        }
        let last = routines.lastIndex { !$0.isEmpty } ?? 0
        let programs = routines[...last].map {
            $0.isEmpty ? "            [],\n" : "            [\n\(list($0, "                "))            ],\n"
        }
        return """
            @Test("A program that diverged")
            func programAgrees() {
                let program = ModelProgram(
                    routines: [
            \(programs.joined())        ],
                    operations: [
            \(list(operations, "            "))        ],
                    valuesCarryCargo: \(valuesCarryCargo))
                #expect(ModelRound.firstDivergence(of: program)?.description == nil)
            }
            """
    }
}
