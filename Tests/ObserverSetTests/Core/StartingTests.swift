import Dispatch
import Testing

@testable import ObserverSet

/// The current value first, then each change.
@Suite("Sources that start with a value", .lifetimesChecked, .againstHanging)
struct StartingTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()

    // MARK: Which observers receive it

    @Test("An observer receives the value, then what the source sends; other observers receive nothing")
    func valueFirst() {
        let others = Log<Int>()
        _ = set.addNonisolated { others.append($0) }
        _ = set.starting(with: 1).addNonisolated { [log] in log.append($0) }
        set.notify(2)

        expect(log.entries, equals: [1, 2])
        expect(others.entries, equals: [2])
    }

    @Test("An observer that an owner has receives it, too")
    func owned() {
        let owner = Tracked()
        set.starting(with: 1).addNonisolated(owner) { [log] _, value in log.append(value) }
        set.notify(2)

        expect(log.entries, equals: [1, 2])
    }

    @Test("A map behind it maps the value, a filter may hold it back, and a map in front does not")
    func derived() {
        _ = set.starting(with: 1).map { $0 * 10 }.addNonisolated { [log] in log.append($0) }
        _ = set.starting(with: 2).filter { $0 > 2 }.addNonisolated { [log] in log.append($0) }
        _ = set.map { $0 * 100 }.starting(with: 3).addNonisolated { [log] in log.append($0) }
        set.notify(4)

        expect(log.entries, equals: [10, 3, 40, 4, 400])
    }

    @Test("One that is called once is called with the value, and leaves nothing behind")
    @MainActor func once() async {
        let isolated = set.starting(with: 1).once.add { @MainActor [log] in log.append($0) }
        let awaiting = set.starting(with: 2).once.addAsync { [log] in log.append($0) }
        let plain = set.starting(with: 3).once.addNonisolated { [log] in log.append($0) }
        await set.settled()
        await eventually { log.count == 3 }
        set.notify(4)
        await set.settled()

        expect(log.entries.sorted(), equals: [1, 2, 3])
        #expect(set.isEmpty)
        #expect(![isolated, awaiting, plain].contains { $0.isActive || $0.remove() })
    }

    @Test("A source that sends once sends the value besides")
    func behindOnce() {
        let token = set.once.starting(with: 1).addNonisolated { [log] in log.append($0) }
        set.notify(2)
        set.notify(3)

        expect(log.entries, equals: [1, 2])
        #expect(!token.isActive)
    }

    // MARK: Where it is called

    @Test("An observer of the caller's actor is called before add returns")
    func inPlace() async {
        let keeper = Keeper()
        await keeper.perform { [set, log] keeper in
            set.starting(with: 1).add(keeper) { (_: isolated Keeper, value) in log.append(value) }
            log.append(0)
        }

        expect(log.entries, equals: [1, 0])
    }

    @Test("An observer of another actor is called later, in order")
    func posted() async {
        let keeper = Keeper()
        await keeper.perform { [set, log] keeper in
            join {
                set.starting(with: 1).add(keeper) { (_: isolated Keeper, value) in log.append(value) }
                set.notify(2)
            }
            log.append(0)
        }
        await set.settled()

        expect(log.entries, equals: [0, 1, 2])
    }

    @Test("An observer on a queue and one that awaits receive it first")
    func queuesAndAwaits() async {
        let queue = DispatchQueue(label: "queue")
        let awaited = Log<Int>()
        _ = set.starting(with: 1).addNonisolated(on: queue) { [log] in log.append($0) }
        _ = set.starting(with: 1).addAsync { awaited.append($0) }
        set.notify(2)
        await set.settled()

        expect(log.entries, equals: [1, 2])
        expect(awaited.entries, equals: [1, 2])
    }

    @Test("What an observer notifies in its call with the value, it receives")
    @MainActor func notifiesInItsFirstCall() {
        _ = set.starting(with: 1).add { @MainActor [weak set, log] value in
            log.append(value)
            if value == 1 { set?.notify(2) }
        }

        expect(log.entries, equals: [1, 2])
    }

    // MARK: Its registration

    @Test("It is one registration, which its token and the set end")
    func registration() {
        let token = set.starting(with: 1).addNonisolated { [log] in log.append($0) }
        expect(set.count, equals: 1)
        #expect(set.remove(token))
        #expect(!set.remove(token))
        #expect(set.isEmpty)
    }

    @Test("A value that waits is not delivered any more when the token has been removed")
    func removedBefore() async {
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        let sources: [any NotificationSource<Int>] = [
            set.starting(with: 1), set.once.starting(with: 1), set.once.starting(with: 1).map { $0 },
        ]
        let tokens = sources.map { source in
            source.addNonisolated(on: queue) { [log] in log.append($0) }
        }
        expect(tokens.map(\.pendingCount), equals: [1, 1, 1])
        expect(tokens.map { $0.remove() }, equals: [true, true, true])
        #expect(!tokens.contains { $0.isActive })
        queue.resume()
        for token in tokens { await token.removeAndWait() }

        #expect(log.entries.isEmpty)
    }

    @Test("A value that waits is not delivered any more when the set or a map's token has removed the observer")
    func removedOtherwise() async {
        let queue = DispatchQueue(label: "queue")
        let owner = Keeper()
        let removals: [@Sendable (ObserverToken) -> Void] = [
            { $0.remove() }, { [set] _ in set.removeAll() }, { [set] _ in set.removeAll(ownedBy: owner) },
        ]
        for (number, remove) in removals.enumerated() {
            queue.suspend()
            let source = set.starting(with: number).map { $0 * 10 }
            let token = source.addNonisolated(on: queue, owner) { [log] _, value in log.append(value) }
            expect(token.pendingCount, equals: 1)
            remove(token)
            expect(token.pendingCount, equals: 0)
            queue.resume()
            await token.removeAndWait()
        }

        #expect(log.entries.isEmpty)
    }

    @Test("A value that found no room is counted")
    func dropped() async {
        let isOpen = Signal()
        let token = set.starting(with: 1).addAsync(buffering: .newest(1)) { [log] value in
            await eventually { isOpen.isSet }
            log.append(value)
        }
        set.notify(2)
        set.notify(3)
        set.notify(4)
        isOpen.set()
        await set.settled()

        expect(log.entries.last, equals: 4)
        expect(log.entries.count + token.droppedCount, equals: 4)
    }

    @Test("The first call of an observer that awaits is cancelled when the token is removed")
    func cancelled() async {
        let isCalled = Signal()
        let token = set.starting(with: 1).addAsync { [log] _ in
            isCalled.set()
            await cancellation()
            log.append(Task.isCancelled ? 1 : 0)
        }
        await eventually { isCalled.isSet }
        #expect(await token.removeAndWait())

        expect(log.entries, equals: [1])
    }

    @Test("An owner ends with its last reference, and what it captured with the registration")
    func lifetimes() async {
        var owner: Tracked? = Tracked()
        weak let weakOwner = owner
        let captured = Tracked()
        let keeper = Keeper()
        set.starting(with: 1).addNonisolated(owner!) { [captured] _, _ in _ = captured }
        let token = set.starting(with: 1).add(keeper) { [captured] (_: isolated Keeper, _) in _ = captured }
        await set.settled()
        owner = nil

        #expect(weakOwner == nil)
        token.remove()
        set.removeAll()
    }
}
