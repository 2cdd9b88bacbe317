import Dispatch
import Foundation
import ObserverSet
import Synchronization
import Testing

/// Promise 4: after `remove` has returned, no traversal that reaches the observer later calls it, on any thread.
///
/// An observer that is removed in its own isolation is never called again, not even with values that are already
/// enqueued.
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

        expect(calls.value, equals: 0)
        registration.end()
    }

    @Test("An observer removed by an earlier one is not called", arguments: ObserverKind.allCases)
    func byAnEarlierOne(_ kind: ObserverKind) async {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        _ = set.once.add { _ in expect(token.value?.remove(), equals: true) }
        let registration = kind.add(to: set) { _ in calls.increment() }
        token.value = registration.token

        set.notify(1)
        await set.settled()

        expect(calls.value, equals: 0)
        registration.end()
    }

    /// Scenario 1: an observer removes itself.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_self); thor#95, minivents#29, tiny-emitter#1, cytoscape.js#1953
    /// (the neighbour was skipped).
    ///
    /// Scenario 2: an observer removes a later one, its neighbour or another.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_after); node#1182, eventemitter3#262 (the removed
    /// observer was still called), tseep#28 (a crash: the live array indexed by its old length), Foundation's
    /// NotificationCenter.
    ///
    /// Scenario 3: an observer removes an earlier one.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_prior).
    @Test(
        "Any observer may remove any other: a removed one is not called afterwards, and no other is skipped",
        arguments: ObserverKind.lastingInPlace, 0..<4)
    func eachRemovesEach(_ kind: ObserverKind, remover: Int) {
        for removed in 0..<4 {
            let row = Row(4, kind)
            let left = (0..<4).filter { $0 != removed }

            let during = row.notify { row, index in
                if index == remover { #expect(row.remove(removed)) }
            }
            expect(during, equals: (0..<4).filter { $0 <= remover || $0 != removed })
            expect(row.notify(), equals: left)

            let again = row.notify { row, index in
                if index == left[0] { #expect(row.remove(left[2])) }
            }
            expect(again, equals: Array(left.prefix(2)))
        }
    }

    /// Scenario 1: all observers remove themselves.
    ///
    /// Source: boost signals2 test/deletion_test.cpp ("Mass suicide").
    @Test(
        "Observers that all remove themselves are each called once, and none is left",
        arguments: ObserverKind.lastingInPlace)
    func allRemoveThemselves(_ kind: ObserverKind) {
        let row = Row(100, kind)

        let during = row.notify { row, index in #expect(row.remove(index)) }
        let after = row.notify()

        expect(during, equals: Array(0..<100))
        expect(after, equals: [])
        expect(row.set.count, equals: 0)
        #expect(row.set.isEmpty)
    }

    /// Scenario 4: an observer removes all.
    @Test(
        "When an observer empties the set, the ones after it are not called, and the set is empty at once",
        arguments: ObserverKind.lastingInPlace, 0..<5)
    func removeAll(_ kind: ObserverKind, remover: Int) {
        let row = Row(5, kind)

        let during = row.notify { row, index in
            guard index == remover else { return }
            row.set.removeAll()
            expect(row.set.count, equals: 0)
            #expect(row.set.isEmpty)
        }
        let after = row.notify()

        expect(during, equals: Array(0...remover))
        expect(after, equals: [])
    }

    @Test("When an observer removes all observers of an owner, those that come later are not called")
    func removeAllOfAnOwner() {
        let owner = Tracked()
        let other = Tracked()
        let log = Log<String>()
        set.add(owner) { _, _ in log.append("before") }
        _ = set.once.add { [set] _ in expect(set.removeAll(ownedBy: owner), equals: 3) }
        set.add(owner) { _, _ in log.append("after") }
        set.add(other) { _, _ in log.append("other") }
        set.add(owner) { _, _ in log.append("last") }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["before", "other", "other"])
    }

    @Test(
        "A removal reaches notifications that traverse a snapshot that has been replaced since",
        arguments: [1, 100, 10_000])
    func afterGrowth(_ added: Int) {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        _ = set.once.add { [set] _ in
            for _ in 0..<added { _ = set.add { _ in } }
            expect(token.value?.remove(), equals: true)
        }
        token.value = set.add { _ in calls.increment() }

        set.notify(1)

        expect(calls.value, equals: 0)
    }

    @Test("A removal reaches notifications that traverse a snapshot that has been compacted since")
    func afterCompaction() {
        let calls = Counter()
        let tokens = Shared<[ObserverToken]>([])
        _ = set.once.add { _ in
            // This compacts the set several times; during the last removals the notification walks a snapshot that has
            // been replaced.
            for token in tokens.value { #expect(token.remove()) }
        }
        tokens.value = (0..<1_000).map { _ in set.add { _ in calls.increment() } }

        set.notify(1)

        expect(calls.value, equals: 0)
        #expect(set.isEmpty)
    }

    @Test("Emptying the set reaches notifications that traverse a snapshot that has been replaced since")
    func removeAllAfterGrowth() {
        let calls = Counter()
        _ = set.once.add { [set] _ in
            for _ in 0..<100 { _ = set.add { _ in calls.increment() } }
            set.removeAll()
        }
        for _ in 0..<3 { _ = set.add { _ in calls.increment() } }

        set.notify(1)

        expect(calls.value, equals: 0)
    }

    /// Scenario 7 for many observers, which remove and replace one another while they are being walked.
    ///
    /// Source: as in promise 1; this one is for the address sanitizer.
    @Test("Observers that remove and replace one another at random are never called on released captures")
    func randomReplacement() {
        var random = SeededGenerator(seed: 7)
        let world = ReplacingWorld()
        for _ in 0..<100 { world.addOne(seed: random.next()) }

        for _ in 0..<200 { world.set.notify() }

        #expect(world.calls.value > 5_000)
        expect(world.brokenCalls.value, equals: 0)
        expect(world.set.count, equals: 100)
        world.set.removeAll()
        expect(Lifetimes.current.count, equals: 0)
    }

    // MARK: On several threads

    @Test("An observer removed by a thread that an earlier observer waits for is not called by that notification")
    func byAnotherThread() {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        _ = set.add { _ in join { token.value?.remove() } }
        token.value = set.add { _ in calls.increment() }

        set.notify(1)

        expect(calls.value, equals: 0)
    }

    /// Scenario 34: removal while another thread notifies.
    ///
    /// Source: stream-chat-swift#3361, godot#34752, LDEventSource (ios-client-sdk#222), Kingfisher#2539.
    @Test(
        "After `remove` returns, each thread makes at most one call already decided on, and later notifications none",
        .serialized, arguments: ObserverKind.inPlace)
    func noLaterPass(_ kind: ObserverKind) async {
        let notifiers = 2
        // Determines what came first: each notification and each removal draws a number from it.
        let clock = Counter()
        let rounds = Log<(round: Round, removedAt: Int)>()
        let isDone = Signal()

        await onThreads(notifiers + 1) { [set] thread in
            guard thread == notifiers else {
                while !isDone.isSet { set.notify(clock.increment()) }
                return
            }
            for number in 0..<many(300) {
                let round = Round()
                let begun = clock.value
                let registration = kind.add(to: set) { round.wasCalled(inPass: $0) }
                // Some observers are removed after they have been called. Others may be reached for the first time by a
                // traversal that is under way.
                if number.isMultiple(of: 2) {
                    round.called.wait()
                } else {
                    while clock.value == begun { Thread.yield() }
                }
                registration.token.remove()
                round.removalHasReturned()
                rounds.append((round: round, removedAt: clock.increment()))
                registration.end()
            }
            isDone.set()
        }

        // All threads have ended: nothing more can be called.
        expect(rounds.count, equals: many(300))
        #expect(rounds.entries.allSatisfy { $0.round.lateCalls <= notifiers })
        #expect(rounds.entries.allSatisfy { $0.round.lastPass <= $0.removedAt })
    }

    @Test("After the set has been emptied, notifications that begin later call none of the earlier observers")
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
                    _ = set.add { begunAt in
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

        expect(violations.value, equals: 0)
    }

    // MARK: In the observer's own isolation

    @Test(
        "A main actor's observer removed on the main actor, in any way, is not called with values already enqueued",
        arguments: WayOfRemoving.ofEach(ObserverKind.ofTheMainActor))
    @MainActor func onTheMainActor(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in calls.increment() }
        // This test occupies the main actor, so all values have to wait.
        join { [set] in for value in 0..<100 { set.notify(value) } }

        #expect(removal.perform(on: set, registration))
        await set.settled()

        expect(calls.value, equals: 0)
        registration.end()
    }

    @Test("A main actor's observer removed there between two turns of a long delivery is not called again")
    @MainActor func betweenTwoTurns() async {
        let calls = Counter()
        let token = set.add { _ in calls.increment() }
        join { [set] in for value in 0..<10_000 { set.notify(value) } }

        // This runs behind the first turn of the delivery, and before the second.
        let before = await Task { @MainActor in
            token.remove()
            return calls.value
        }.value
        await set.settled()

        #expect(before < 10_000)
        expect(calls.value, equals: before)
    }

    @Test("An observer removed on the actor that owns it is not called with values already enqueued")
    func onItsOwner() async {
        let calls = Counter()
        let keeper = Keeper()
        let token = set.add(keeper) { (_: isolated Keeper, _) in calls.increment() }

        await keeper.perform { [set] _ in
            join { for value in 0..<100 { set.notify(value) } }
            #expect(token.remove())
        }
        await set.settled()

        expect(calls.value, equals: 0)
    }

    @Test("An observer removed on its global actor is not called with values already enqueued")
    @Elsewhere func onItsGlobalActor() async {
        let calls = Counter()
        let token = set.add { _ in calls.increment() }
        join { [set] in for value in 0..<100 { set.notify(value) } }

        #expect(token.remove())
        await set.settled()

        expect(calls.value, equals: 0)
    }

    /// Scenario 37: an observer is removed on its queue.
    ///
    /// Source: RxSwift#38 (the guarantee), #1778 and #2268 (where it was broken), RxBinding#37.
    @Test(
        "An observer removed on its serial queue, in any way, is not called with values already enqueued",
        arguments: WayOfRemoving.allCases)
    func onItsQueue(_ removal: WayOfRemoving) async {
        let calls = Counter()
        let allEnqueued = Signal()
        let owner = Tracked()
        let queue = DispatchQueue(label: "serial")
        let registration = KeptRegistration(set.addNonisolated(on: queue, owner) { _, _ in calls.increment() }, owner)
        queue.async { [set] in
            allEnqueued.wait()
            #expect(removal.perform(on: set, registration))
        }

        for value in 0..<100 { set.notify(value) }
        allEnqueued.set()
        await set.settled()
        queue.sync {}

        expect(calls.value, equals: 0)
        registration.end()
    }

    /// Scenario 37: an observer is removed by its own call.
    ///
    /// Source: as before.
    @Test(
        "An observer that removes itself, in any way, is not called with values already enqueued",
        arguments: WayOfRemoving.ofEach(ObserverKind.lasting))
    func byItself(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
        let log = Log<Int>()
        let allEnqueued = Signal()
        let registration = Shared<KeptRegistration?>(nil)
        registration.value = kind.add(to: set) { [set] value in
            if !kind.isInPlace { allEnqueued.wait() }
            log.append(value)
            if value == 2 { expect(registration.value.map { removal.perform(on: set, $0) }, equals: true) }
        }

        for value in 0..<100 { set.notify(value) }
        allEnqueued.set()
        await set.settled()

        expect(log.entries, equals: [0, 1, 2])
        registration.value = nil
    }

    /// Scenario 37: an observer is removed elsewhere.
    ///
    /// Source: as before.
    @Test(
        "An observer removed on another thread during its call, in any way, is not called again",
        arguments: WayOfRemoving.ofEach(ObserverKind.lastingHopping))
    func duringItsCall(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
        let log = Log<Int>()
        let isInside = Signal()
        let mayLeave = Signal()
        let registration = kind.add(to: set) { value in
            log.append(value)
            isInside.set()
            mayLeave.wait()
        }
        for value in 0..<100 { set.notify(value) }

        await onThread { [set] in
            isInside.wait()
            #expect(removal.perform(on: set, registration))
            mayLeave.set()
        }
        await set.settled()

        expect(log.entries, equals: [0], "only the call under way was made, with none of the waiting values")
        registration.end()
    }

    /// Scenario 37 without synchronisation: the removal may come at any moment.
    ///
    /// Source: as before.
    @Test(
        "An observer removed outside its isolation receives at most one more call, which was already decided on",
        arguments: ObserverKind.hopping)
    func fromElsewhere(_ kind: ObserverKind) async {
        for round in 0..<50 {
            let isRemoved = Signal()
            let late = Counter()
            let called = Signal()
            let registration = kind.add(to: set) { _ in
                if isRemoved.isSet { late.increment() }
                called.set()
            }

            for value in 0..<500 { set.notify(value) }
            if round.isMultiple(of: 2) { await eventually { called.isSet } }
            registration.token.remove()
            isRemoved.set()
            await set.settled()

            #expect(late.value <= 1)
            registration.end()
        }
    }

    @Test(
        "An observer that is added again receives nothing that waited for its old registration",
        arguments: [false, true])
    @MainActor func addedAgain(_ isAwaited: Bool) async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let owner = MainActorListener<Int> { log.append($0) }
        func add() -> ObserverToken {
            isAwaited
                ? set.addAsync(owner) { @MainActor owner, value in owner.hear(value) }
                : set.add(method: MainActorListener.hear, of: owner)
        }
        let token = add()
        join { for value in 1...3 { set.notify(value) } }

        token.remove()
        _ = add()
        join { set.notify(4) }
        await set.settled()

        expect(log.entries, equals: [4])
    }
}

