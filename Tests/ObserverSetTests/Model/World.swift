/// What the set under test and its model have in common: how programs run, and how far they may go.
///
/// Both worlds execute the same operations. Which registration or owner an operation means is decided when it runs, by
/// the same rule; so the worlds stay in step as long as they agree, and what they tell differs where they do not.
class World {
    /// Nested notifications deeper than this are left out.
    static let depthLimit = 4
    /// So many operations may run inside observers and `deinit`s for each one outside.
    static let fuelLimit = 12

    let programs: [[Operation]]
    private(set) var fuel = 0
    private(set) var depth = 0
    /// The number of the notification, as observers are told it.
    private var notification = 0

    init(programs: [[Operation]]) {
        self.programs = programs
    }

    /// Performs an operation, and all that observers and `deinit`s do in consequence.
    final func performOutside(_ operation: Operation) {
        fuel = Self.fuelLimit
        perform(operation)
        // What the test asks and does between operations runs no programs.
        fuel = 0
    }

    /// Runs a program inside an observer or a `deinit`.
    final func run(_ program: Int) {
        guard program != 0 else { return }
        for (step, operation) in programs[program].enumerated() {
            guard fuel > 0 else { return }
            fuel -= 1
            tell(Occurrence(.began, program, step))
            perform(operation)
        }
    }

    private func perform(_ operation: Operation) {
        switch operation.verb {
        case .add: add(operation)
        case .removeByToken: remove(operation, by: .token)
        case .removeBySet: remove(operation, by: .itsSet)
        case .removeByForeignSet: remove(operation, by: .anotherSet)
        case .removeAll: removeAll(set: operation.set)
        case .removeAllOwned: removeAll(set: operation.set, owner: operation.owner)
        case .replaceOwner: replaceOwner(operation.owner, program: operation.program, farewell: operation.farewell)
        case .dropOwner: dropOwner(operation.owner)
        case .replaceSet: replaceSet(operation.set)
        case .notify: notifyUnlessTooDeep(operation.set)
        case .count: count(set: operation.set)
        case .isEmpty: isEmpty(set: operation.set)
        case .isActive: isActive(operation)
        case .addToGroup: addToGroup(operation)
        case .store: store(operation)
        case .emptyBag: emptyBag(operation.bag)
        case .replaceBag: replaceBag(operation.bag)
        case .countBag: countBag(operation.bag)
        }
    }

    private func notifyUnlessTooDeep(_ set: Int) {
        guard depth < Self.depthLimit else { return }
        depth += 1
        notification += 1
        notify(set: set, notification)
        depth -= 1
    }

    private func remove(_ operation: Operation, by way: RemovalWay) {
        guard registrationCount > 0 else { return }
        remove(newest(operation.back), by: way)
    }

    private func isActive(_ operation: Operation) {
        guard registrationCount > 0 else { return }
        isActive(newest(operation.back))
    }

    private func store(_ operation: Operation) {
        guard registrationCount > 0 else { return }
        store(newest(operation.back), in: operation.bag)
    }

    /// The index of the registration that is so many back from the newest, and never before the oldest.
    private func newest(_ back: Int) -> Int {
        registrationCount - 1 - back % registrationCount
    }

    // MARK: What the worlds do in their own way

    enum RemovalWay { case token, itsSet, anotherSet }

    func tell(_ event: Occurrence) { fatalError("abstract") }
    /// How many registrations there have been, ended ones included.
    var registrationCount: Int { fatalError("abstract") }
    func add(_ operation: Operation) { fatalError("abstract") }
    func remove(_ registration: Int, by way: RemovalWay) { fatalError("abstract") }
    func removeAll(set: Int) { fatalError("abstract") }
    func removeAll(set: Int, owner: Int) { fatalError("abstract") }
    func replaceOwner(_ owner: Int, program: Int, farewell: Int) { fatalError("abstract") }
    func dropOwner(_ owner: Int) { fatalError("abstract") }
    func replaceSet(_ set: Int) { fatalError("abstract") }
    func notify(set: Int, _ value: Int) { fatalError("abstract") }
    func count(set: Int) { fatalError("abstract") }
    func isEmpty(set: Int) { fatalError("abstract") }
    func isActive(_ registration: Int) { fatalError("abstract") }
    func addToGroup(_ operation: Operation) { fatalError("abstract") }
    func store(_ registration: Int, in bag: Int) { fatalError("abstract") }
    func emptyBag(_ bag: Int) { fatalError("abstract") }
    func replaceBag(_ bag: Int) { fatalError("abstract") }
    func countBag(_ bag: Int) { fatalError("abstract") }
    /// Ends all sets, all owners and all bags.
    func close() { fatalError("abstract") }
}
