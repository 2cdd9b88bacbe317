import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// `settled()` returns when every value enqueued before the call has been delivered or dropped.
///
/// That all kinds of observers have been called by then, most suites rely on. Here is what it waits for besides, and for
/// what it does not.
@Suite("Waiting with `settled()`", .lifetimesChecked, .againstHanging)
struct SettledTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "serial")
}

extension SettledTests {
    @Test("Inside a notification, what is pending for observers that were removed in it is waited for")
    func removedInside() async {
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        let tokens = (0..<2).map { _ in set.addNonisolated(on: queue) { _ in } }
        let isOver = Shared<[Bool]>([])
        let remover = set.addNonisolated { [set] _ in
            for token in tokens { token.remove() }
            isOver.value.append(set.beginSettledWait().isOver)
        }
        set.notify(1)
        queue.resume()
        await set.settled()

        expect(isOver.value, equals: [false])
        remover.remove()
    }

    @Test("Mailboxes of removed observers that stay busy are looked at a few times each, however many there are")
    func busyMailboxes() {
        let looks = Counter()
        let rare = RareState()

        for _ in 0..<30_000 { rare.keep(BusyMailbox(looks)) }

        expect(looks.value, atMost: 60_000)
        expect(rare.busy.count, equals: 30_000)
    }

    @Test("`settled()` returns when its task is cancelled", arguments: [ObserverKind.queue, .awaited])
    func cancelled(_ kind: ObserverKind) async {
        let call = await StoppedCall(kind, of: set, by: set)

        let waiting = Task { [set] in await set.settled() }
        for _ in 0..<100 { await Task.yield() }
        waiting.cancel()
        await waiting.value

        await call.end()
        await set.settled()
    }

    @Test(
        "A caller whose task was cancelled leaves nothing behind that the next caller doesn't use",
        arguments: [ObserverKind.actorOwner, .queue])
    func cancelledCallers(_ kind: ObserverKind) async {
        let (hasBegun, mayGoOn) = (Signal(), Signal())
        let call: @Sendable () -> Void = {
            hasBegun.set()
            mayGoOn.wait()
        }
        // The main actor won't do, because other tests post to its mailbox, nor will an actor whose call would keep a
        // thread of the pool.
        let owner = BusyActor()
        if kind == .queue {
            set.addNonisolated(on: queue, owner) { _, _ in call() }
        } else {
            set.add(owner) { (_: isolated BusyActor, _: Int) in call() }
        }
        set.notify(1)
        await eventually { hasBegun.isSet }
        let callers = (0..<1_000).map { _ in WeakCaller() }

        for caller in callers {
            let settledWait = set.beginSettledWait()
            caller.settledWait = settledWait
            settledWait.countDown()
        }

        expect(callers.count { $0.settledWait != nil }, equals: 1)
        let waiting = Task { [set] in await set.settled() }
        mayGoOn.set()
        await waiting.value
    }

