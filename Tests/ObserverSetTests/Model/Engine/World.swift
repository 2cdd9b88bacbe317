/// What the tested world and its model have in common: how programs run, and how far they may go.
///
/// Both worlds execute the same operations. To which token, owner or stream an operation refers is decided when it runs, by
/// the same rule. So the worlds stay in step as long as they agree, and their reports differ where they do not.
class World {
    /// Notifications that would nest deeper than this are skipped.
    static let depthLimit = 4
    /// The number of operations that may run inside user code for each operation outside.
    static let fuelLimit = 12

    let routines: [[Operation]]
    let valuesCarryCargo: Bool
    private var fuel = 0
    private var depth = 0
    /// Whether user code runs no programs at the moment.
    private(set) final var isSilent = false
    /// The number of the latest value, with which observers are called.
    private var valuesMade = 0
    /// How many operations have begun, and which of them is the innermost that is under way.
    private var operationsBegun = 0
    private(set) final var innermost = 0
    private var outermost = 0
    /// How many observers have been made, and how many tokens there are.
    private var observersMade = 0
    final var tokenCount = 0
    /// The observers whose call is suspended until `letOn`, in the order in which the calls were suspended.
    final var suspended: [Int] = []
    /// The streams that have not been released, and those for which a task waits.
    final var streams: [Int] = []
    final var reading: Set<Int> = []
    /// How many sources have observers that they will register later.
    final var keptCount = 0
    /// Whether an observer has been added on the queue.
    final var usesQueue = false
    /// How many waits have begun.
    private var waitsBegun = 0

