import ObserverSet

/// The world of real sets, which tells what happens in `events`.
///
/// Used on one thread only. What could run a `deinit` that comes back here is never released inside an access to a
/// property.
final class TestedWorld: World, @unchecked Sendable {
    var events: [Occurrence] = []

    private let lifetimes: Lifetimes
    private var sets: [ObserverSet<Int>] = []
    private var owners: [WorldOwner?]
    private var ownersMade = 0
    private var tokens: [ObserverToken] = []
    /// Which of the sets issued each token, or one that stood in its place before.
    private var setOfToken: [Int] = []
    private var bags: [ObserverBag] = []

    init(programs: [[Operation]], lifetimes: Lifetimes) {
        self.lifetimes = lifetimes
        owners = Array(repeating: nil, count: OperationGenerator.ownerCount)
        for _ in 0..<OperationGenerator.setCount { sets.append(ObserverSet<Int>()) }
        for _ in 0..<OperationGenerator.bagCount { bags.append(ObserverBag()) }
        super.init(programs: programs)
    }

    override var registrationCount: Int { tokens.count }

    override func add(_ operation: Operation) {
        let set = sets[operation.set]
        if operation.kind == .method {
            register(operation, set.add(owner(for: operation), WorldOwner.receive))
        } else {
            add(operation, to: set) { $0 }
        }
    }

    override func addToGroup(_ operation: Operation) {
        let members = operation.members.sets(first: operation.set).map { sets[$0] }
        let group =
            operation.members == .nested
            ? ObserverGroup(members[0], ObserverGroup(members[1])) : ObserverGroup(members[0], members[1])
        if operation.kind == .method {
            register(operation, group.add(owner(for: operation), WorldOwner.receiveNothing))
        } else {
            add(operation, to: group) { 0 }
        }
    }

    /// Adds an observer that tells the number that it makes of what it is told.
    private func add<Source: NotificationSource>(
        _ operation: Operation, to source: Source, number: @escaping @Sendable (Source.Parameters) -> Int
    ) {
        let id = tokens.count
        if operation.kind.hasOwner {
            register(operation, addOwned(operation, id, to: source, owner(for: operation), number))
        } else {
            register(operation, addUnowned(operation, id, to: source, number))
        }
    }

    private func register(_ operation: Operation, _ token: ObserverToken) {
        tokens.append(token)
        setOfToken.append(operation.set)
    }

    private func owner(for operation: Operation) -> WorldOwner {
        owners[operation.owner] ?? makeOwner(in: operation.owner)
    }

    private func addUnowned<Source: NotificationSource>(
        _ operation: Operation, _ id: Int, to source: Source, _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        let farewell = operation.farewell
        let capture = Tracked(id, in: lifetimes) { [self] in
            tell(Occurrence(.captureDied, id, 0))
            run(farewell)
        }
        let program = operation.program
        return switch operation.kind {
        case .once: source.addOnce { [self] in called(capture, number($0), program) }
        case .nonisolated: source.addNonisolated { [self] in called(capture, number($0), program) }
        default: source.add { [self] in called(capture, number($0), program) }
        }
    }

    private func addOwned<Source: NotificationSource>(
        _ operation: Operation, _ id: Int, to source: Source, _ owner: WorldOwner,
        _ number: @escaping @Sendable (Source.Parameters) -> Int
    ) -> ObserverToken {
        // When the entry of a dead owner goes is not promised to the operation: so nobody is told.
        let capture = Tracked(id, in: lifetimes)
        let program = operation.program
        return switch operation.kind {
        case .onceOwner: source.addOnce(owner) { [self] in called(capture, $0, number($1), program) }
        case .nonisolatedOwner:
            source.addNonisolated(owner) { [self] in called(capture, $0, number($1), program) }
        default: source.add(owner) { [self] in called(capture, $0, number($1), program) }
        }
    }

    private func called(_ capture: Tracked, _ value: Int, _ program: Int) {
        tell(Occurrence(.called, capture.isIntact ? capture.value : -1, value))
        run(program)
    }

    private func called(_ capture: Tracked, _ owner: WorldOwner, _ value: Int, _ program: Int) {
        called(capture, owner.isIntact ? value : -1, program)
    }

