import Dispatch
import Testing

@testable import ObserverSet

/// How values reach an actor: one mailbox for all its observers, one delivery on its way for each priority, turns.
@Suite("The mailbox of an actor", .lifetimesChecked, .againstHanging)
struct ActorMailboxTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()
    private let log = Log<Int>()
}

extension ActorMailboxTests {
    // MARK: Memory

    @Test("What has been delivered does not pile up where something always waits")
    func trimmedBatch() throws {
        var inbox = ActorMailbox.Inbox()
        var batch = ActorMailbox.Batch()
        let recipient = SettledWait()
        func post() { _ = inbox.append(Job(value: 0, recipient: recipient), .lowest) }
        for _ in 0..<10 { post() }

        for _ in 0..<10_000 {
            post()
            _ = batch.refill(from: &inbox)
            _ = batch.popFirst()
        }

        let jobs = try #require(Mirror(reflecting: batch).descendant("jobs") as? [Job?])
        #expect((10...100).contains(jobs.count))
    }

    /// Scenario 65: one value that stays pending, and another observer that is caught up with again and again.
    @Test("What has been caught up with leaves no gap behind a value for another observer")
    func noGaps() throws {
        var inbox = ActorMailbox.Inbox()
        var batch = ActorMailbox.Batch()
        let other = SettledWait()
        let target = OnceFunction<Int> { _ in }
        _ = inbox.append(Job(value: 0, recipient: other), .lowest)

        for value in 0..<10_000 {
            _ = inbox.append(Job(value: value, recipient: target), .lowest)
            let taken = batch.beginCatchUp(of: target, 1, from: &inbox)
            #expect(taken?.count == 1)
            batch.endCatchUp()
        }

        #expect(batch.jobs.count == 1)
        // The value of the other observer is among the latest values.
        #expect(batch.popFirst()?.recipient === other)
    }

    // MARK: One mailbox for each actor

    @Test("An actor's mailbox is released with its last observer")
    func mailboxEnds() async {
        let keeper = Keeper()
        let tokens = (0..<2).map { _ in set.add(keeper) { (_: isolated Keeper, _) in } }
        weak let mailbox = set.registry!.mailboxes().first

        tokens[0].remove()
        #expect(mailbox != nil)
        set.notify(1)
        await set.settled()
        // A set keeps the mailbox of a removed observer that is busy until the set changes again.
        await eventually { mailbox?.isIdle == true }
        tokens[1].remove()

        await eventually { mailbox == nil }
        #expect(mailbox == nil)
    }

    @Test("An observer for which more waits than fits in a turn can catch up as soon as a drain has left few enough")
    @MainActor func crowd() async {
        _ = set.add { @MainActor [log] in log.append($0) }
        join { [set] in for value in 0...Turn.limit { set.notify(value) } }

        // The first turns may be spent with what other tests have sent to the main actor.
        await eventually { !log.entries.isEmpty }
        set.notify(Turn.limit + 1)

        expect(log.entries, equals: Array(0...Turn.limit + 1))
    }

    // MARK: Deliveries on their way

    @Test("Each priority is delivered with the nearest of four steps, and never with less than it has asked for")
    func steps() {
        // The numbers that it compares are those of the standard library.
        expect([Urgency.background, Urgency.medium], equals: [TaskPriority.background, .medium].map(\.rawValue))
        let priorities: [(TaskPriority, TaskPriority)] = [
            (.background, .background), (.low, .utility), (.utility, .utility), (.medium, .medium), (.high, .high),
            (.userInitiated, .high), (TaskPriority(rawValue: 33), .high), (TaskPriority(rawValue: 0), .medium),
        ]

        for (priority, delivered) in priorities { expect(Urgency(priority).priority, equals: delivered) }
    }

    @Test("While an actor is busy, deliveries do not pile up, even if the actor and another thread notify by turns")
    func oneDeliveryOnItsWay() async {
        let actor = BusyActor()
        set.add(actor) { [calls] (_: isolated BusyActor, _) in calls.increment() }

        await actor.perform { [set] _ in
            for _ in 0..<200 {
                join { set.notify(1) }
                set.notify(2)
            }
        }
        await set.settled()

        expect(calls.value, equals: 400)
        // One for the delivery of each priority, one for the call above.
        #expect(actor.jobs.count < 10)
    }

    @Test(
        "An urgent value, or a caller of `settled()`, is not held back by a less urgent delivery that has not begun",
        arguments: [false, true])
    func urgency(_ isAwaited: Bool) async {
        let actor = BusyActor()
        add(to: actor, isAwaited) { [log] value in log.append(value) }
        let end = Signal()
        await actor.keepBusy(until: end)

        // The deliveries come to the actor by themselves.
        for value in 1...2 { await notify(value, priority: .background) }
        await eventually { actor.jobs.count >= 2 }
        let waiting = Task.detached(priority: .medium) { [set] in await set.settled() }
        await eventually { actor.jobs.count >= 3 }
        await notify(3, priority: .high)
        await notify(4, priority: .medium)
        await eventually { actor.jobs.count >= 4 }
        let priorities = actor.jobs.dropFirst()
        end.set()
        await waiting.value
        await eventually { log.count == 4 }

        expect(Array(priorities), equals: [.background, .medium, .high])
        expect(log.entries, equals: [1, 2, 3, 4])
    }