    /// Whether there are observers whose tasks must run on this thread.
    ///
    /// Tasks that wait must begin at once, too.
    static let awaits: Bool = {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return false }
        return JobQueue.isAvailable
    }()

    init(_ program: ModelProgram) {
        routines = program.routines
        valuesCarryCargo = program.valuesCarryCargo
    }

    /// Whether an observer's pending values may carry cargo.
    ///
    /// When the values for a dead owner are dropped is not promised.
    final func receivesCargo(_ kind: Operation.Kind) -> Bool {
        switch kind {
        case .queueOwner, .awaitedOwner, .awaitedActorOwner: !valuesCarryCargo
        default: true
        }
    }

    /// Performs an operation, and all that user code does in consequence.
    final func performOutside(_ operation: Operation) {
        fuel = Self.fuelLimit
        outermost = operationsBegun + 1
        perform(operation)
        // What the test itself does between operations runs no programs.
        fuel = 0
    }

    /// Runs a program inside user code.
    final func run(_ program: Int) {
        guard program != 0, fuel > 0, !isSilent, program < routines.count else { return }
        let routine = routines[program]
        var step = 0
        while step < routine.count, fuel > 0 {
            fuel -= 1
            tell(Occurrence(.began, program, step))
            perform(routine[step])
            step += 1
        }
    }

    /// Runs `body`, in which user code is called in an order that the contract leaves open.
    ///
    /// It isn't inlined, so that the optimizer releases nothing before.
    @inline(never)
    final func silently(_ body: () -> Void) {
        let before = isSilent
        isSilent = true
        body()
        isSilent = before
    }

    /// Whether an operation inside user code is under way.
    final var isInside: Bool { innermost != 0 && innermost != outermost }

    /// An observer's call, which says whether it is made by an operation inside user code.
    final func callEvent(_ observer: Int, _ value: Int) -> Occurrence {
        Occurrence(isInside ? .calledInside : .called, observer, value)
    }

    final func newObserver() -> Int {
        observersMade += 1
        return observersMade
    }

    final func newValue() -> Int {
        valuesMade += 1
        return valuesMade
    }

    private func perform(_ operation: Operation) {
        let outer = innermost
        operationsBegun += 1
        innermost = operationsBegun
        defer {
            followUnpromised()
            innermost = outer
        }
        let place = operation.place
        switch operation.verb {
        case .add:
            var operation = operation
            // When a producer hears that its observers' owners are dead is not promised.
            if operation.kind.hasOwner { operation.tree = operation.tree.withoutProducer }
            if operation.kind.isOnQueue { usesQueue = true }
            add(operation)
        case .registerLater: if keptCount > 0 { registerLater(operation.back % keptCount) }
        case .notify: notify(operation)
        case .removeAll: if Place.isSet(place) { removeAll(place: place) }
        case .removeAllOwned:
            if !Place.isPosted(place), place != Place.delegates { removeAll(place: place, owner: operation.owner) }
        case .replaceOwner: replaceOwner(operation.owner, by: operation)
        case .dropOwner: replaceOwner(operation.owner, by: nil)
        case .replaceSender: replaceSender(operation.owner)
        case .replace: replace(place: place)
        case .count: count(place)
        case .describe: describe(place)
        case .emptyBag: emptyBag(operation.owner)
        case .endBag: endBag(operation.owner)
        // Tasks run only where no other task does.
        case .deliver: if !isInside { deliver(operation) }
        case .letQueueRun: if !isInside, usesQueue { letQueueRun() }
        case .letOn: if !suspended.isEmpty { letOn(operation.back % suspended.count) }
        case .settle: if Self.awaits { settle(operation.tree, newWait()) }
        case .read, .cancelReading, .dropStream: performOnStream(operation)
        default: performOnToken(operation)
        }
    }

    private func newWait() -> Int {
        waitsBegun += 1
        return waitsBegun
    }

    /// Performs an operation on the token that is that many back from the newest, modulo their number.
    private func performOnToken(_ operation: Operation) {
        guard tokenCount > 0 else { return }
        let token = self.token(operation.back)
        switch operation.verb {
        case .remove: if !isUndecided(token) { remove(token, by: nil) }
        case .removeBySet: if Place.isSet(operation.place), !isUndecided(token) { remove(token, by: operation.place) }
        case .removeAndWait: if Self.awaits, !isLocal(token) { removeAndWait(token, newWait()) }
        case .isActive: if !isUndecided(token) { isActive(token) }
        case .ask: if !isLocal(token) { ask(token) }
        case .combine:
            let other = self.token(operation.place)
            if !isLocal(token), !isLocal(other) { combine(token, other) }
        case .store:
            // One token, or enough of them to fill a bag.
            let chosen = (0..<(operation.form == 0 ? 1 : min(20, tokenCount))).map { self.token(operation.back + $0) }
            for token in chosen where !isLocal(token) { store(token, operation.owner) }
        default: fatalError("\(operation.verb)")
        }
    }

    private func token(_ back: Int) -> Int { tokenCount - 1 - back % tokenCount }

    private func performOnStream(_ operation: Operation) {
        guard !streams.isEmpty else { return }
        let stream = streams[streams.count - 1 - operation.back % streams.count]
        let isReading = reading.contains(stream)
        switch operation.verb {
        case .read:
            guard !isReading else { break }
            reading.insert(stream)
            read(stream)
        case .cancelReading: if isReading { cancelReading(stream) }
        default:
            guard !isReading else { break }
            streams.removeAll { $0 == stream }
            dropStream(stream)
        }
    }

    private func notify(_ operation: Operation) {
        guard depth < Self.depthLimit else { return }
        depth += 1
        notify(operation, newValue())
        depth -= 1
    }

    // MARK: What the worlds do in their own way

    /// Is called at the end of each operation, for what may happen at any time.
    func followUnpromised() {}
    func tell(_ event: Occurrence) { fatalError("abstract") }
    func add(_ operation: Operation) { fatalError("abstract") }
    func registerLater(_ index: Int) { fatalError("abstract") }
    func combine(_ first: Int, _ second: Int) { fatalError("abstract") }
    /// Whether it is the token of a local set or of a multicast.
    func isLocal(_ token: Int) -> Bool { fatalError("abstract") }
    /// Whether it is the token of a delegate that has been deallocated, which the multicast may not have noticed.
    func isUndecided(_ token: Int) -> Bool { fatalError("abstract") }
    /// Removes through that place or, if it is nil, by the token itself.
    func remove(_ token: Int, by place: Int?) { fatalError("abstract") }
    func removeAndWait(_ token: Int, _ wait: Int) { fatalError("abstract") }
    func removeAll(place: Int) { fatalError("abstract") }
    func removeAll(place: Int, owner: Int) { fatalError("abstract") }
    func store(_ token: Int, _ bag: Int) { fatalError("abstract") }
    func emptyBag(_ bag: Int) { fatalError("abstract") }
    func endBag(_ bag: Int) { fatalError("abstract") }
    /// Releases the owner, and puts one with that operation's programs in its place unless there is none.
    func replaceOwner(_ owner: Int, by successor: Operation?) { fatalError("abstract") }
    func replaceSender(_ sender: Int) { fatalError("abstract") }
    /// Releases the set, publisher, center or multicast that has that place, and puts a new one in its place.
    func replace(place: Int) { fatalError("abstract") }
    func notify(_ operation: Operation, _ value: Int) { fatalError("abstract") }
    func count(_ place: Int) { fatalError("abstract") }
    func describe(_ place: Int) { fatalError("abstract") }
    func isActive(_ token: Int) { fatalError("abstract") }
    /// Asks how many values are pending, and how many have been dropped.
    func ask(_ token: Int) { fatalError("abstract") }
    /// Runs all tasks.
    func deliver(_ operation: Operation) { fatalError("abstract") }
    /// Resumes the suspended call with that index; it continues when tasks run.
    func letOn(_ index: Int) { fatalError("abstract") }
    func letQueueRun() { fatalError("abstract") }
    /// Begins to wait until that source is settled.
    func settle(_ tree: Tree, _ wait: Int) { fatalError("abstract") }
    func read(_ stream: Int) { fatalError("abstract") }
    func cancelReading(_ stream: Int) { fatalError("abstract") }
    func dropStream(_ stream: Int) { fatalError("abstract") }

    // MARK: The end

    /// Releases all sources, bags and owners.
    final func close() {
        for place in 0..<Place.count where !Place.isPublished(place) && place != Place.bridged || place == Place.value {
            replace(place: place)
        }
        for bag in 0..<ProgramGenerator.bagCount { endBag(bag) }
        while keptCount > 0 { registerLater(0) }
        for place in Place.sets { replace(place: place) }
        for owner in 0..<ProgramGenerator.ownerCount { replaceOwner(owner, by: nil) }
        for sender in 0..<ProgramGenerator.senderCount { replaceSender(sender) }
        for stream in streams where !reading.contains(stream) { dropStream(stream) }
        streams = []
    }
}
