import Dispatch
import Testing

@testable import ObserverSet

/// The current value first, then each change.
@Suite("Sources that start with a value", .lifetimesChecked, .againstHanging)
struct StartingTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
}

extension StartingTests {
    // MARK: Which observers receive it

    @Test(
        "An observer of any kind receives the value, then what the source sends; other observers receive nothing",
        arguments: ObserverKind.lasting)
    func valueFirst(_ kind: ObserverKind) async {
        let others = Log<Int>()
        _ = set.addNonisolated { others.append($0) }
        let registration = kind.add(to: set.starting(with: 1)) { [log] in log.append($0) }
        // It is one registration.
        expect(set.count, equals: 2)
        set.notify(2)
        await set.settled()
        #expect(set.remove(registration.token) && !registration.token.remove())
        set.notify(3)
        await set.settled()

        expect(log.entries, equals: [1, 2])
        expect(others.entries, equals: [2, 3])
        registration.end()
    }

    @Test(
        "A map behind it maps the value, a filter may hold it back; a map in front does not, and `once` sends it besides"
    )
    func derived() {
        _ = set.starting(with: 1).map { $0 * 10 }.addNonisolated { [log] in log.append($0) }
        _ = set.starting(with: 2).filter { $0 > 2 }.addNonisolated { [log] in log.append($0) }
        _ = set.map { $0 * 100 }.starting(with: 3).addNonisolated { [log] in log.append($0) }
        let token = set.once.starting(with: 5).addNonisolated { [log] in log.append($0) }
        for value in [4, 6] { set.notify(value) }

        expect(log.entries, equals: [10, 3, 5, 40, 4, 400, 4, 60, 6, 600])
        #expect(!token.isActive)
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

    // MARK: Where it is called

    @Test("An observer of the caller's actor is called before add returns, and of another actor later, in order")
    func onActors() async {
        let keeper = Keeper()
        await keeper.perform { [set, log] keeper in
            set.starting(with: 1).add(keeper) { (_: isolated Keeper, value) in log.append(value) }
            log.append(0)
            join {
                set.starting(with: 2).add(keeper) { (_: isolated Keeper, value) in log.append(value) }
                set.notify(3)
            }
            log.append(0)
        }
        await set.settled()

        expect(log.entries, equals: [1, 0, 0, 2, 3, 3])
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

    @Test(
        "The first call of an observer that awaits is cancelled when the token is removed, behind `once` too",
        arguments: [false, true])
    func cancelled(isBehindOnce: Bool) async {
        let isCalled = Signal()
        let source: any NotificationSource<Int> = isBehindOnce ? set.once : set
        let token = source.starting(with: 1).addAsync { [log] _ in
            isCalled.set()
            await cancellation()
            log.append(Task.isCancelled ? 1 : 0)
        }
        await eventually { isCalled.isSet }
        #expect(await token.removeAndWait())

        expect(log.entries, equals: [1])
    }
}