    @Test("When an urgent value has been delivered, a later flood of background values is not delivered as urgently")
    func urgencyOfARest() async {
        let actor = BusyActor()
        set.add(actor) { [calls] (_: isolated BusyActor, _) in calls.increment() }
        await notify(1, priority: .high)
        await eventually { calls.value == 1 }
        let end = Signal()
        await actor.keepBusy(until: end)
        let jobs = actor.jobs.count

        let isDone = Signal()
        Task.detached(priority: .background) { [set] in
            for value in 0..<3_000 { set.notify(value) }
            isDone.set()
        }
        await eventually { isDone.isSet }
        end.set()
        await eventually { calls.value == 3_001 }

        #expect(actor.jobs.dropFirst(jobs).allSatisfy { $0 == .background })
    }

    @Test("What waits in front of an urgent value that an observer awaits is called with that priority")
    func urgentCalls() async {
        let priorities = Log<TaskPriority>()
        let door = Door()
        _ = set.addAsync { _ in
            priorities.append(Task.currentPriority)
            await door.pass()
        }
        await notify(1, priority: .medium)
        await eventually { door.waiting == 1 }

        await notify(2, priority: .background)
        await notify(3, priority: .high)
        await notify(4, priority: .background)
        door.open()
        // Not `settled()`: it would raise the priority of a task that it waits for.
        await eventually { priorities.count == 4 }

        expect(priorities.entries, equals: [.medium, .high, .high, .background])
    }

    /// Of two tasks that are on their way, the urgent one comes first, and is in a call when the other comes.
    @Test("An observer that awaits is in one call at a time, although two tasks were sent for it")
    func oneCallAtATime() async {
        let actor = SteppedActor()
        let executor = actor.executor
        let door = Door()
        let hasBegun = Milestone()
        set.addAsync(actor) { [log] (_: isolated SteppedActor, value) in
            log.append(value)
            hasBegun.note()
            await door.pass()
        }
        await notify(1, priority: .background)
        await executor.arrivals.reaches(1)
        await notify(2, priority: .high)
        await executor.arrivals.reaches(2)

        executor.runLast()
        await hasBegun.reaches(1)
        for _ in 0..<10_000 {
            executor.runLast()
            await Task.yield()
        }
        expect(log.entries, equals: [1])
        door.open()
        let isSettled = Signal()
        let waiting = await taskThatWaits(for: set) { isSettled.set() }
        await eventually {
            executor.runLast()
            return isSettled.isSet
        }
        await waiting.value

        expect(log.entries, equals: [1, 2])
    }

    /// Notifies in a task of that priority, which is not awaited: that would raise its priority.
    private func notify(_ value: Int, priority: TaskPriority) async {
        await withCheckedContinuation { isDone in
            Task.detached(priority: priority) { [set] in
                set.notify(value)
                isDone.resume()
            }
        }
    }

    // MARK: Turns

    @Test("A turn ends with its thousandth call")
    func thousandCalls() {
        var turn = Turn(isTimed: false)

        expect((1...1_000).first { _ in turn.isOver() }, equals: 1_000)
    }

    @Test(
        "A turn ends with the call that takes four milliseconds, unless it must not depend on the machine",
        arguments: [false, true])
    func longCall(isTimed: Bool) {
        var turn = Turn(isTimed: isTimed)
        spin(for: .milliseconds(4))

        expect(turn.isOver(), equals: isTimed)
    }

    @Test("A slow observer lets other work onto its actor every few calls", arguments: [false, true])
    func turns(_ isAwaited: Bool) async {
        let actor = BusyActor()
        add(to: actor, isAwaited) { _ in spin(for: .milliseconds(1)) }

        for value in 0..<100 { set.notify(value) }
        await set.settled()

        // Four calls take a turn.
        #expect(actor.jobs.count >= 25)
    }

    @Test(
        "An observer that awaits is called by the first task that comes, however long its actor was busy",
        arguments: [Buffering.unbounded, .newest(10)])
    func lateTask(_ buffering: Buffering) async {
        let actor = SteppedActor()
        set.addAsync(actor, buffering: buffering) { [log] (_: isolated SteppedActor, value) in log.append(value) }
        set.notify(1)
        await actor.executor.arrivals.reaches(1)
        let arrived = ContinuousClock.now
        // Longer than a turn may take.
        while arrived.duration(to: .now) < .milliseconds(10) {}

        actor.executor.runLast()

        expect(log.entries, equals: [1])
    }

    private func add(to actor: BusyActor, _ isAwaited: Bool, _ call: @escaping @Sendable (Int) -> Void) {
        if isAwaited {
            set.addAsync(actor) { (_: isolated BusyActor, value) in call(value) }
        } else {
            set.add(actor) { (_: isolated BusyActor, value) in call(value) }
        }
    }
}

/// An actor whose jobs run when the test says so, the last one first.
private actor SteppedActor {
    nonisolated let executor = SteppedExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
}

private final class SteppedExecutor: SerialExecutor {
    private let jobs = Guarded<[UnownedJob]>([])
    let arrivals = Milestone()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // Both under the lock, since a test that runs the job may release this executor after that.
        jobs.withLock { jobs in
            jobs.append(job)
            arrivals.note()
        }
    }

    func runLast() {
        if let job = jobs.withLock({ $0.popLast() }) { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}
