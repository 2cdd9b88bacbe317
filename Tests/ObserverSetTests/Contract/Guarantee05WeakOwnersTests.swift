import Dispatch
import Foundation
import ObserverSet
import Testing

/// Guarantee 5: an owner is held weakly, and strongly only during its observer's call.
///
/// An owner that is being deallocated is never called.
@Suite("Guarantee 5: owners are weak", .lifetimesChecked, .againstHanging)
struct Guarantee05WeakOwnersTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()
}

extension Guarantee05WeakOwnersTests {
    // MARK: Between calls

    @Test(
        "A set keeps no owner alive, and a dead owner's observer is neither called nor counted, nor can be removed",
        arguments: ObserverKind.owned, [0, 10])
    func dead(_ kind: ObserverKind, calledBefore: Int) async {
        weak var owner: AnyObject?
        let token: ObserverToken
        do {
            let registration = kind.add(to: set) { [calls] _ in calls.increment() }
            owner = registration.owner
            token = registration.token
            for value in 0..<calledBefore { set.notify(value) }
            // Without a call, nothing else may keep the owner, not even for a moment.
            if calledBefore > 0 { await set.settled() }
            registration.end()
        }
        let expected = kind.isOnce ? min(calledBefore, 1) : calledBefore
        // The last reference to an owner may be released by another thread, behind its call.
        if calledBefore > 0 { await eventually { owner == nil } }

        expect(owner == nil)
        expect(set.count, equals: 0)
        expect(set.isEmpty && !token.isActive)
        expect(!token.remove() && !set.remove(token) && !ObserverToken([token]).remove())
        for value in 0..<2 {
            set.notify(value)
            await set.settled()
        }
        expect(calls.value, equals: expected)
    }

    /// Scenario 25: which owners are counted.
    ///
    /// Source: jonasman/MulticastDelegate#21, openradar 14879174 (a weak table that counts the dead).
    @Test("Only living owners are counted and called, each for all of its observers")
    func someDead() {
        let log = Log<Int>()
        var owners = (0..<5).map { Tracked($0) }
        for owner in owners + owners { set.add(owner) { owner, _ in log.append(owner.value) } }
        expect(set.count, equals: 10)

        owners.remove(at: 3)
        owners.remove(at: 1)
        expect(set.count, equals: 6)
        #expect(!set.isEmpty)
        set.notify(1)
        expect(log.entries, equals: [0, 2, 4, 0, 2, 4])

        owners = []
        expect(set.count, equals: 0)
        #expect(set.isEmpty)
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
        expect(weakSet == nil)
        #expect(!token.isActive)
    }

    /// Scenario 19: the owner holds the set that holds its closure, and the cycle that the documentation warns of.
    @Test("An owner that holds the set makes no cycle, unless its observer captures it", arguments: [false, true])
    func cycle(isCaptured: Bool) {
        weak var weakModel: Model?
        do {
            let model = Model()
            if isCaptured {
                model.changed.add(model) { _, value in model.sum.value += value }
            } else {
                model.changed.add(model) { model, value in model.sum.value += value }
            }
            model.changed.notify(1)
            expect(model.sum.value, equals: 1)
            weakModel = model
        }

        expect(Lifetimes.current.count, equals: isCaptured ? 1 : 0, "the count of tracked objects shows the leak")
        expect(weakModel != nil, equals: isCaptured)
        weakModel?.changed.removeAll()

        expect(weakModel == nil)
        expect(Lifetimes.current.count, equals: 0)
    }

    /// Scenario 67: a task of low priority that can't begin.
    @Test(
        "An actor is released when its values have been delivered, although a less urgent task hasn't begun to deliver",
        arguments: [false, true])
    func lateTask(isAwaited: Bool) async {
        let (isSent, isOver) = (Signal(), Signal())
        var keeper: Keeper? = Keeper()
        weak let weakKeeper = keeper
        _ = await keeper!.perform { [set, calls] keeper in
            if isAwaited {
                set.addAsync(keeper) { _, _ in calls.increment() }
            } else {
                set.add(keeper) { _, _ in calls.increment() }
            }
        }
        Task.detached(priority: .background) { [set] in
            // These occupy all threads for tasks of this priority.
            for _ in 0..<32 { Task.detached(priority: .background) { while !isOver.isSet {} } }
            set.notify(1)
            isSent.set()
            while !isOver.isSet {}
        }
        await eventually { isSent.isSet }
        await Task.detached(priority: .high) { [set] in
            set.notify(2)
            await set.settled()
        }.value

        keeper = nil

        await eventually { weakKeeper == nil }
        isOver.set()
        expect(calls.value, equals: 2)
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
            equals: ["before 1", "call 1", "intact", "deinit, 2 others", "before 2", "behind 2", "added 2", "behind 1"])
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

