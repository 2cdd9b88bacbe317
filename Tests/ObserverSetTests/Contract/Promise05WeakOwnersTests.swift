import Dispatch
import Foundation
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
        expect(calls.value, equals: (kind.isOnce ? 1 : 10))
        set.notify(10)
        await set.settled()
        expect(calls.value, equals: (kind.isOnce ? 1 : 10))
    }

    @Test(
        "The observer of a dead owner is not called, nor counted, and its token is inactive",
        arguments: ObserverKind.owned)
    func dead(_ kind: ObserverKind) async {
        let token: ObserverToken
        do {
            let registration = kind.add(to: set) { [calls] _ in calls.increment() }
            token = registration.token
            #expect(token.isActive)
            registration.end()
        }

        expect(set.count, equals: 0)
        #expect(set.isEmpty)
        #expect(!token.isActive)
        set.notify(1)
        await set.settled()
        set.notify(2)
        await set.settled()

        expect(calls.value, equals: 0)
        #expect(!token.remove())
    }

    @Test("A dead owner's registration has ended even before the next notification", arguments: ObserverKind.owned)
    func deadHasEnded(_ kind: ObserverKind) async {
        let tokens = (0..<3).map { _ in kind.add(to: set) { [calls] _ in calls.increment() }.token }
        // The last reference to an actor may be released on another thread.
        await eventually { set.isEmpty }

        #expect(!tokens[0].remove())
        #expect(!set.remove(tokens[1]))
        #expect(!ObserverToken(tokens).remove())
    }

    /// Scenario 25: which owners are counted.
    ///
    /// Source: jonasman/MulticastDelegate#21, openradar 14879174 (a weak table that counts the dead).
    @Test("Only living owners are counted and called")
    func someDead() {
        let log = Log<Int>()
        var owners = (0..<5).map { Tracked($0) }
        for owner in owners { set.add(owner) { owner, _ in log.append(owner.value) } }
        expect(set.count, equals: 5)

        owners.remove(at: 3)
        owners.remove(at: 1)
        expect(set.count, equals: 3)
        #expect(!set.isEmpty)
        set.notify(1)
        expect(log.entries, equals: [0, 2, 4])

        owners = []
        expect(set.count, equals: 0)
        #expect(set.isEmpty)
    }

    @Test("One owner may own many observers, which all end with the owner")
    func manyObservers() {
        var owner: Tracked? = Tracked()
        for _ in 0..<1_000 { set.add(owner!) { [calls] _, _ in calls.increment() } }
        set.notify(1)
        expect(calls.value, equals: 1_000)
        expect(set.count, equals: 1_000)

        owner = nil

        expect(set.count, equals: 0)
        set.notify(2)
        expect(calls.value, equals: 1_000)
    }

    @Test("A set may own its own observers, and is still deallocated")
    func ownerIsTheSet() {
        weak var weakSet: ObserverSet<Int>?
        let log = Log<Int>()
        let token: ObserverToken
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            token = set.add(set) { [capture = Tracked()] set, value in
                log.append(value + capture.value)
                if value < 3 { set.notify(value + 1) }
            }

            set.notify(1)
            expect(set.count, equals: 1)
        }

        expect(log.entries, equals: [1, 2, 3])
        #expect(weakSet == nil)
        #expect(!token.isActive)
    }

    /// Scenario 19: the owner holds the set that holds its closure.
    @Test("An owner that holds the set makes no cycle, if the observer uses the owner that it is passed")
    func noCycle() {
        weak var weakModel: Model?
        weak var weakSet: ObserverSet<Int>?
        do {
            let model = Model()
            model.changed.add(model) { model, value in model.sum.value += value }
            model.changed.notify(1)
            expect(model.sum.value, equals: 1)
            (weakModel, weakSet) = (model, model.changed)
        }

        #expect(weakModel == nil)
        #expect(weakSet == nil)
        expect(Lifetimes.current.count, equals: 0)
    }

    /// Scenario 19: the cycle that the documentation warns of.
    @Test("A closure that captures its owner strongly keeps the owner alive until the observer is removed")
    func strongCaptureIsACycle() {
        weak var weakModel: Model?
        do {
            let model = Model()
            model.changed.add(model) { _, value in model.sum.value += value }
            weakModel = model
        }

        #expect(weakModel != nil)
        expect(Lifetimes.current.count, equals: 1, "the count of tracked objects shows the leak")
        weakModel?.changed.removeAll()

        #expect(weakModel == nil)
        expect(Lifetimes.current.count, equals: 0)
    }

    // MARK: During the call

    /// Scenario 17: the last reference to the owner is released in the owner's own call.
    ///
    /// Source: boost deadlock_regression_test.cpp (SelfReference); ReactiveSwift#135, #136, #137 and #267.
    @Test("An owner released in its own call lives until the call returns, and its `deinit` may use the set")
    func ownerDiesInItsOwnCall() {
        let log = Log<String>()
        let owner = Shared<Tracked?>(nil)
        let token = Shared<ObserverToken?>(nil)
        let thread = Thread.current.description
        _ = set.add { log.append("before \($0)") }
        owner.value = Tracked { [weak set] in
            guard let set else { return }
            expect(Thread.current.description, equals: thread)
            log.append("deinit, \(set.count) others")
            expect(token.value.map { set.remove($0) }, equals: false, "the registration has ended with its owner")
            _ = set.add { log.append("added \($0)") }
            set.notify(2)
        }
        token.value = set.add(owner.value!) { tracked, value in
            log.append("call \(value)")
            owner.value = nil
            log.append(tracked.isIntact ? "intact" : "broken")
        }
        _ = set.add { log.append("behind \($0)") }

        set.notify(1)

        expect(
            log.entries,
            equals: [
                "before 1", "call 1", "intact", "deinit, 2 others", "before 2", "behind 2", "added 2", "behind 1",
            ])
        expect(set.count, equals: 3)
    }

    @Test("An owner that an earlier observer releases is not called")
    func diesBeforeItsCall() {
        let owner = Shared<Tracked?>(Tracked())
        _ = set.add { _ in owner.value = nil }
        set.add(owner.value!) { [calls] _, _ in calls.increment() }

        set.notify(1)

        expect(calls.value, equals: 0)
    }

    // MARK: While it is being deallocated

    @Test("An owner that notifies in its `deinit` is not called, but the other observers are")
    func notifiesInDeinit() {
        let log = Log<Int>()
        _ = set.add { log.append($0) }
        do {
            let owner = Tracked { [set] in set.notify(1) }
            set.add(owner) { [calls] _, _ in calls.increment() }
        }

        set.notify(2)

        expect(calls.value, equals: 0)
        expect(log.entries, equals: [1, 2])
        expect(set.count, equals: 1)
    }

    @Test("An owner that is being deallocated is neither called nor counted, not even by another thread")
    func notifiedDuringDeinit() {
        do {
            let owner = Tracked { [set] in
                join {
                    set.notify(1)
                    expect(set.count, equals: 0)
                    #expect(set.isEmpty)
                }
            }
            set.add(owner) { [calls] _, _ in calls.increment() }
        }

        expect(calls.value, equals: 0)
    }

    @Test("An owner that removes its observers in its `deinit` finds that their registrations have already ended")
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
            set.notify(1)
        }
        set.notify(2)

        expect(removed.entries, equals: [0])
        expect(calls.value, equals: 1)
        #expect(set.isEmpty)
    }

    @Test("An owner that is already being deallocated may be added, and is never called")
    func addedInDeinit() {
        let log = Log<Int>()

        do { _ = AddsItselfAtItsEnd(set: set, log: log) }
        set.notify(1)

        expect(log.entries, equals: [-1, -10, 1, 10], "only the closures without an owner are called")
        expect(set.count, equals: 2)
    }

    // MARK: While values wait

    @Test(
        "Values that wait for the main actor do not keep the owner alive, and are dropped",
        arguments: [ObserverKind.mainActorOwner, .mainActorMethod])
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
        expect(calls.value, equals: 0)
    }

    /// Scenario 38: the owner dies while a value waits.
    ///
    /// Source: qcoro#168.
    @Test(
        "Values waiting for a queue keep no owner alive; after its death they are dropped, and the closure is released")
    func enqueuedForAQueue() async {
        let log = Log<Int>()
        let queue = DispatchQueue(label: "serial")
        let lifetimes = Lifetimes.current
        var owner: Tracked? = Tracked()
        weak let weakOwner = owner
        set.addNonisolated(on: queue, owner!) { [capture = Tracked()] _, value in log.append(value + capture.value) }

        queue.suspend()
        for value in 0..<10 { set.notify(value) }
        owner = nil
        #expect(weakOwner == nil)
        expect(lifetimes.count, equals: 1, "only the capture is still alive")
        queue.resume()
        await set.settled()
        set.notify(10)
        await set.settled()

        #expect(owner == nil)
        expect(log.entries, equals: [])
        await eventually { lifetimes.count == 0 }
        expect(lifetimes.count, equals: 0)
        #expect(set.isEmpty)
    }

    @Test("An actor that owns an observer is released when the values enqueued for it have been delivered")
    func anActor() async {
        weak var weakKeeper: Keeper?
        do {
            let keeper = Keeper()
            weakKeeper = keeper
            set.add(keeper) { [calls] (_: isolated Keeper, _) in calls.increment() }
            for value in 0..<100 { set.notify(value) }
            await set.settled()
            expect(calls.value, equals: 100)
        }

        await eventually { weakKeeper == nil }
        #expect(weakKeeper == nil)
    }

    // MARK: On several threads

    /// Scenario 32: the owner is deallocated while it is called.
    ///
    /// Source: Switch#65 (a race of a weak reference's getter), ReactiveSwift#137.
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
            for round in 0..<5_000 {
                let owner = Tracked(in: lifetimes)
                let before = calls.value
                let heard: @Sendable (Tracked, Int) -> Void = { owner, _ in
                    if !owner.isIntact { corpses.increment() }
                    calls.increment()
                }
                switch kind {
                case .owner: set.add(owner, heard)
                case .ownerNonisolated: set.addNonisolated(owner, heard)
                default: set.once.add(owner, heard)
                }
                // Some owners are kept until they have been called, so that notifications certainly reach some.
                if round.isMultiple(of: 50) { while calls.value == before { Thread.yield() } }
            }
            isDone.set()
        }

        expect(corpses.value, equals: 0)
        #expect(calls.value >= 100)
        #expect(set.isEmpty)
    }
}

/// A model that has a set, and is tracked.
private final class Model: Sendable {
    let changed = ObserverSet<Int>()
    let sum = Shared(0)
    private let tracked = Tracked()
}

/// Adds itself to a set in its `deinit`, in every form, and notifies.
private final class AddsItselfAtItsEnd: Sendable {
    private let set: ObserverSet<Int>
    private let log: Log<Int>

    init(set: ObserverSet<Int>, log: Log<Int>) {
        (self.set, self.log) = (set, log)
    }

    private func isTold(_ value: Int) { log.append(value) }

    deinit {
        _ = set.add { [log] in log.append($0) }
        let tokens = [
            set.add(self) { owner, value in owner.isTold(value) },
            set.add(method: AddsItselfAtItsEnd.isTold, of: self),
            set.once.add(self) { owner, value in owner.isTold(value) },
            set.addNonisolated(self) { owner, value in owner.isTold(value) },
            set.addNonisolated(on: DispatchQueue(label: "Q"), self) { owner, value in owner.isTold(value) },
        ]
        _ = set.add { [log] in log.append($0 * 10) }
        set.notify(-1)
        #expect(tokens.allSatisfy { !$0.isActive })
        expect(set.removeAll(ownedBy: self), equals: 0)
    }
}
