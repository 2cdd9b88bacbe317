/// The contract as a sequential program, in which a set is a plain array of entries.
///
/// Runs after the tested world, and follows what that has told. What the contract leaves open it takes from there: the
/// order of releases, and when the entry of a dead owner goes that no pass has met.
final class ModelWorld: World {
    /// A deliberate mistake, to prove that the comparison notices one.
    enum Fault: CaseIterable {
        case callsAddedDuringThePass, callsRemoved, callsDeadOwners, callsOnceTwice, callsInReverse
        case removesTwice, removesForeign, releasesDuringThePass, countsDead, finishesNoPassOfADeadSet
        case countsEndedInBags, emptiesNoBag, endsOneMemberOnly
    }

    private final class Owner {
        let id: Int
        let program: Int
        let farewell: Int
        /// The world's own reference, and one for each call that is under way.
        var holds = 1

        init(id: Int, program: Int, farewell: Int) {
            self.id = id
            self.program = program
            self.farewell = farewell
        }
    }

    /// What a token stands for: an entry in one set, or one for each member of a group.
    private final class Registration {
        let id: Int
        let operation: Operation
        let owner: Owner?
        let isGroup: Bool
        var entries: [Entry] = []
        /// Of a group's: a caller of `remove` has been told that it ended it.
        var hasBeenEnded = false
        /// Of one that is called once: called, or removed by its token.
        var isOver = false
        /// How many of its entries hold the observer's capture: for certain, and being released at the moment.
        var firmHolds = 0
        var waningHolds = 0
        var isCaptureDead = false

        init(id: Int, operation: Operation, owner: Owner?, isGroup: Bool) {
            self.id = id
            self.operation = operation
            self.owner = owner
            self.isGroup = isGroup
        }

        var isAlive: Bool { owner == nil || owner!.holds > 0 }
        var isActive: Bool { isAlive && !isOver && entries.contains { !$0.isRemoved } }
    }

    private final class Entry {
        // The world holds all registrations that there ever were.
        unowned let registration: Registration
        let set: Model
        var isRemoved = false

        init(_ registration: Registration, in set: Model) {
            self.registration = registration
            self.set = set
            registration.firmHolds += 1
            registration.entries.append(self)
        }

        var owner: Owner? { registration.owner }
        var isAlive: Bool { registration.isAlive }
    }

    private final class Bag {
        var registrations: [Registration] = []
        /// The world's own reference, and one for each call of the bag that is under way.
        var holds = 1
    }

    private final class Model {
        var entries: [Entry] = []
        var passes = 0
        /// The world's own reference, and one for each call of the set that is under way.
        var holds = 1
        /// Removed while a pass was in flight.
        var retired: [Entry] = []
    }

    private let fault: Fault?
    private var sets: [Model] = []
    private var owners: [Owner?]
    private var ownersMade = 0
    private var ownersAlive = 0
    private var registrations: [Registration] = []
    private var bags: [Bag] = []

    private var told: [Occurrence] = []
    private var position = 0
    /// The first difference: what the contract says, and what was told instead.
    private(set) var divergence: String?

    init(programs: [[Operation]], fault: Fault?) {
        self.fault = fault
        owners = Array(repeating: nil, count: OperationGenerator.ownerCount)
        for _ in 0..<OperationGenerator.setCount { sets.append(Model()) }
        for _ in 0..<OperationGenerator.bagCount { bags.append(Bag()) }
        super.init(programs: programs)
    }

    /// Follows what the tested world told of one operation.
    func follow(_ events: [Occurrence], _ body: () -> Void) {
        told = events
        position = 0
        body()
        if divergence == nil, position < told.count { diverge("nothing more") }
        told = []
    }

    override var registrationCount: Int { registrations.count }

    // MARK: Changes

    override func add(_ operation: Operation) {
        register(operation, isGroup: false, with: [operation.set])
    }

    override func addToGroup(_ operation: Operation) {
        register(operation, isGroup: true, with: operation.members.sets(first: operation.set))
    }

    private func register(_ operation: Operation, isGroup: Bool, with members: [Int]) {
        let owner = operation.kind.hasOwner ? owners[operation.owner] ?? makeOwner(in: operation.owner) : nil
        let registration = Registration(id: registrations.count, operation: operation, owner: owner, isGroup: isGroup)
        for member in members { sets[member].entries.append(Entry(registration, in: sets[member])) }
        registrations.append(registration)
    }

    override func remove(_ registration: Int, by way: RemovalWay) {
        let registration = registrations[registration]
        let place = registration.operation.set
        let isAddressed =
            switch way {
            case .token: true
            case .itsSet: !registration.isGroup && sets[place] === registration.entries[0].set
            case .anotherSet: fault == .removesForeign
            }
        let caller = way == .token ? nil : sets[way == .itsSet ? place : 1 - place]
        caller?.holds += 1
        let isEnded = isAddressed && end(registration)
        if let caller { release(caller) }
        expect(Occurrence(.removed, registration.id, isEnded))
    }

