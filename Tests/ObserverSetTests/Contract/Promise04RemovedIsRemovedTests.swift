import Dispatch
import ObserverSet
import Testing

/// Promise 4: after `remove` has returned, no pass that reaches that observer later calls it, on any thread.
///
/// Removed in the observer's own isolation it is never called again, queued values included.
@Suite("Promise 4: removed is removed", .lifetimesChecked, .againstHanging)
struct Promise04RemovedIsRemovedTests {
    private let set = ObserverSet<Int>()

    // MARK: On one thread

    @Test("A removed observer of any kind is not called", arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) async {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in calls.increment() }

        registration.token.remove()
        set.notify(1)
        await set.settled()

        #expect(calls.value == 0)
        registration.end()
    }

    @Test("An observer removed by an earlier one is not called", arguments: ObserverKind.allCases)
    func byAnEarlierOne(_ kind: ObserverKind) async {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        set.add { _ in token.value?.remove() }
        let registration = kind.add(to: set) { _ in calls.increment() }
        token.value = registration.token

        set.notify(1)
        await set.settled()

        #expect(calls.value == 0)
        registration.end()
    }

    @Test("Each observer may remove each: only those are not called that had not been", arguments: 0..<4, 0..<4)
    func eachRemovesEach(_ remover: Int, _ removed: Int) {
        let log = Log<Int>()
        let tokens = Shared<[ObserverToken]>([])
        tokens.value = (0..<4).map { index in
            set.add { _ in
                log.append(index)
                if index == remover { tokens.value[removed].remove() }
            }
        }

        set.notify(1)
        #expect(log.entries == (0..<4).filter { $0 <= remover || $0 != removed })
        log.removeAll()

        set.notify(2)
        #expect(log.entries == (0..<4).filter { $0 != removed })
        tokens.value = []
    }

    @Test("Observers that all remove themselves are each called once")
    func allRemoveThemselves() {
        let log = Log<Int>()
        let tokens = Shared<[ObserverToken]>([])
        tokens.value = (0..<100).map { index in
            set.add { _ in
                log.append(index)
                tokens.value[index].remove()
            }
        }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == Array(0..<100))
        #expect(set.isEmpty)
    }

    @Test("When an observer empties the set, the ones after it are not called", arguments: 0..<5)
    func removeAll(_ remover: Int) {
        let log = Log<Int>()
        for index in 0..<5 {
            set.add { [set] _ in
                log.append(index)
                guard index == remover else { return }
                set.removeAll()
                #expect(set.count == 0)
                #expect(set.isEmpty)
            }
        }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == Array(0...remover))
    }

    @Test("When an observer removes an owner's observers, those of them after it are not called")
    func removeAllOfAnOwner() {
        let owner = Tracked()
        let other = Tracked()
        let log = Log<String>()
        set.add(owner) { _, _ in log.append("before") }
        set.addOnce { [set] _ in #expect(set.removeAll(ownedBy: owner) == 3) }
        set.add(owner) { _, _ in log.append("after") }
        set.add(other) { _, _ in log.append("other") }
        set.add(owner) { _, _ in log.append("last") }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == ["before", "other", "other"])
    }

    @Test("An observer removed by a nested notification is called by no outer one either")
    func byANestedNotification() {
        let log = Log<String>()
        let token = Shared<ObserverToken?>(nil)
        set.add { [set] value in if value < 3 { set.notify(value + 1) } else { token.value?.remove() } }
        token.value = set.add { log.append("removed \($0)") }
        set.add { log.append("kept \($0)") }

        set.notify(1)

        #expect(log.entries == ["kept 3", "kept 2", "kept 1"])
        set.removeAll()
    }

    @Test("A removal reaches notifications that walk a snapshot which was replaced since", arguments: [1, 100, 10_000])
    func afterGrowth(_ added: Int) {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        set.addOnce { [set] _ in
            for _ in 0..<added { set.add { _ in } }
            #expect(token.value?.remove() == true)
        }
        token.value = set.add { _ in calls.increment() }

        set.notify(1)

        #expect(calls.value == 0)
    }

    @Test("A removal reaches notifications that walk a snapshot which was compacted since")
    func afterCompaction() {
        let calls = Counter()
        let tokens = Shared<[ObserverToken]>([])
        set.addOnce { _ in
            // Several compactions; the last removals only meet a replaced snapshot.
            for token in tokens.value { #expect(token.remove()) }
        }
        tokens.value = (0..<1_000).map { _ in set.add { _ in calls.increment() } }

        set.notify(1)

        #expect(calls.value == 0)
        #expect(set.isEmpty)
    }

    @Test("Emptying the set reaches notifications that walk a snapshot which was replaced since")
    func removeAllAfterGrowth() {
        let calls = Counter()
        set.addOnce { [set] _ in
            for _ in 0..<100 { set.add { _ in calls.increment() } }
            set.removeAll()
        }
        for _ in 0..<3 { set.add { _ in calls.increment() } }

        set.notify(1)

        #expect(calls.value == 0)
    }

    // MARK: On several threads

    @Test("An observer removed by another thread, which it waits for, is not called by the pass under way")
    func byAnotherThread() {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        set.add { _ in join { token.value?.remove() } }
        token.value = set.add { _ in calls.increment() }

        set.notify(1)

        #expect(calls.value == 0)
    }

    @Test(
        "Once `remove` has returned, no notification that begins later calls the observer",
        arguments: ObserverKind.inPlace)
    func noLaterPass(_ kind: ObserverKind) async {
        // Says what came first: the notifiers and the remover draw numbers from it.
        let clock = Counter()
        let violations = Counter()
        let isDone = Signal()

        await onThreads(3) { [set] thread in
            guard thread == 0 else {
                while !isDone.isSet { set.notify(clock.increment()) }
                return
            }
            for _ in 0..<many(300) {
                let called = Signal()
                let removedAt = Shared(Int.max)
                let registration = kind.add(to: set) { begunAt in
                    called.set()
                    if begunAt > removedAt.value { violations.increment() }
                }
                called.wait()
                registration.token.remove()
                removedAt.value = clock.increment()
                registration.end()
            }
            isDone.set()
        }

        #expect(violations.value == 0)
    }

    @Test("Once the set has been emptied, no notification that begins later calls an observer of before")
    func noLaterPassAfterRemoveAll() async {
        let clock = Counter()
        let violations = Counter()
        let isDone = Signal()

        await onThreads(3) { [set] thread in
            guard thread == 0 else {
                while !isDone.isSet { set.notify(clock.increment()) }
                return
            }
            for _ in 0..<many(200) {
                let called = Signal()
                let removedAt = Shared(Int.max)
                for _ in 0..<20 {
                    set.add { begunAt in
                        called.set()
                        if begunAt > removedAt.value { violations.increment() }
                    }
                }
                called.wait()
                set.removeAll()
                removedAt.value = clock.increment()
            }
            isDone.set()
        }

        #expect(violations.value == 0)
    }

    @Test(
        "A one-time observer is either called or removed, never both, and never twice",
        arguments: [ObserverKind.once, .ownerOnce])
    func onceOrRemoved(_ kind: ObserverKind) async {
        let calls = (0..<2_000).map { _ in Counter() }
        let registrations = calls.map { counter in kind.add(to: set) { _ in counter.increment() } }
        let removed = (0..<2_000).map { _ in Counter() }

        await race(times: 2_000) { [set] round in
            set.notify(round)
        } _: { round in
            if registrations[round].token.remove() { removed[round].increment() }
        }

        for (call, removal) in zip(calls, removed) { #expect(call.value + removal.value == 1) }
        #expect(set.isEmpty)
    }

    // MARK: In the observer's own isolation

    static let ofTheMainActor: [ObserverKind] = [.mainActor, .mainActorOwner, .mainActorMethod, .mainActorOnce]

    @Test("Removed on the main actor, its observer is not called with what is enqueued", arguments: ofTheMainActor)
    @MainActor func onTheMainActor(_ kind: ObserverKind) async {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in calls.increment() }
        // This test occupies the main actor, so that all of it has to wait.
        join { [set] in for value in 0..<100 { set.notify(value) } }

        #expect(registration.token.remove())
        await set.settled()

        #expect(calls.value == 0)
        registration.end()
    }

    @Test("Emptied on the main actor, a set does not call the actor's observers any more", arguments: ofTheMainActor)
    @MainActor func emptiedOnTheMainActor(_ kind: ObserverKind) async {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in calls.increment() }
        join { [set] in for value in 0..<100 { set.notify(value) } }

        set.removeAll()
        await set.settled()

        #expect(calls.value == 0)
        registration.end()
    }

    @Test("Removed on the main actor by owner, its observer is not called with what is enqueued")
    @MainActor func ownerRemovedOnTheMainActor() async {
        let calls = Counter()
        let owner = Tracked()
        set.add(owner) { _, _ in calls.increment() }
        join { [set] in for value in 0..<100 { set.notify(value) } }

        #expect(set.removeAll(ownedBy: owner) == 1)
        await set.settled()

        #expect(calls.value == 0)
    }

    @Test("Removed on the main actor between two turns of a long delivery, its observer is not called again")
    @MainActor func betweenTwoTurns() async {
        let calls = Counter()
        let token = set.add { _ in calls.increment() }
        join { [set] in for value in 0..<10_000 { set.notify(value) } }

        // Behind the first turn, and before the second.
        let before = await Task { @MainActor in
            token.remove()
            return calls.value
        }.value
        await set.settled()

        #expect(before < 10_000)
        #expect(calls.value == before)
    }

    @Test("Removed on the actor that owns it, an observer is not called with what is enqueued")
    func onItsOwner() async {
        let calls = Counter()
        let keeper = Keeper()
        let token = set.add(keeper) { (_: isolated Keeper, _) in calls.increment() }

        await keeper.perform { [set] _ in
            join { for value in 0..<100 { set.notify(value) } }
            #expect(token.remove())
        }
        await set.settled()

        #expect(calls.value == 0)
    }

    @Test("Removed on its global actor, an observer is not called with what is enqueued")
    @Elsewhere func onItsGlobalActor() async {
        let calls = Counter()
        let token = set.add { _ in calls.increment() }
        join { [set] in for value in 0..<100 { set.notify(value) } }

        #expect(token.remove())
        await set.settled()

        #expect(calls.value == 0)
    }

    @Test("Removed on its serial queue, an observer is not called with what is enqueued")
    func onItsQueue() async {
        let calls = Counter()
        let allEnqueued = Signal()
        let queue = DispatchQueue(label: "serial")
        let token = set.add(on: queue) { _ in calls.increment() }
        queue.async {
            allEnqueued.wait()
            #expect(token.remove())
        }

        for value in 0..<100 { set.notify(value) }
        allEnqueued.set()
        await set.settled()
        queue.sync {}

        #expect(calls.value == 0)
    }

    @Test("An observer that removes itself is not called with what is enqueued", arguments: ObserverKind.lasting)
    func byItself(_ kind: ObserverKind) async {
        let calls = Counter()
        let allEnqueued = Signal()
        let token = Shared<ObserverToken?>(nil)
        let registration = kind.add(to: set) { _ in
            if !kind.isInPlace { allEnqueued.wait() }
            calls.increment()
            #expect(token.value?.remove() == true)
        }
        token.value = registration.token

        for value in 0..<100 { set.notify(value) }
        allEnqueued.set()
        await set.settled()

        #expect(calls.value == 1)
        registration.end()
    }

    @Test(
        "Removed anywhere else, an observer gets at most the call on which its isolation has decided",
        arguments: ObserverKind.hopping)
    func fromElsewhere(_ kind: ObserverKind) async {
        for _ in 0..<50 {
            let isRemoved = Signal()
            let late = Counter()
            let called = Signal()
            let registration = kind.add(to: set) { _ in
                if isRemoved.isSet { late.increment() }
                called.set()
            }

            for value in 0..<500 { set.notify(value) }
            await eventually { called.isSet }
            registration.token.remove()
            isRemoved.set()
            await set.settled()

            #expect(late.value <= 1)
            registration.end()
        }
    }
}