    override func remove(_ registration: Int, by way: RemovalWay) {
        let token = tokens[registration]
        let itsSet = setOfToken[registration]
        let isRemoved =
            switch way {
            case .token: token.remove()
            case .itsSet: withSet(itsSet) { $0.remove(token) }
            case .anotherSet: withSet(1 - itsSet) { $0.remove(token) }
            }
        tell(Occurrence(.removed, registration, isRemoved))
    }

    override func removeAll(set: Int) {
        withSet(set) { $0.removeAll() }
    }

    override func removeAll(set: Int, owner: Int) {
        guard let loaded = owners[owner] else { return }
        tell(Occurrence(.removedOwned, loaded.id, withSet(set) { $0.removeAll(ownedBy: loaded) }))
    }

    override func replaceOwner(_ owner: Int, program: Int, farewell: Int) {
        let old = exchangeOwner(owner, with: newOwner(program: program, farewell: farewell))
        withExtendedLifetime(old) {}
    }

    override func dropOwner(_ owner: Int) {
        let old = exchangeOwner(owner, with: nil)
        withExtendedLifetime(old) {}
    }

    /// Returns the old one, so that it dies where nothing holds the new one but the array.
    private func exchangeOwner(_ owner: Int, with fresh: WorldOwner?) -> WorldOwner? {
        let old = owners[owner]
        owners[owner] = fresh
        return old
    }

    private func makeOwner(in place: Int) -> WorldOwner {
        let owner = newOwner(program: 0, farewell: 0)
        owners[place] = owner
        return owner
    }

    private func newOwner(program: Int, farewell: Int) -> WorldOwner {
        ownersMade += 1
        return WorldOwner(id: ownersMade, program: program, farewell: farewell, world: self, lifetimes: lifetimes)
    }

    override func replaceSet(_ set: Int) {
        let old = sets[set]
        withExtendedLifetime(old) { sets[set] = ObserverSet<Int>() }
    }

    override func notify(set: Int, _ value: Int) {
        withSet(set) { $0.notify(value) }
    }

    override func count(set: Int) {
        tell(Occurrence(.counted, set, sets[set].count))
    }

    override func isEmpty(set: Int) {
        tell(Occurrence(.isEmpty, set, sets[set].isEmpty))
    }

    override func isActive(_ registration: Int) {
        tell(Occurrence(.isActive, registration, tokens[registration].isActive))
    }

    /// Keeps the set alive for the length of the call, and no longer, whatever the build.
    private func withSet<Result>(_ set: Int, _ body: (ObserverSet<Int>) -> Result) -> Result {
        let set = sets[set]
        return withExtendedLifetime(set) { body(set) }
    }

    override func close() {
        for set in 0..<sets.count { replaceSet(set) }
        for owner in 0..<owners.count { dropOwner(owner) }
        for bag in 0..<bags.count { replaceBag(bag) }
    }

    // MARK: Bags

    override func store(_ registration: Int, in bag: Int) {
        let bag = bags[bag]
        tokens[registration].store(in: bag)
    }

    override func emptyBag(_ bag: Int) {
        let bag = bags[bag]
        withExtendedLifetime(bag) { bag.removeAll() }
    }

    override func replaceBag(_ bag: Int) {
        let old = bags[bag]
        withExtendedLifetime(old) { bags[bag] = ObserverBag() }
    }

    override func countBag(_ bag: Int) {
        let place = bag
        let bag = bags[place]
        tell(Occurrence(.bagCounted, place, withExtendedLifetime(bag) { bag.count }))
    }

    override func tell(_ event: Occurrence) {
        events.append(event)
    }
}

/// An owner, with a method that observes.
final class WorldOwner: Sendable {
    let id: Int
    private let program: Int
    private let world: TestedWorld
    private let body: Tracked

    init(id: Int, program: Int, farewell: Int, world: TestedWorld, lifetimes: Lifetimes) {
        self.id = id
        self.program = program
        self.world = world
        body = Tracked(id, in: lifetimes) {
            world.tell(Occurrence(.ownerDied, id, 0))
            world.run(farewell)
        }
    }

    var isIntact: Bool { body.isIntact }

    func receive(_ value: Int) {
        world.tell(Occurrence(.methodCalled, isIntact ? id : -1, value))
        world.run(program)
    }

    func receiveNothing() { receive(0) }
}