    /// Does what a token's `remove` does, and returns what it says.
    private func end(_ registration: Registration) -> Bool {
        if registration.operation.kind.isOnce {
            if registration.isOver { return fault == .removesTwice }
            registration.isOver = true
        }
        var isEnded = fault == .removesTwice
        var mayHaveBeenThere = false
        for entry in registration.entries where !entry.isRemoved {
            if entry.isAlive { isEnded = true } else { mayHaveBeenThere = true }
            entry.isRemoved = true
            retire([entry], from: entry.set)
            if fault == .endsOneMemberOnly { break }
        }
        // The entry of a dead owner may have gone before: that is the set's to decide, but only once.
        if !isEnded, mayHaveBeenThere { isEnded = next == Occurrence(.removed, registration.id, true) }
        if registration.isGroup, isEnded {
            // An observer or a `deinit` may have removed the rest meanwhile.
            if registration.hasBeenEnded { return false }
            registration.hasBeenEnded = true
        }
        return isEnded
    }

    override func removeAll(set: Int) {
        let set = sets[set]
        set.holds += 1
        removeAll(from: set)
        release(set)
    }

    override func removeAll(set: Int, owner: Int) {
        guard let owner = owners[owner] else { return }
        let set = sets[set]
        let owned = set.entries.filter { $0.owner === owner && !$0.isRemoved }
        for entry in owned { entry.isRemoved = true }
        retire(owned, from: set)
        expect(Occurrence(.removedOwned, owner.id, owned.count))
    }

    private func removeAll(from set: Model) {
        let all = set.entries.filter { !$0.isRemoved }
        for entry in all { entry.isRemoved = true }
        retire(all, from: set)
    }

    // MARK: Lives

    override func replaceOwner(_ owner: Int, program: Int, farewell: Int) {
        let old = owners[owner]
        owners[owner] = newOwner(program: program, farewell: farewell)
        if let old { release(old) }
    }

    override func dropOwner(_ owner: Int) {
        let old = owners[owner]
        owners[owner] = nil
        if let old { release(old) }
    }

    override func replaceSet(_ set: Int) {
        let old = sets[set]
        sets[set] = Model()
        release(old)
    }

    private func makeOwner(in place: Int) -> Owner {
        let owner = newOwner(program: 0, farewell: 0)
        owners[place] = owner
        return owner
    }

    private func newOwner(program: Int, farewell: Int) -> Owner {
        ownersMade += 1
        ownersAlive += 1
        return Owner(id: ownersMade, program: program, farewell: farewell)
    }

    override func close() {
        for set in 0..<sets.count { replaceSet(set) }
        for owner in 0..<owners.count { dropOwner(owner) }
        for bag in 0..<bags.count { replaceBag(bag) }
    }

    // MARK: Bags

    override func store(_ registration: Int, in bag: Int) {
        bags[bag].registrations.append(registrations[registration])
    }

    override func emptyBag(_ bag: Int) {
        let bag = bags[bag]
        bag.holds += 1
        empty(bag)
        release(bag)
    }

    override func replaceBag(_ bag: Int) {
        let old = bags[bag]
        bags[bag] = Bag()
        release(old)
    }

    override func countBag(_ bag: Int) {
        let active = bags[bag].registrations.filter { $0.isActive || fault == .countsEndedInBags }
        expect(Occurrence(.bagCounted, bag, Set(active.map(\.id)).count))
    }

    private func empty(_ bag: Bag) {
        let registrations = bag.registrations
        bag.registrations = []
        // Of a dead owner's token a bag may have let go before: then its entry goes when the set decides.
        for registration in registrations where registration.isActive && fault != .emptiesNoBag {
            _ = end(registration)
        }
    }

    private func release(_ bag: Bag) {
        bag.holds -= 1
        if bag.holds == 0 { empty(bag) }
    }

    // MARK: Releasing

    private func release(_ owner: Owner) {
        owner.holds -= 1
        guard owner.holds == 0 else { return }
        ownersAlive -= 1
        expect(Occurrence(.ownerDied, owner.id, 0))
        run(owner.farewell)
    }

    private func release(_ set: Model) {
        set.holds -= 1
        if set.holds == 0 { removeAll(from: set) }
    }

    /// Lets go of entries at once, or when the passes in flight have ended.
    private func retire(_ entries: [Entry], from set: Model) {
        if set.passes == 0 { set.entries.removeAll { $0.isRemoved } }
        if set.passes == 0 || fault == .releasesDuringThePass {
            release(entries)
        } else {
            set.retired += entries
        }
    }

