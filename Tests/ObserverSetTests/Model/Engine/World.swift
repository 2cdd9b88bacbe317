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

    init(routines: [[Operation]]) { self.routines = routines }

    /// Performs an operation, and all that observers and `deinit`s do in consequence.
    final func performOutside(_ operation: Operation) {
        fuel = Self.fuelLimit
        perform(operation)
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
        let place = operation.place
        switch operation.verb {
        case .add, .addToGroup: add(operation)
        case .addAwaiting, .addAwaitingToGroup: if Self.awaits { add(operation) }
        case .letOn: if !suspended.isEmpty { letOn(operation.back % suspended.count) }
        case .settle:
            guard Self.awaits else { break }
            settlesBegun += 1
            settle(place: place, settlesBegun)
        case .removeByToken, .removeBySet, .removeByForeignSet, .isActive, .countLost:
            // The registration that is that many back from the newest, modulo their number.
            if !homes.isEmpty { perform(operation.verb, with: homes.count - 1 - operation.back % homes.count) }
        case .removeAll: if !Place.isPublished(place) { removeAll(place: place) }
        case .removeAllOwned: removeAll(place: place, owner: operation.owner)
        case .replaceOwner: replaceOwner(operation.owner, by: operation)
        case .dropOwner: replaceOwner(operation.owner, by: nil)
        case .replaceSet: replace(place: place)
        case .notify: notifyUnlessTooDeep(operation)
        case .count: if !Place.isPublished(place) { count(place: place) }
        }
    }

    private func perform(_ verb: Operation.Verb, with registration: Int) {
        let home = homes[registration]
        switch verb {
        case .isActive: isActive(registration)
        case .countLost: if !Place.isLocal(home) { countLost(registration) }
        case .removeByToken: remove(registration, by: nil)
        case .removeBySet where !Place.isPublished(home): remove(registration, by: home)
        default: remove(registration, by: Place.foreign(to: home))
        }
    }

    private func notifyUnlessTooDeep(_ operation: Operation) {
        guard depth < Self.depthLimit else { return }
        depth += 1
        notification += 1
        notify(place: operation.place, form: operation.form, notification)
        depth -= 1
    }

    // MARK: What the worlds do in their own way

    func tell(_ event: Occurrence) { fatalError("abstract") }
    /// Adds an observer to a place or, if the operation says so, to a group.
    func add(_ operation: Operation) { fatalError("abstract") }
    /// Removes through that place or, if it is nil, by the token itself.
    func remove(_ registration: Int, by place: Int?) { fatalError("abstract") }
    func removeAll(place: Int) { fatalError("abstract") }
    func removeAll(place: Int, owner: Int) { fatalError("abstract") }
    /// Releases the owner, and puts one with that operation's programs in its place unless there is none.
    func replaceOwner(_ owner: Int, by successor: Operation?) { fatalError("abstract") }
    func replace(place: Int) { fatalError("abstract") }
    func notify(place: Int, form: Int, _ value: Int) { fatalError("abstract") }
    func count(place: Int) { fatalError("abstract") }
    func isActive(_ registration: Int) { fatalError("abstract") }
    /// Resumes the suspended call with that index; it continues when waiting values are delivered.
    func letOn(_ index: Int) { fatalError("abstract") }
    /// Begins to wait until that set is settled.
    func settle(place: Int, _ number: Int) { fatalError("abstract") }
    func countLost(_ registration: Int) { fatalError("abstract") }
    /// Makes the awaited calls, each of them up to where it is suspended until `letOn`.
    func deliver() { fatalError("abstract") }

    /// Releases all sources and owners.
    final func close() {
        for place in 0..<Place.count where !Place.isPublished(place) || place == Place.value { replace(place: place) }
        for owner in 0..<OperationGenerator.ownerCount { replaceOwner(owner, by: nil) }
    }
}
