import Dispatch
import Foundation
import ObserverSet
import Synchronization
import Testing

/// Guarantee 4: once `remove` has returned, a traversal that reaches the observer later doesn't call it, on any thread.
///
/// If an observer is removed on its own actor, it is never called again, not even with values that are already
/// enqueued.
@Suite("Guarantee 4: removed is removed", .lifetimesChecked, .againstHanging)
struct Guarantee04RemovedIsRemovedTests {
    private let set = ObserverSet<Int>()
}

extension Guarantee04RemovedIsRemovedTests {
    // MARK: On one thread

    @Test(
        "An observer that was removed, in any way, is not called, nor is one that an earlier observer removes",
        arguments: WayOfRemoving.ofEach(ObserverKind.allCases))
    func everyKind(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
        let calls = Counter()
        let later = Shared<KeptRegistration?>(nil)
        let before = kind.add(to: set) { _ in calls.increment() }
        #expect(removal.perform(on: set, before))
        _ = set.once.add { [set] _ in expect(later.value.map { removal.perform(on: set, $0) }, equals: true) }
        later.value = kind.add(to: set) { _ in calls.increment() }

        set.notify(1)
        await set.settled()

        expect(calls.value, equals: 0)
        later.value = nil
        before.end()
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
        "Observers that all remove themselves are called once, and none is left",
        arguments: ObserverKind.lastingInPlace)
    func allRemoveThemselves(_ kind: ObserverKind) {
        let row = Row(100, kind)

        let during = row.notify { row, index in #expect(row.remove(index)) }
        let after = row.notify()

        expect(during, equals: Array(0..<100))
        expect(after, equals: [])
        #expect(row.set.isEmpty)
    }

    @Test(
        "A removal reaches notifications whose snapshot has been replaced since, because the set grew or was compacted",
        arguments: [0, 1, 100, 10_000], [1, 1_000])
    func afterReplacement(added: Int, removed: Int) {
        for isEmptied in [false, true] {
            let calls = Counter()
            let tokens = Shared<[ObserverToken]>([])
            _ = set.once.add { [set] _ in
                for _ in 0..<added { _ = set.add { _ in calls.increment() } }
                if isEmptied { set.removeAll() }
                for token in tokens.value { expect(token.remove(), equals: !isEmptied) }
            }
            tokens.value = (0..<removed).map { _ in set.add { _ in calls.increment() } }

            set.notify(1)

            expect(calls.value, equals: 0)
            expect(set.count, equals: isEmptied ? 0 : added)
            set.removeAll()
        }
    }

    // MARK: On several threads

    /// Scenario 34: removal while another thread notifies.
    ///
    /// Source: stream-chat-swift#3361, godot#34752, LDEventSource (ios-client-sdk#222), Kingfisher#2539.
    @Test(
        "After a removal, each thread makes at most one call already decided on, and later notifications none",
        .serialized, arguments: WayOfRemoving.ofEach(ObserverKind.inPlace))
    func noLaterPass(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
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
                // One that is called once may have ended before.
                _ = removal.perform(on: set, registration)
                round.removalHasReturned()
                rounds.append((round: round, removedAt: clock.increment()))
                registration.end()
            }
            isDone.set()
        }

        // All threads have ended: nothing more can be called.
        expect(rounds.count, equals: many(300))
        expect(rounds.entries.allSatisfy { $0.round.lateCalls <= notifiers })
        expect(rounds.entries.allSatisfy { $0.round.lastPass <= $0.removedAt })
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

    @Test("An observer removed on its global actor, or on the actor that owns it, is not called with values enqueued")
    @Elsewhere func onItsActor() async {
        let calls = Counter()
        let token = set.add { _ in calls.increment() }
        join { [set] in for value in 0..<100 { set.notify(value) } }
        #expect(token.remove())

        let keeper = Keeper()
        let ofKeeper = set.add(keeper) { (_: isolated Keeper, _) in calls.increment() }
        await keeper.perform { [set] _ in
            join { for value in 0..<100 { set.notify(value) } }
            #expect(ofKeeper.remove())
        }
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

    /// Scenario 4: an observer removes all.
    ///
    /// Scenario 37: an observer is removed by its own call, or elsewhere meanwhile.
    ///
    /// Source: as before.
    @Test(
        "An observer removed in its call, by whichever thread, in any way, is not called with values already enqueued",
        arguments: WayOfRemoving.ofEach(ObserverKind.lasting))
    func inItsCall(_ kind: ObserverKind, _ removal: WayOfRemoving) async {
        for byAnotherThread in [false, true] {
            let (log, behind) = (Log<Int>(), Log<Int>())
            let allEnqueued = Signal()
            let registration = Shared<KeptRegistration?>(nil)
            let remove = { @Sendable [set] in
                expect(registration.value.map { removal.perform(on: set, $0) }, equals: true)
            }
            registration.value = kind.add(to: set) { value in
                if !kind.mayCallInPlace { allEnqueued.wait() }
                log.append(value)
                if value == 2 { byAnotherThread ? join(remove) : remove() }
            }
            _ = set.add { behind.append($0) }

            for value in 0..<100 { set.notify(value) }
            allEnqueued.set()
            await set.settled()

            expect(log.entries, equals: [0, 1, 2])
            let isEmptied = removal == .all && kind.mayCallInPlace
            expect(behind.entries, equals: Array(isEmptied ? 0..<2 : 0..<100), "the notification ends for all others")
            set.removeAll()
            registration.value = nil
        }
    }

    /// Scenario 37 without synchronisation: the removal may come at any moment.
    ///
    /// Source: as before.
    @Test("An observer removed outside its isolation receives at most one more call", arguments: ObserverKind.hopping)
    func fromElsewhere(_ kind: ObserverKind) async {
        for round in 0..<many(400) {
            let isRemoved = Signal()
            let late = Counter()
            let called = Signal()
            let registration = kind.add(to: set) { _ in
                if isRemoved.isSet { late.increment() }
                called.set()
            }

            for value in 0..<200 { set.notify(value) }
            if round.isMultiple(of: 2) { await eventually { called.isSet } }
            registration.token.remove()
            isRemoved.set()
            await set.settled()

            expect(late.value, atMost: 1)
            registration.end()
        }
    }

    @Test("An observer that is added again receives nothing that waited for it before", arguments: [false, true])
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

    func removalHasReturned() { isRemoved.store(true, ordering: .sequentiallyConsistent) }
}