    @Test("`settled()` waits for what was notified to the observers' actors by other sets, too")
    func otherSets() async {
        let keeper = Keeper()
        let other = ObserverSet<Int>()
        for source in [set, other] { source.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) } }

        for _ in 0..<100 {
            set.notify(1)
            other.notify(2)
            await set.settled()
            expect(log.entries, equals: [1, 2])
            log.removeAll()
        }
    }

    @Test(
        "`settled()` waits for the slowest observer, and values that arrive for another meanwhile do not hold it up",
        arguments: [0, 1])
    func slowest(_ quick: Int) async {
        let queues = (0..<2).map { DispatchQueue(label: "\($0)") }
        for queue in queues {
            queue.suspend()
            _ = set.addNonisolated(on: queue) { [log] value in log.append(value) }
        }
        set.notify(1)
        let isSettled = Signal()
        let waiting = await taskThatWaits(for: set) { isSettled.set() }
        // One queue delivers the first value, and then holds the second one, as long as it is suspended.
        queues[quick].resume()
        queues[quick].sync {}
        queues[quick].suspend()
        set.notify(2)
        for _ in 0..<100 { await Task.yield() }
        #expect(!isSettled.isSet)
        queues[1 - quick].resume()

        await waiting.value

        expect(log.entries.count { $0 == 1 }, equals: 2)
        queues[quick].resume()
        await set.settled()
        expect(log.count, equals: 4)
    }

    // MARK: Observers that are removed

    @Test(
        "`settled()` waits for the call of an observer that was removed during the call",
        arguments: [ObserverKind.queue, .awaited], [false, true])
    func removedDuringItsCall(_ kind: ObserverKind, all: Bool) async {
        let call = await StoppedCall(kind, of: set, by: set) { [log] in log.append(1) }
        set.notify(2)
        if all { set.removeAll() } else { call.token.remove() }

        let waiting = await taskThatWaits(for: set) { [log] in log.append(3) }
        for _ in 0..<100 { await Task.yield() }
        await call.end()
        await waiting.value

        expect(log.entries, equals: [1, 3])
    }

    /// What is to be released waits on one of two lists, depending on whether another observer was removed before.
    @Test(
        "The mailbox of an observer that is removed during a notification is kept until it is empty",
        arguments: [false, true])
    func removedDuringANotification(isSecond: Bool) async {
        queue.suspend()
        let bystander = set.addNonisolated { _ in }
        let token = set.addNonisolated(on: queue) { [log] value in log.append(value) }
        let registry = set.registry!
        let traversal = registry.traversal()
        set.notify(1)
        if isSecond { bystander.remove() }
        token.remove()

        expect(registry.mailboxes().count, equals: 1)
        _ = consume traversal
        set.add { _ in }.remove()
        expect(registry.mailboxes().count, equals: 1)
        queue.resume()

        await set.settled()
        await eventually { registry.mailboxes().isEmpty }
        #expect(registry.mailboxes().isEmpty)
        expect(log.entries, equals: [])
    }

    @Test("`settled()` waits for the call of an observer that is removed while `settled()` collects the observers")
    func removedDuringTheLook() async {
        for _ in 0..<many(400) {
            let set = ObserverSet<Int>()
            let hasEnded = Signal()
            // They make `settled()` take its time to collect the observers.
            for _ in 0..<2_000 { _ = set.add { _ in } }
            let call = await StoppedCall(.queue, of: set, by: set) { hasEnded.set() }
            let gate = Gate(2)
            let waiting = Task.detached {
                gate.pass()
                await set.settled()
                return hasEnded.isSet
            }

            await onThread {
                gate.pass()
                call.token.remove()
                for _ in 0..<100 { Thread.yield() }
                call.letGo()
            }

            #expect(await waiting.value)
            await call.end()
        }
    }

    @Test("`settled()` waits for a value that is enqueued while its observer is being removed")
    func enqueuedWhileRemoved() async {
        let lifetimes = Lifetimes.current
        for _ in 0..<many(10_000) {
            let set = ObserverSet<Tracked>()
            let queue = DispatchQueue(label: "suspended")
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

    // MARK: Where it is called

    @Test("A task that an observer starts may await `settled()`", arguments: ObserverKind.hopping)
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

        if kind.isAwaited {
            // A task that was started inside the call does not wait for that call.
            expect(Set(log.entries), equals: [2, 10])
        } else {
            expect(log.entries, equals: (kind.isOnce ? [10] : [2, 10]))
        }
        registration.end()
        set.removeAll()
    }

    @Test("Many tasks may notify and await `settled()` at once", arguments: ObserverKind.lastingHopping)
    func manyTasks(_ kind: ObserverKind) async {
        let delivered = Counter()
        let registration = kind.add(to: set) { _ in delivered.increment() }

        await withTaskGroup { group in
            for _ in 0..<many(8_000) {
                group.addTask { [set] in
                    let before = delivered.value
                    set.notify(1)
                    await set.settled()
                    #expect(delivered.value > before)
                }
            }
        }

        expect(delivered.value, equals: many(8_000))
        registration.end()
    }
}

/// A mailbox that is never idle, and counts who asks.
private final class BusyMailbox: Mailbox, @unchecked Sendable {
    private let looks: Counter

    init(_ looks: Counter) {
        self.looks = looks
        super.init(of: nil)
    }

    override var isIdle: Bool {
        looks.increment()
        return false
    }
}
