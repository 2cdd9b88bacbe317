import ObserverSet
import Testing

/// Random operations, nested ones included, on a local set and on a model that is too simple to be wrong.
@Suite("Local set: against a model", .lifetimesChecked)
struct LocalModelTests {
    @Test("A local set does what the model does", .timeLimit(.minutes(15)), arguments: UInt64(0)..<40)
    func agrees(seed: UInt64) {
        let world = LocalWorld(seed: seed)

        for _ in 0..<300 where world.divergence == nil { world.step(depth: 0) }

        #expect(world.divergence == nil, "seed \(seed)")
        #expect(world.calls > 100)
        world.end()
        #expect(Lifetimes.current.count == 0)
    }
}

/// The model is a list of registrations; a pass walks a copy of it, and asks of each whether it still stands.
private final class LocalWorld {
    private final class Registration {
        let token: LocalObserverSet<Int>.Token
        let isOnce: Bool
        weak let owner: Plain?
        let hasOwner: Bool
        var isRemoved = false
        var isAlive: Bool { !isRemoved && (!hasOwner || owner != nil) }

        init(_ token: LocalObserverSet<Int>.Token, isOnce: Bool, owner: Plain?) {
            self.token = token
            self.isOnce = isOnce
            self.owner = owner
            self.hasOwner = owner != nil
        }
    }

    /// One pass of the set, as the model sees it.
    private final class Pass {
        var rest: ArraySlice<Registration>
        init(_ registrations: [Registration]) { rest = registrations[...] }
    }

    private let set = LocalObserverSet<Int>()
    private var registrations: [Registration] = []
    private var owners: [Plain] = []
    private var passes: [Pass] = []
    private var random: SeededGenerator
    private(set) var calls = 0
    private(set) var divergence: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    func end() {
        while !owners.isEmpty { removeOwner() }
        set.removeAll()
        registrations = []
    }

    /// Does one thing at random, and compares.
    func step(depth: Int) {
        guard divergence == nil else { return }
        switch random.next() % 20 {
        case 0..<7: add()
        case 7..<10: remove()
        case 10..<12: addOwner(depth: depth)
        case 12: removeOwner()
        case 13: if let owner = one(of: owners) { removeAll(ownedBy: owner) }
        case 14:
            if random.next() % 8 == 0 {
                set.removeAll()
                registrations.forEach { $0.isRemoved = true }
            }
        default: if depth < 4 { notify() }
        }
        let alive = registrations.count { $0.isAlive }
        check(set.count == alive, "count")
        check(set.isEmpty == (alive == 0), "isEmpty")
        // Some stale tokens are kept, to be used again.
        if depth == 0 { registrations = registrations.filter { !$0.isRemoved || index(2) == 0 } }
    }

    private func notify() {
        let pass = Pass(registrations)
        passes.append(pass)
        set.notify(passes.count)
        passes.removeLast()
        check(!pass.rest.contains(where: \.isAlive), "somebody was not called")
    }

    private func add() {
        let owner = one(of: owners)
        let form = LocalForm.allCases[index(4)]
        guard !form.hasOwner || owner != nil else { return }
        let capture = Plain()
        var registration: Registration?
        let token = form.add(to: set, owner: owner ?? capture) { [unowned self, capture] depth in
            calls += 1
            check(depth == passes.count, "depth")
            check(capture.isIntact, "a capture was released")
            wasCalled(registration)
        }
        registration = Registration(token, isOnce: form.isOnce, owner: form.hasOwner ? owner : nil)
        registrations.append(registration!)
    }

    private func wasCalled(_ registration: Registration?) {
        guard let registration, let pass = passes.last else { return check(false, "called outside a pass") }
        // Those before it must have ended.
        while let next = pass.rest.popFirst(), next !== registration {
            check(!next.isAlive, "somebody was passed over")
        }
        check(registration.isAlive, "a removed one, or a dead one's, was called")
        if registration.isOnce { registration.isRemoved = true }
        check(registration.token.isActive == !registration.isOnce, "isActive")
        for _ in 0..<index(3) { step(depth: passes.count) }
    }

    private func remove() {
        guard let registration = one(of: registrations) else { return }
        let wasAlive = registration.isAlive
        let wasRemoved = registration.isRemoved
        registration.isRemoved = true
        let removed = index(2) == 0 ? registration.token.remove() : set.remove(registration.token)
        // A dead owner's entry may have been removed already.
        check(removed == wasAlive || (removed && !wasRemoved), "remove")
    }

    private func removeAll(ownedBy owner: Plain) {
        let theirs = registrations.filter { $0.isAlive && $0.owner === owner }
        theirs.forEach { $0.isRemoved = true }
        check(set.removeAll(ownedBy: owner) == theirs.count, "removeAll(ownedBy:)")
    }

    /// An owner whose end does something to the set.
    private func addOwner(depth: Int) {
        owners.append(Plain { [unowned self] in if index(2) == 0 { step(depth: 4) } })
    }

    private func removeOwner() {
        guard !owners.isEmpty else { return }
        var rest = owners
        let owner = rest.remove(at: index(rest.count))
        owners = rest
        // Here at the latest, with no access to a property under way, it may end.
        _ = consume owner
    }

    private func index(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

    private func one<Element>(of elements: [Element]) -> Element? {
        elements.isEmpty ? nil : elements[index(elements.count)]
    }

    private func check(_ condition: Bool, _ what: String) {
        if !condition, divergence == nil { divergence = what }
    }
}
