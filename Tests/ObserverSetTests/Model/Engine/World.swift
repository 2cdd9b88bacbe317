/// What the tested world and its model have in common: how programs run, and how far they may go.
///
/// Both worlds execute the same operations. To which registration or owner an operation refers is decided when it runs,
/// by the same rule. So the worlds stay in step as long as they agree, and their reports differ where they do not.
class World {
    /// Notifications that would nest deeper than this are skipped.
    static let depthLimit = 4
    /// The number of operations that may run inside observers and `deinit`s for each operation outside.
    static let fuelLimit = 12

    let routines: [[Operation]]
    private var fuel = 0
    private var depth = 0
    /// Whether objects that are deallocated run no programs at the moment.
    private var isSilent = false
    /// The number of the latest notification, which observers receive as its value.
    private var notification = 0
    /// How many operations have begun, and which of them is the innermost that is under way.
    private var operationsBegun = 0
    private(set) final var innermost = 0
    /// The place of each registration that was ever made.
    final var homes: [Int] = []
    /// The registrations whose call is suspended until `letOn`, in the order in which the calls were suspended.
    final var suspended: [Int] = []
    /// How many waits for a source to be settled have begun.
    private var settlesBegun = 0

    /// Whether there are observers that await.
    ///
    /// Their tasks must run on this thread, and tasks that wait for `settled()` must begin at once.
    static let awaits: Bool = {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return false }
        return JobQueue.isAvailable
    }()

    init(routines: [[Operation]]) {
        self.routines = routines
    }

    /// Performs an operation, and all that observers and `deinit`s do in consequence.
    final func performOutside(_ operation: Operation, waiting: WaitingValues?) {
        fuel = Self.fuelLimit
        if operation.verb == .takeValues {
            if let waiting { take(operation, waiting) }
        } else {
            perform(operation)
        }
        deliver()
        // What the test itself does between operations runs no programs.
        fuel = 0
    }

    /// Runs a program inside an observer or a `deinit`.
    final func run(_ program: Int) {
        guard program != 0, fuel > 0, !isSilent else { return }
        let routine = routines[program % routines.count]
        var step = 0
        while step < routine.count, fuel > 0 {
            fuel -= 1
            tell(Occurrence(.began, program, step))
            perform(routine[step])
            step += 1
        }
    }

    /// Runs `body`, which releases something whose parts are deallocated in an order that the contract leaves open.
    final func silently(_ body: () -> Void) {
        let before = isSilent
        isSilent = true
        body()
        isSilent = before
    }

    private func perform(_ operation: Operation) {
        let outer = innermost
        operationsBegun += 1
        innermost = operationsBegun
        defer { innermost = outer }
        switch operation.verb {
        case .add: add(operation)
        case .addAwaiting: if Self.awaits { add(operation) }
        case .addAwaitingToGroup: if Self.awaits { addToGroup(operation) }
        case .letOn: if !suspended.isEmpty { letOn(operation.back % suspended.count) }
        case .settle: if Self.awaits { settle(operation.place) }
        case .countLost: countLost(operation)
        case .removeByToken: remove(operation, by: .token)
        case .removeBySet: remove(operation, by: .itsSet)
        case .removeByForeignSet: remove(operation, by: .anotherSet)
        case .removeAll: if Place.isCounted(operation.place) { removeAll(place: operation.place) }
        case .removeAllOwned: removeAll(place: operation.place, owner: operation.owner)
        case .replaceOwner: replaceOwner(operation.owner, program: operation.program, farewell: operation.farewell)
        case .dropOwner: dropOwner(operation.owner)
        case .replaceSet: replace(place: operation.place)
        case .notify: notifyUnlessTooDeep(operation)
        case .count: if Place.isCounted(operation.place) { count(place: operation.place) }
        case .isEmpty: if Place.isCounted(operation.place) { isEmpty(place: operation.place) }
        case .isActive: if !homes.isEmpty { isActive(newest(operation.back)) }
        case .addToGroup: addToGroup(operation)
        case .store: store(operation)
        case .emptyBag: emptyBag(operation.slot)
        case .replaceBag: replaceBag(operation.slot)
        case .countBag: countBag(operation.slot)
        case .addDelegate: addDelegate(operation)
        case .listDelegates: listDelegates()
        case .makeValues: makeValues(operation)
        case .dropValues: dropValues(operation.slot)
        case .makeIterator: makeIterator(operation.slot)
        case .dropIterator: dropIterator(operation.slot)
        // Whether taking a value would wait is known only outside of observers.
        case .takeValues: break
        }
    }

    private func notifyUnlessTooDeep(_ operation: Operation) {
        guard depth < Self.depthLimit else { return }
        depth += 1
        notification += 1
        notify(place: operation.place, form: operation.form, notification)
        depth -= 1
    }

    private func remove(_ operation: Operation, by way: RemovalWay) {
        guard !homes.isEmpty else { return }
        let registration = newest(operation.back)
        let home = homes[registration]
        switch way {
        case .itsSet where Place.removesTokens(home): remove(registration, by: home, isItsOwn: true)
        case .token: remove(registration, by: nil, isItsOwn: true)
        default: remove(registration, by: Place.foreign(to: home), isItsOwn: false)
        }
    }

    private func store(_ operation: Operation) {
        guard !homes.isEmpty else { return }
        let registration = newest(operation.back)
        // A bag does not store the tokens of local sets.
        if !Place.isLocal(homes[registration]) { store(registration, in: operation.slot) }
    }

    private func settle(_ place: Int) {
        settlesBegun += 1
        settle(place: place, settlesBegun)
    }

    private func countLost(_ operation: Operation) {
        guard !homes.isEmpty else { return }
        let registration = newest(operation.back)
        if !Place.isLocal(homes[registration]) { countLost(registration) }
    }

    private func take(_ operation: Operation, _ waiting: WaitingValues) {
        let count = min(operation.back % 4 + 1, waiting.count)
        take(slot: operation.slot, count: count, isEnd: waiting.isFinished && count == waiting.count)
    }

    /// The index of the registration that is that many back from the newest, modulo their number.
    private func newest(_ back: Int) -> Int {
        homes.count - 1 - back % homes.count
    }

    private enum RemovalWay { case token, itsSet, anotherSet }

    // MARK: What the worlds do in their own way

    func tell(_ event: Occurrence) { fatalError("abstract") }
    func add(_ operation: Operation) { fatalError("abstract") }
    /// Removes through that place or, if it is nil, by the token itself.
    func remove(_ registration: Int, by place: Int?, isItsOwn: Bool) { fatalError("abstract") }
    func removeAll(place: Int) { fatalError("abstract") }
    func removeAll(place: Int, owner: Int) { fatalError("abstract") }
    func replaceOwner(_ owner: Int, program: Int, farewell: Int) { fatalError("abstract") }
    func dropOwner(_ owner: Int) { fatalError("abstract") }
    func replace(place: Int) { fatalError("abstract") }
    func notify(place: Int, form: Int, _ value: Int) { fatalError("abstract") }
    func count(place: Int) { fatalError("abstract") }
    func isEmpty(place: Int) { fatalError("abstract") }
    func isActive(_ registration: Int) { fatalError("abstract") }
    func addToGroup(_ operation: Operation) { fatalError("abstract") }
    func store(_ registration: Int, in bag: Int) { fatalError("abstract") }
    func emptyBag(_ bag: Int) { fatalError("abstract") }
    func replaceBag(_ bag: Int) { fatalError("abstract") }
    func countBag(_ bag: Int) { fatalError("abstract") }
    func addDelegate(_ operation: Operation) { fatalError("abstract") }
    func listDelegates() { fatalError("abstract") }
    func makeValues(_ operation: Operation) { fatalError("abstract") }
    func dropValues(_ slot: Int) { fatalError("abstract") }
    func makeIterator(_ slot: Int) { fatalError("abstract") }
    func dropIterator(_ slot: Int) { fatalError("abstract") }
    func take(slot: Int, count: Int, isEnd: Bool) { fatalError("abstract") }
    /// Resumes the suspended call with that index; it continues when waiting values are delivered.
    func letOn(_ index: Int) { fatalError("abstract") }
    /// Begins to wait until that set is settled; if the place is not a set, until both sets are.
    func settle(place: Int, _ number: Int) { fatalError("abstract") }
    func countLost(_ registration: Int) { fatalError("abstract") }
    /// Makes the awaited calls, each of them up to where it is suspended until `letOn`.
    func deliver() { fatalError("abstract") }

    /// Releases all sources, owners, bags and sequences.
    final func close() {
        for place in 0..<Place.count where !Place.isPublished(place) || place == Place.value { replace(place: place) }
        for owner in 0..<OperationGenerator.ownerCount { dropOwner(owner) }
        for slot in 0..<OperationGenerator.slotCount {
            replaceBag(slot)
            dropIterator(slot)
            dropValues(slot)
        }
    }
}

/// What waits in an iterator, so that it is known how many elements can be taken without waiting.
struct WaitingValues {
    var count: Int
    var isFinished: Bool
}