    /// Captures die one after the other, in an order that the contract leaves open.
    ///
    /// A capture that several entries hold dies with the last of them; if others of them are being released at the
    /// moment, further out, then here or there.
    private func release(_ entries: [Entry]) {
        // Those with an owner do not tell.
        var waiting = entries.map(\.registration).filter { $0.owner == nil }
        for registration in waiting {
            registration.firmHolds -= 1
            registration.waningHolds += 1
        }
        while divergence == nil,
            let index = waiting.firstIndex(where: {
                $0.firmHolds == 0 && !$0.isCaptureDead && next == Occurrence(.captureDied, $0.id, 0)
            })
        {
            position += 1
            let registration = waiting.remove(at: index)
            registration.waningHolds -= 1
            registration.isCaptureDead = true
            run(registration.operation.farewell)
        }
        for registration in waiting { registration.waningHolds -= 1 }
        let late = waiting.filter { $0.firmHolds == 0 && $0.waningHolds == 0 && !$0.isCaptureDead }
        if !late.isEmpty { diverge("the end of the captures \(Set(late.map(\.id))), in any order") }
    }

    // MARK: Passes

    override func notify(set: Int, _ value: Int) {
        let place = set
        let set = sets[place]
        var met: [Entry] = []
        set.holds += 1
        set.passes += 1
        // What is added meanwhile stands behind this.
        let end = set.entries.count
        var index = 0
        while index < (fault == .callsAddedDuringThePass ? set.entries.count : end), divergence == nil {
            let entry = set.entries[fault == .callsInReverse ? end - 1 - index : index]
            index += 1
            if fault == .finishesNoPassOfADeadSet, sets[place] !== set { break }
            if entry.isRemoved, fault != .callsRemoved { continue }
            if entry.isAlive || fault == .callsDeadOwners { call(entry, value) } else { met.append(entry) }
        }
        set.passes -= 1
        if set.passes == 0 {
            set.entries.removeAll { $0.isRemoved }
            let retired = set.retired
            set.retired = []
            release(retired)
        }
        // A pass has the entries of dead owners that it met removed.
        for entry in met where !entry.isRemoved {
            entry.isRemoved = true
            retire([entry], from: set)
        }
        release(set)
    }

    private func call(_ entry: Entry, _ value: Int) {
        let registration = entry.registration
        let kind = registration.operation.kind
        if kind.isOnce, registration.isOver { return }
        let value = registration.isGroup ? 0 : value
        entry.owner?.holds += 1
        if kind.isOnce, fault != .callsOnceTwice {
            // Removed before it is called.
            _ = end(registration)
        }
        if kind == .method, let owner = entry.owner {
            expect(Occurrence(.methodCalled, owner.id, value))
            run(owner.program)
        } else {
            expect(Occurrence(.called, registration.id, value))
            run(registration.operation.program)
        }
        if let owner = entry.owner { release(owner) }
    }

    // MARK: Questions

    override func count(set: Int) {
        expect(Occurrence(.counted, set, livingCount(set: set)))
    }

    override func isEmpty(set: Int) {
        expect(Occurrence(.isEmpty, set, livingCount(set: set) == 0))
    }

    override func isActive(_ registration: Int) {
        expect(Occurrence(.isActive, registration, registrations[registration].isActive))
    }

    /// How many tracked objects are alive: captures of living observers, and owners; at most, those of dead owners too.
    var trackedObjects: ClosedRange<Int> {
        var least = ownersAlive
        var most = ownersAlive
        for set in sets {
            for entry in set.entries where !entry.isRemoved && entry.registration.operation.kind != .method {
                // The entries of one registration share the capture.
                guard entry.registration.entries.first(where: { !$0.isRemoved }) === entry else { continue }
                most += 1
                if entry.isAlive { least += 1 }
            }
        }
        return least...most
    }

    /// How many observers the set has whose owner, if they have one, is alive.
    func livingCount(set: Int) -> Int {
        var count = 0
        for entry in sets[set].entries where !entry.isRemoved && (entry.isAlive || fault == .countsDead) { count += 1 }
        return count
    }

    // MARK: Comparing

    private var next: Occurrence? { position < told.count ? told[position] : nil }

    override func tell(_ event: Occurrence) { expect(event) }

    private func expect(_ event: Occurrence) {
        guard divergence == nil else { return }
        guard next == event else { return diverge("\(event)") }
        position += 1
    }

    /// Lets go of everything without looking at what was told.
    func abandon() {
        divergence = divergence ?? "abandoned"
        close()
    }

    private func diverge(_ expected: String) {
        guard divergence == nil else { return }
        let before = told[..<position].suffix(12).map { "  \($0)" }.joined(separator: "\n")
        divergence = """
            told, as the contract says:
            \(before)
            then the contract says: \(expected)
            but the set told: \(next.map { "\($0)" } ?? "nothing more")
            """
    }
}
