import Dispatch
import ObserverSet
import Testing

/// Promise 5: owners are held weakly, and strongly only for their own call.
///
/// An owner that is being deallocated is never called.
@Suite("Promise 5: owners are weak", .lifetimesChecked, .againstHanging)
struct Promise05WeakOwnersTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()

    // MARK: Between calls

    @Test("A set does not keep an owner alive", arguments: ObserverKind.owned)
    func notKeptAlive(_ kind: ObserverKind) {
        weak var owner: AnyObject?
        do {
            let registration = kind.add(to: set) { _ in }
            owner = registration.owner
            #expect(owner != nil)
            registration.end()
        }

        #expect(owner == nil)
        #expect(set.isEmpty)
    }

    @Test("Being notified does not keep an owner alive", arguments: ObserverKind.owned)
    func notKeptAliveByNotify(_ kind: ObserverKind) async {
        weak var owner: AnyObject?
        do {
            let registration = kind.add(to: set) { [calls] _ in calls.increment() }
            owner = registration.owner
            for value in 0..<10 { set.notify(value) }
            await set.settled()
            registration.end()
        }
        await eventually { owner == nil }

        #expect(owner == nil)
        #expect(calls.value == (kind.isOnce ? 1 : 10))
    }

    @Test(
        "The observer of a dead owner is not called, nor counted, and its token is inactive",
        arguments: ObserverKind.owned)
    func dead(_ kind: ObserverKind) async {
        let token = kind.add(to: set) { [calls] _ in calls.increment() }.token

        #expect(set.count == 0)
        #expect(set.isEmpty)
        #expect(!token.isActive)
        set.notify(1)
        await set.settled()
        set.notify(2)
        await set.settled()

        #expect(calls.value == 0)
        #expect(!token.remove())
    }

    @Test("Only the owners that live are counted and called")
    func someDead() {
        let log = Log<Int>()
        var owners = (0..<5).map { Tracked($0) }
        for owner in owners { set.add(owner) { owner, _ in log.append(owner.value) } }

        owners.remove(at: 3)
        owners.remove(at: 1)
        #expect(set.count == 3)
        set.notify(1)
        #expect(log.entries == [0, 2, 4])

        owners = []
        #expect(set.count == 0)
        #expect(set.isEmpty)
    }

    @Test("One owner may own many observers; all go with it")
    func manyObservers() {
        var owner: Tracked? = Tracked()
        for _ in 0..<1_000 { set.add(owner!) { [calls] _, _ in calls.increment() } }
        set.notify(1)
        #expect(calls.value == 1_000)
        #expect(set.count == 1_000)

        owner = nil

        #expect(set.count == 0)
        set.notify(2)
        #expect(calls.value == 1_000)
    }

    @Test("A set may own observers of itself")
    func theSetItself() {
        weak var weakSet: ObserverSet<Int>?
        do {
            let own = ObserverSet<Int>()
            own.add(own) { [calls] _, _ in calls.increment() }
            own.notify(1)
            weakSet = own
            #expect(own.count == 1)
        }

        #expect(weakSet == nil)
        #expect(calls.value == 1)
    }

    @Test("An owner that holds the set makes no cycle, if the observer uses the owner that it is passed")
    func noCycle() {
        final class Model: Sendable {
            let changed = ObserverSet<Int>()
            let tracked = Tracked()
            let heard = Counter()

            init() {
                changed.add(self) { model, _ in model.heard.increment() }
            }
        }
        weak var weakModel: Model?
        do {
            let model = Model()
            weakModel = model
            model.changed.notify(1)
            #expect(model.heard.value == 1)
        }

        #expect(weakModel == nil)
    }

    // MARK: During the call

    @Test("An owner lives through its own call, and no longer")
    func heldForItsCall() {
        let ended = Signal()
        let owner = Shared<Tracked?>(Tracked { ended.set() })
        set.add(owner.value!) { owner_, _ in
            owner.value = nil
            #expect(owner_.isIntact)
            #expect(!ended.isSet)
        }
        set.add { _ in #expect(ended.isSet) }

        set.notify(1)

        #expect(ended.isSet)
    }

    @Test("An owner that an earlier observer lets go of is not called")
    func diesBeforeItsCall() {
        let owner = Shared<Tracked?>(Tracked())
        set.add { _ in owner.value = nil }
        set.add(owner.value!) { [calls] _, _ in calls.increment() }

        set.notify(1)

        #expect(calls.value == 0)
    }

    @Test("The last reference to an owner may be the one held for its call: its deinit may use the set")
    func lastReference() {
        let token = Shared<ObserverToken?>(nil)
        let log = Log<String>()
        let owner = Shared<Tracked?>(
            Tracked { [set] in
                log.append("deinit, \(set.count) left")
                #expect(token.value?.remove() == false || set.count == 1)
                set.notify(2)
            })
        token.value = set.add(owner.value!) { _, value in
            log.append("owner \(value)")
            owner.value = nil
        }
        set.add { log.append("other \($0)") }

        set.notify(1)

        #expect(log.entries == ["owner 1", "deinit, 1 left", "other 2", "other 1"])
    }

    // MARK: While it is being deallocated

    @Test("An owner that notifies in its deinit is not called")
    func notifiesInDeinit() {
        do {
            let owner = Tracked { [set] in set.notify(1) }
            set.add(owner) { [calls] _, _ in calls.increment() }
        }

        #expect(calls.value == 0)
    }

    @Test("An owner that is being deallocated is not called by another thread either, nor counted, nor found")
    func notifiedDuringDeinit() {
        do {
            let owner = Tracked { [set] in
                join {
                    set.notify(1)
                    #expect(set.count == 0)
                    #expect(set.isEmpty)
                }
            }
            set.add(owner) { [calls] _, _ in calls.increment() }
        }

        #expect(calls.value == 0)
    }

    @Test("An owner that removes itself in its deinit finds its registrations dead already")
    func removesInDeinit() {
        final class Owner: Sendable {
            let set: ObserverSet<Int>
            let removed: Log<Int>

            init(_ set: ObserverSet<Int>, _ removed: Log<Int>) {
                self.set = set
                self.removed = removed
            }

            deinit { removed.append(set.removeAll(ownedBy: self)) }
        }
        let removed = Log<Int>()
        do {
            let owner = Owner(set, removed)
            set.add(owner) { [calls] _, _ in calls.increment() }
        }
        set.notify(1)

        #expect(removed.entries == [0])
        #expect(calls.value == 0)
    }

    @Test("An owner that is added in its own deinit is never called")
    func addedInDeinit() {
        final class Owner: Sendable {
            let set: ObserverSet<Int>
            let calls: Counter

            init(_ set: ObserverSet<Int>, _ calls: Counter) {
                self.set = set
                self.calls = calls
            }

            deinit {
                set.add(self) { [calls] _, _ in calls.increment() }
                set.notify(1)
            }
        }
        _ = Owner(set, calls)
        set.notify(2)

        #expect(calls.value == 0)
        #expect(set.isEmpty)
    }

    // MARK: While values wait

    static let deliveredElsewhere: [ObserverKind] = [.mainActorOwner, .mainActorMethod]

    @Test(
        "Values that wait for the main actor do not keep the owner alive, and are dropped",
        arguments: deliveredElsewhere)
    @MainActor func enqueuedForTheMainActor(_ kind: ObserverKind) async {
        weak var owner: AnyObject?
        do {
            let registration = kind.add(to: set) { [calls] _ in calls.increment() }
            owner = registration.owner
            join { [set] in for value in 0..<100 { set.notify(value) } }
            registration.end()
        }

        #expect(owner == nil)
        await set.settled()
        #expect(calls.value == 0)
    }

    @Test("Values that wait for a queue do not keep the owner alive, and are dropped")
    func enqueuedForAQueue() async {
        let isDead = Signal()
        let queue = DispatchQueue(label: "serial")
        queue.async { isDead.wait() }
        weak var weakOwner: Tracked?
        do {
            let owner = Tracked()
            weakOwner = owner
            set.add(on: queue, owner) { [calls] _, _ in calls.increment() }
            for value in 0..<100 { set.notify(value) }
        }

        #expect(weakOwner == nil)
        isDead.set()
        await set.settled()
        #expect(calls.value == 0)
    }

    @Test("An actor that owns an observer is let go when what was enqueued for it has been delivered")
    func anActor() async {
        weak var weakKeeper: Keeper?
        do {
            let keeper = Keeper()
            weakKeeper = keeper
            set.add(keeper) { [calls] (_: isolated Keeper, _) in calls.increment() }
            for value in 0..<100 { set.notify(value) }
            await set.settled()
            #expect(calls.value == 100)
        }

        await eventually { weakKeeper == nil }
        #expect(weakKeeper == nil)
    }

    // MARK: On several threads

    @Test(
        "No thread ever calls a dead owner, whenever it dies",
        arguments: [ObserverKind.owner, .ownerNonisolated, .ownerOnce])
    func canary(_ kind: ObserverKind) async {
        let isDone = Signal()
        let corpses = Counter()
        let lifetimes = Lifetimes.current

        await onThreads(3) { [set, calls] thread in
            guard thread == 0 else {
                while !isDone.isSet { set.notify(1) }
                return
            }
            for _ in 0..<5_000 {
                let owner = Tracked(in: lifetimes)
                let heard: @Sendable (Tracked, Int) -> Void = { owner, _ in
                    if !owner.isIntact { corpses.increment() }
                    calls.increment()
                }
                switch kind {
                case .owner: set.add(owner, heard)
                case .ownerNonisolated: set.addNonisolated(owner, heard)
                default: set.addOnce(owner, heard)
                }
            }
            isDone.set()
        }

        #expect(corpses.value == 0)
    }
}
