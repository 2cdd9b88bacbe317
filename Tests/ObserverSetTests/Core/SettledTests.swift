import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// `settled()` returns when every value enqueued before the call has been delivered or dropped.
@Suite("Waiting with `settled()`", .lifetimesChecked, .againstHanging)
struct SettledTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()

    @Test("A set without observers is settled")
    func empty() async {
        await set.settled()
        set.notify(1)
        await set.settled()

        #expect(set.isEmpty)
    }

    @Test("`settled()` has nothing to wait for after synchronous observers", arguments: ObserverKind.inPlace)
    func synchronous(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        set.notify(1)
        expect(log.entries, equals: [1])
        await set.settled()

        expect(log.entries, equals: [1])
        registration.end()
    }

    @Test("`settled()` returns when the enqueued values have been delivered", arguments: ObserverKind.hopping)
    func delivered(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for round in 0..<200 {
            set.notify(round)
            await set.settled()
            expect(log.count, equals: (kind.isOnce ? 1 : round + 1))
        }
        registration.end()
    }

    @Test("`settled()` returns when its task is cancelled", arguments: [ObserverKind.queue, .awaited])
    func cancelled(_ kind: ObserverKind) async {
        let mayEnd = Signal()
        let isCalled = Signal()
        let queue = DispatchQueue(label: "stuck")
        let door = Door()
        if kind == .queue {
            _ = set.addNonisolated(on: queue) { _ in
                isCalled.set()
                mayEnd.wait()
            }
        } else {
            _ = set.addAsync { _ in
                isCalled.set()
                await door.pass()
            }
        }
        set.notify(1)
        await eventually { isCalled.isSet }

        let waiting = Task { [set] in await set.settled() }
        let later = Task { [set] in
            while !Task.isCancelled { await Task.yield() }
            await set.settled()
        }
        for _ in 0..<100 { await Task.yield() }
        waiting.cancel()
        later.cancel()
        await waiting.value
        await later.value

        mayEnd.set()
        door.open()
        await set.settled()
    }

    @Test(
        "In a task of its own `settled()` waits, though the task that awaits it is cancelled",
        arguments: [ObserverKind.queue, .awaited], [true, false])
    func teardownInACancelledTask(_ kind: ObserverKind, isCancelledBefore: Bool) async {
        let (isCalled, mayEnd, isWaiting) = (Signal(), Signal(), Signal())
        let door = Door()
        let outcome = Log<String>()
        if kind == .queue {
            _ = set.addNonisolated(on: DispatchQueue(label: "slow")) { _ in
                isCalled.set()
                mayEnd.wait()
                outcome.append("the call has returned")
            }
        } else {
            _ = set.addAsync { _ in
                isCalled.set()
                await door.pass()
                outcome.append("the call has returned")
            }
        }
        set.notify(1)
        await eventually { isCalled.isSet }

        let scope = Task { [set] in
            while isCancelledBefore && !Task.isCancelled { await Task.yield() }
            await Task {
                isWaiting.set()
                await set.settled()
            }.value
            outcome.append("settled, cancelled: \(Task.isCancelled)")
        }
        if !isCancelledBefore { await eventually { isWaiting.isSet } }
        scope.cancel()
        await eventually { isWaiting.isSet }
        // If `settled()` did not wait, it would very likely have returned by now. If it does wait, this loop changes
        // nothing.
        for _ in 0..<100 { await Task.yield() }
        mayEnd.set()
        door.open()
        await scope.value

        expect(outcome.entries, equals: ["the call has returned", "settled, cancelled: true"])
    }

    @Test("`settled()` waits for what was notified to the observers' actors by other sets, too")
    func otherSets() async {
        let keeper = Keeper()
        let other = ObserverSet<Int>()
        set.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }
        other.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }

        for _ in 0..<100 {
            set.notify(1)
            other.notify(2)
            await set.settled()
            expect(log.entries, equals: [1, 2])
            log.removeAll()
        }
    }

    @Test("`settled()` waits for all observers")
    func allObservers() async {
        let registrations = ObserverKind.hopping.map { kind in kind.add(to: set) { [log] in log.append($0) } }

        for value in 0..<100 { set.notify(value) }
        await set.settled()

        let repeating = ObserverKind.lastingHopping.count
        expect(log.count, equals: 100 * repeating + (ObserverKind.hopping.count - repeating))
        registrations.forEach { $0.end() }
    }

    @Test(
        "While `settled()` waits for one observer, values that arrive for another do not hold it up",
        arguments: [0, 1])
    func laterValuesElsewhere(_ quick: Int) async {
        let queues = (0..<2).map { DispatchQueue(label: "\($0)") }
        for queue in queues {
            queue.suspend()
            _ = set.addNonisolated(on: queue) { [log] value in log.append(value) }
        }
        set.notify(1)
        let waiting = await taskThatWaits(for: set)
        // One queue delivers the first value, and then holds the second one, as long as it is suspended.
        queues[quick].resume()
        queues[quick].sync {}
        queues[quick].suspend()
        set.notify(2)
        queues[1 - quick].resume()

        await waiting.value

        expect(log.entries.count { $0 == 1 }, equals: 2)
        queues[quick].resume()
        await set.settled()
        expect(log.count, equals: 4)
    }

    @Test("The mailbox of an observer that is removed during a notification is kept until it is empty")
    func removedDuringANotification() async {
        let queue = DispatchQueue(label: "removed")
        queue.suspend()
        let token = set.addNonisolated(on: queue) { _ in }
        let registry = set.registry!
        let traversal = registry.traversal()
        set.notify(1)
        token.remove()

        expect(registry.mailboxes().count, equals: 1)
        _ = consume traversal
        set.add { _ in }.remove()
        expect(registry.mailboxes().count, equals: 1)
        queue.resume()

        await set.settled()
        await eventually { registry.mailboxes().isEmpty }
        #expect(registry.mailboxes().isEmpty)
    }

    @Test("`settled()` waits for the slowest observer, and not only for the first")
    func slowest() async {
        let mayGoOn = Signal()
        let queue = DispatchQueue(label: "slow")
        _ = set.addNonisolated(on: DispatchQueue(label: "fast")) { _ in }
        _ = set.addNonisolated(on: queue) { [log] value in
            mayGoOn.wait()
            log.append(value)
        }
        set.notify(1)
        let waiting = await taskThatWaits { [set, log] in
            await set.settled()
            return log.entries
        }

        #expect(log.entries.isEmpty)
        mayGoOn.set()

        expect(await waiting.value, equals: [1])
    }

    @Test("`settled()` does not wait for values that are enqueued later")
    func notForLaterValues() async {
        let mayEnd = Signal()
        let isCalled = Signal()
        _ = set.addNonisolated(on: DispatchQueue(label: "serial")) { [log] value in
            log.append(value)
            guard value == 1 else { return mayEnd.wait() }
            isCalled.wait()
        }
        set.notify(1)
        let waiting = Task { [set] in await set.settled() }
        // The task may begin late, and would then have to wait for any value that had been notified by that time. So
        // the second value is notified only after the task has ended.
        isCalled.set()
        await waiting.value

        set.notify(2)
        expect(log.entries.first, equals: 1)
        mayEnd.set()
        await set.settled()
        expect(log.entries, equals: [1, 2])
    }

    @Test("`settled()` waits for the call of an observer that was removed during the call", arguments: [false, true])
    func removedDuringItsCall(_ all: Bool) async {
        let isInside = Signal()
        let mayEnd = Signal()
        let token = set.addNonisolated(on: DispatchQueue(label: "serial")) { [log] value in
            isInside.set()
            mayEnd.wait()
            log.append(value)
        }
        set.notify(1)
        set.notify(2)
        await eventually { isInside.isSet }
        if all { set.removeAll() } else { token.remove() }

        let waiting = await taskThatWaits { [set, log] in
            await set.settled()
            return log.entries
        }
        mayEnd.set()

        expect(await waiting.value, equals: [1])
    }

    @Test("`settled()` waits for an observer that was removed while a notification could still reach it")
    func removedDuringAPass() async {
        let isInside = Signal()
        let mayEnd = Signal()
        let queue = DispatchQueue(label: "serial")
        let mayRun = Signal()
        queue.async { mayRun.wait() }
        let token = set.addNonisolated(on: queue) { [log] value in log.append(value) }
        _ = set.add { _ in
            isInside.set()
            mayEnd.wait()
        }
        let notifying = Task.detached { [set] in await onThread { set.notify(1) } }
        await eventually { isInside.isSet }
        token.remove()
        queue.async { [log] in log.append(2) }

        let waiting = await taskThatWaits { [set, log] in
            await set.settled()
            return log.entries
        }
        mayRun.set()
        let settled = await waiting.value
        mayEnd.set()
        await notifying.value
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }

        #expect(settled.isEmpty || settled == [2], "the removed observer's value was dropped")
        expect(log.entries, equals: [2])
    }

    @Test("`settled()` waits for the call of an observer that is removed while `settled()` collects the observers")
    func removedDuringTheLook() async {
        for _ in 0..<many(400) {
            let set = ObserverSet<Int>()
            let isInside = Signal()
            let mayEnd = Signal()
            let hasEnded = Signal()
            // They make `settled()` take its time to collect the observers.
            for _ in 0..<2_000 { _ = set.add { _ in } }
            let token = set.addNonisolated(on: DispatchQueue(label: "serial")) { _ in
                isInside.set()
                mayEnd.wait()
                hasEnded.set()
            }
            set.notify(1)
            await eventually { isInside.isSet }
            let gate = Gate(2)
            let waiting = Task.detached {
                gate.pass()
                await set.settled()
                return hasEnded.isSet
            }

            await onThread {
                gate.pass()
                token.remove()
                for _ in 0..<100 { Thread.yield() }
                mayEnd.set()
            }

            #expect(await waiting.value)
        }
    }

    @Test("`settled()` waits for a value that is enqueued while its observer is being removed")
    func enqueuedWhileRemoved() async {
        let lifetimes = Lifetimes.current
        for _ in 0..<1_000 {
            let set = ObserverSet<Tracked>()
            let queue = DispatchQueue(label: "serial")
            queue.suspend()
            let token = set.addNonisolated(on: queue) { _ in }
            await race(times: 1) { _ in
                set.notify(Tracked(in: lifetimes))
            } _: { _ in
                token.remove()
            }
            let isWaiting = lifetimes.count > 0
            let mayGoOn = Signal()
            let waiting = Task.detached {
                await set.settled()
                return mayGoOn.isSet
            }

            for _ in 0..<10 { await Task.yield() }
            mayGoOn.set()
            queue.resume()

            #expect(await waiting.value || !isWaiting)
            await eventually { lifetimes.count == 0 }
        }
    }

    @Test("Values enqueued for an observer that is then removed are dropped, and `settled()` returns")
    func dropped() async {
        let mayGoOn = Signal()
        let queue = DispatchQueue(label: "serial")
        queue.async { mayGoOn.wait() }
        let token = set.addNonisolated(on: queue) { [log] in log.append($0) }
        for value in 0..<100 { set.notify(value) }

        token.remove()
        mayGoOn.set()
        await set.settled()

        #expect(log.entries.isEmpty)
    }

    @Test(
        "A task that an observer starts may await `settled()`",
        arguments: ObserverKind.hopping)
    func fromAnObserver(_ kind: ObserverKind) async {
        let hasSettled = Signal()
        let registration = kind.add(to: set) { [set, log] value in
            guard value == 1 else { return log.append(value) }
            set.notify(2)
            Task {
                await set.settled()
                log.append(10)
                hasSettled.set()
            }
        }

        set.notify(1)
        await eventually { hasSettled.isSet }

        await set.settled()

        #expect(hasSettled.isSet)
        if kind.isAwaited {
            // A task that was started inside the call does not wait for that call.
            expect(Set(log.entries), equals: [2, 10])
        } else {
            expect(log.entries, equals: (kind.isOnce ? [10] : [2, 10]))
        }
        registration.end()
        set.removeAll()
    }

    @Test("Awaiting `settled()` on the main actor lets the main actor's observers run")
    @MainActor func onTheMainActor() async {
        _ = set.add { [log] in log.append($0) }

        join { [set] in for value in 0..<5_000 { set.notify(value) } }
        await set.settled()

        expect(log.entries, equals: Array(0..<5_000))
    }

    @Test("Awaiting `settled()` on an actor lets the actor's observers run")
    func onAnActor() async {
        actor Index {
            var heard = 0

            func run(_ set: ObserverSet<Int>) async -> Int {
                set.add(self) { (index: isolated Index, _) in index.heard += 1 }
                join { for value in 0..<5_000 { set.notify(value) } }
                await set.settled()
                return heard
            }
        }

        expect(await Index().run(set), equals: 5_000)
    }

    @Test("Many tasks may notify and await `settled()` at once", arguments: ObserverKind.lastingHopping)
    func manyTasks(_ kind: ObserverKind) async {
        let delivered = Counter()
        let registration = kind.add(to: set) { _ in delivered.increment() }

        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { [set] in
                    for value in 0..<200 {
                        let before = delivered.value
                        set.notify(value)
                        await set.settled()
                        #expect(delivered.value > before)
                    }
                }
            }
        }

        expect(delivered.value, equals: 1_600)
        registration.end()
    }
}