    @Test("An owner that is being deallocated is neither called nor counted, on no thread, and the others are called")
    func notifiesInDeinit() {
        let log = Log<Int>()
        _ = set.add { log.append($0) }
        do {
            let owner = Tracked { [set] in
                set.notify(1)
                join {
                    set.notify(2)
                    expect(set.count, equals: 1)
                }
            }
            set.add(owner) { [calls] _, _ in calls.increment() }
        }

        set.notify(3)

        expect(calls.value, equals: 0)
        expect(log.entries, equals: [1, 2, 3])
        expect(set.count, equals: 1)
    }

    @Test("In an owner's `deinit` its registrations have ended, and if it is added again there, it is never called")
    func addedInDeinit() {
        let log = Log<Int>()

        do {
            let owner = AddsItselfAtItsEnd(set: set, log: log)
            set.notify(2)
            withExtendedLifetime(owner) {}
        }
        set.notify(1)

        expect(log.entries, equals: [2, -1, -10, 1, 10], "in the end, only the closures without an owner are called")
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

        expect(owner == nil)
        await set.settled()
        expect(calls.value, equals: 0)
    }

    /// Scenario 38: the owner dies while a value waits.
    ///
    /// Source: qcoro#168.
    @Test("Values waiting for a queue keep no owner alive; at its death they are dropped, and the closure is released")
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
        expect(weakOwner == nil)
        expect(lifetimes.count, equals: 1, "only the capture is still alive")
        queue.resume()
        await set.settled()
        set.notify(10)
        await set.settled()

        expect(owner == nil)
        expect(log.entries, equals: [])
        await eventually { lifetimes.count == 0 }
        expect(lifetimes.count, equals: 0)
        #expect(set.isEmpty)
    }

    // MARK: On several threads

    /// Scenario 32: the owner is deallocated while it is called.
    ///
    /// Source: Switch#65 (a race of a weak reference's getter), ReactiveSwift#137.
    @Test("No thread ever calls a dead owner, whenever it dies", arguments: [false, true])
    func canary(isOnce: Bool) async {
        let isDone = Signal()
        let corpses = Counter()
        let lifetimes = Lifetimes.current

        await onThreads(3) { [set, calls] thread in
            guard thread == 0 else {
                while !isDone.isSet { set.notify(1) }
                return
            }
            let source: any NotificationSource<Int> = isOnce ? set.once : set
            for round in 0..<many(50_000) {
                let owner = Tracked(in: lifetimes)
                let before = calls.value
                source.addNonisolated(owner) { owner, _ in
                    if !owner.isIntact { corpses.increment() }
                    calls.increment()
                }
                // Some owners are kept until they have been called, so that notifications certainly reach some.
                if round.isMultiple(of: 25) { while calls.value == before { Thread.yield() } }
            }
            isDone.set()
        }

        expect(corpses.value, equals: 0)
        expect(calls.value, atLeast: 100)
        #expect(set.isEmpty)
    }
}

/// A model that has a set, and whose lifetime is counted.
private final class Model: Sendable {
    let changed = ObserverSet<Int>()
    let sum = Shared(0)
    private let tracked = Tracked()
}

/// An owner that adds itself to a set in every way, does so again in its `deinit`, and notifies the set there.
private final class AddsItselfAtItsEnd: Sendable {
    private let set: ObserverSet<Int>
    private let log: Log<Int>

    init(set: ObserverSet<Int>, log: Log<Int>) {
        (self.set, self.log) = (set, log)
        set.add(self) { owner, value in owner.isTold(value) }
    }

    private func isTold(_ value: Int) { log.append(value) }

    deinit {
        expect(set.removeAll(ownedBy: self), equals: 0)
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
