import Dispatch
import ObserverSet
import Testing

/// Promise 2: observers of one notification are called (or enqueued) in the order in which they were added.
@Suite("Promise 2: registration order", .lifetimesChecked, .againstHanging)
struct Promise02RegistrationOrderTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("Observers of every kind that run in place are called in the order in which they were added")
    func inPlace() {
        let owner = Tracked()
        _ = set.add { [log] in log.append("closure \($0)") }
        set.add(owner) { [log] _, value in log.append("owner \(value)") }
        _ = set.addNonisolated { [log] in log.append("nonisolated \($0)") }
        _ = set.once.add { [log] in log.append("once \($0)") }
        set.addNonisolated(owner) { [log] _, value in log.append("nonisolated owner \(value)") }

        set.notify(1)
        set.notify(2)

        expect(
            log.entries,
            equals: [
                "closure 1", "owner 1", "nonisolated 1", "once 1", "nonisolated owner 1",
                "closure 2", "owner 2", "nonisolated 2", "nonisolated owner 2",
            ])
    }

    @Test("Observers of any two kinds that run in place are called in order", arguments: ObserverKind.inPlace)
    func pairs(_ first: ObserverKind) {
        for second in ObserverKind.inPlace {
            let set = ObserverSet<Int>()
            let log = Log<String>()
            let registrations = [
                first.add(to: set) { _ in log.append("first") },
                second.add(to: set) { _ in log.append("second") },
            ]

            set.notify(1)

            expect(log.entries, equals: ["first", "second"], "\(first), \(second)")
            registrations.forEach { $0.end() }
        }
    }

    @Test("On the main actor, its observers are called in order with those that belong to no actor")
    @MainActor func onTheMainActor() {
        let owner = Tracked()
        _ = set.addNonisolated { [log] _ in log.append("nonisolated") }
        _ = set.add { [log] _ in log.append("main") }
        set.add(owner) { [log] _, _ in log.append("main owner") }
        set.addNonisolated(owner) { [log] _, _ in log.append("nonisolated owner") }
        _ = set.once.add { [log] _ in log.append("main once") }

        set.notify(1)

        expect(log.entries, equals: ["nonisolated", "main", "main owner", "nonisolated owner", "main once"])
    }

    @Test("On an actor, its observers are called in order with those that belong to no actor")
    func onAnActor() async {
        let keeper = Keeper()
        _ = set.add { [log] _ in log.append("nonisolated") }
        set.add(keeper) { [log] (_: isolated Keeper, _) in log.append("first") }
        _ = set.add { [log] _ in log.append("nonisolated again") }
        set.add(keeper) { [log] (_: isolated Keeper, _) in log.append("second") }

        await keeper.perform { [set] _ in set.notify(1) }

        expect(log.entries, equals: ["nonisolated", "first", "nonisolated again", "second"])
    }

    @Test("Observers on one serial queue are called in the order in which they were added")
    func onASerialQueue() async {
        let queue = DispatchQueue(label: "serial")
        let log = Log<Int>()
        for index in 0..<20 { _ = set.addNonisolated(on: queue) { _ in log.append(index) } }

        for _ in 0..<100 {
            set.notify(1)
            await set.settled()
            // Waits for the end of the deliveries, too, so that none of them delivers the next round's value early.
            queue.sync {}

            expect(log.entries, equals: Array(0..<20))
            log.removeAll()
        }
    }

    @Test("Observers on the main actor, notified from elsewhere, are called in the order in which they were added")
    func onTheMainActorFromElsewhere() async {
        let log = Log<Int>()
        for index in 0..<20 { _ = set.add { @MainActor _ in log.append(index) } }

        for _ in 0..<100 {
            set.notify(1)
            await set.settled()
            await MainActor.run {}

            expect(log.entries, equals: Array(0..<20))
            log.removeAll()
        }
    }

    @Test("A value is enqueued for an observer on a queue before the next observer is called")
    func enqueuedInOrder() {
        let queue = DispatchQueue(label: "serial")
        _ = set.add { [log] _ in log.append("before") }
        _ = set.addNonisolated(on: queue) { [log] _ in log.append("queue") }
        _ = set.add { [log] _ in
            queue.sync {}
            log.append("after")
        }

        set.notify(1)

        expect(log.entries, equals: ["before", "queue", "after"])
    }

    @Test("A value is enqueued for an observer on a queue after the previous observer was called")
    func enqueuedNoSooner() async {
        let queue = DispatchQueue(label: "serial")
        _ = set.add { [log] _ in
            queue.sync {}
            log.append("before")
        }
        _ = set.addNonisolated(on: queue) { [log] _ in log.append("queue") }

        set.notify(1)
        await set.settled()

        expect(log.entries, equals: ["before", "queue"])
    }

    @Test("Removing, adding and compacting leave the others in order")
    func afterChanges() {
        let log = Log<Int>()
        var tokens = (0..<1_000).map { index in set.add { _ in log.append(index) } }
        var generator = SeededGenerator(seed: 2)
        var expected = Array(0..<1_000)

        for added in 1_000..<3_000 {
            let index = Int.random(in: 0..<tokens.count, using: &generator)
            tokens.remove(at: index).remove()
            expected.remove(at: index)
            if added.isMultiple(of: 3) {
                tokens.append(set.add { _ in log.append(added) })
                expected.append(added)
            }
            guard tokens.count > 1 else { break }
        }
        set.notify(1)

        expect(log.entries, equals: expected)
    }

    @Test("An observer that is removed and added again is called last")
    func addedAgain() {
        let token = set.add { [log] _ in log.append("first") }
        _ = set.add { [log] _ in log.append("second") }

        token.remove()
        _ = set.add { [log] _ in log.append("first, again") }
        set.notify(1)

        expect(log.entries, equals: ["second", "first, again"])
    }

    @Test("Observers added by several threads are called in the order in which each thread added them")
    func addedByThreads() async {
        let log = Log<(thread: Int, index: Int)>()
        await onThreads(4) { [set] thread in
            for index in 0..<500 { _ = set.add { _ in log.append((thread, index)) } }
        }

        set.notify(1)

        for thread in 0..<4 {
            expect(log.entries.filter { $0.thread == thread }.map(\.index), equals: Array(0..<500))
        }
    }
}