/// Observers 0, 1, 2, … of one set, which log their number and then do what a test asks of them.
private final class Row: Sendable {
    typealias Action = @Sendable (Row, Int) -> Void

    let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let registrations = Shared<[KeptRegistration]>([])
    private let action = Shared<Action>({ _, _ in })

    init(_ count: Int, _ kind: ObserverKind) {
        registrations.value = (0..<count).map { index in
            kind.add(to: set) { [weak self] _ in self?.wasCalled(index) }
        }
    }

    /// Notifies once, and returns the observers that were called, in order.
    func notify(_ action: @escaping Action = { _, _ in }) -> [Int] {
        log.removeAll()
        self.action.value = action
        set.notify(1)
        return log.entries
    }

    @discardableResult
    func remove(_ index: Int) -> Bool { registrations.value[index].token.remove() }

    private func wasCalled(_ index: Int) {
        log.append(index)
        action.value(self, index)
    }
}

/// The calls of one observer, in relation to its removal.
private final class Round: Sendable {
    let called = Signal()
    private let isRemoved = Atomic<Bool>(false)
    private let late = Atomic<Int>(0)
    private let last = Atomic<Int>(0)

    var lateCalls: Int { late.load(ordering: .acquiring) }
    /// The latest notification that called the observer.
    var lastPass: Int { last.load(ordering: .acquiring) }

    func wasCalled(inPass pass: Int) {
        if isRemoved.load(ordering: .sequentiallyConsistent) { late.add(1, ordering: .relaxed) }
        last.max(pass, ordering: .acquiringAndReleasing)
        if !called.isSet { called.set() }
    }

    func removalHasReturned() {
        isRemoved.store(true, ordering: .sequentiallyConsistent)
    }
}

/// A set whose observers, each with a tracked capture, now and then remove one of them and add another.
private final class ReplacingWorld: Sendable {
    let set = ObserverSet<Void>()
    let calls = Shared(0)
    let brokenCalls = Shared(0)
    private let tokens = Shared<[ObserverToken]>([])

    func addOne(seed: UInt64) {
        let random = Shared(SeededGenerator(seed: seed))
        let token = set.add { [weak self, capture = Tracked()] in
            guard let self else { return }
            calls.value += 1
            if random.value.next() % 16 == 0 { replaceOne(&random.value) }
            if !capture.isIntact { brokenCalls.value += 1 }
        }
        tokens.value.append(token)
    }

    private func replaceOne(_ random: inout SeededGenerator) {
        let index = Int(random.next() % UInt64(tokens.value.count))
        tokens.value.remove(at: index).remove()
        addOne(seed: random.next())
    }
}
