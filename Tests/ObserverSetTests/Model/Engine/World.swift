/// What the things under test and their model have in common: how programs run, and how far they may go.
///
/// Both worlds execute the same operations. Which registration or owner an operation means is decided when it runs, by
/// the same rule; so the worlds stay in step as long as they agree, and what they tell differs where they do not.
class World {
    /// Nested notifications deeper than this are left out.
    static let depthLimit = 4
    /// So many operations may run inside observers and `deinit`s for each one outside.
    static let fuelLimit = 12

    let routines: [[Operation]]
    private var fuel = 0
    private var depth = 0
    /// Whether what dies runs no programs.
    private var isSilent = false
    /// The number of the notification, as observers are told it.
    private var notification = 0
    /// How many operations have begun, and which of them is the innermost that is under way.
    private var operationsBegun = 0
    private(set) final var innermost = 0
    /// Where each registration was made that there ever was.
    final var homes: [Int] = []
    /// The registrations whose call is suspended until it is let on, in the order in which they came to that.
    final var suspended: [Int] = []
    /// How often somebody has begun to wait for a source to be settled.
    private var settlesBegun = 0

    /// Whether there are observers that await: their tasks must run here, and those that wait begin at once.
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
        // What the test asks and does between operations runs no programs.
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

    /// Lets something die of which the contract leaves open in which order its parts do.
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
        // Whether it would wait is known only outside.
        case .takeValues: break
        case .countDropped: countDropped(operation.slot)
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
        // The tokens of local sets go into no bag.
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

    /// The index of the registration that is so many back from the newest, and never before the oldest.
    private func newest(_ back: Int) -> Int {
        homes.count - 1 - back % homes.count
    }

    private enum RemovalWay { case token, itsSet, anotherSet }

    // MARK: What the worlds do in their own way

    func tell(_ event: Occurrence) { fatalError("abstract") }
    func add(_ operation: Operation) { fatalError("abstract") }
    /// Removes by that place, or by the token itself.
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
    func countDropped(_ slot: Int) { fatalError("abstract") }
    /// Lets the call go on that is there among the suspended, when what is waiting is delivered.
    func letOn(_ index: Int) { fatalError("abstract") }
    /// Begins to wait until that set is settled, or both if it is none.
    func settle(place: Int, _ number: Int) { fatalError("abstract") }
    func countLost(_ registration: Int) { fatalError("abstract") }
    /// Makes the calls that are awaited, as far as each comes without being let on.
    func deliver() { fatalError("abstract") }

    /// Ends everything.
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

/// What waits in an iterator, so that it is known for how many elements it need not be waited.
struct WaitingValues {
    var count: Int
    var isFinished: Bool
}
