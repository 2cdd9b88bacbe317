import Dispatch
import Testing

@testable import ObserverSet

/// When an observer of an actor or a queue has a mailbox, and when it needs none.
@Suite("Isolated observers", .lifetimesChecked, .againstHanging)
struct IsolatedEntryTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()

    @Test("An observer that is only ever called in place has no mailbox", arguments: ObserverKind.ofTheMainActor)
    @MainActor func inPlace(_ kind: ObserverKind) throws {
        let registration = kind.add(to: set) { [calls] _ in calls.increment() }
        let registry = try #require(set.registry)

        #expect(registry.mailboxes().isEmpty)
        set.notify(1)

        #expect(calls.value == 1)
        #expect(registry.mailboxes().isEmpty)
        registration.end()
    }

    @Test("An observer of a mapped or filtered source that is only called in place has no mailbox")
    @MainActor func derived() throws {
        set.filter { $0 > 0 }.add { [calls] _ in calls.increment() }
        set.map { "\($0)" }.add(self.calls) { calls, _ in calls.increment() }
        let registry = try #require(set.registry)

        set.notify(1)

        #expect(calls.value == 2)
        #expect(registry.mailboxes().isEmpty)
    }

    @Test(
        "An observer that is called from elsewhere keeps its first mailbox",
        arguments: [ObserverKind.mainActor, .actor, .actorOwner, .queue, .queueOwner])
    func oneMailbox(_ kind: ObserverKind) async throws {
        let registration = kind.add(to: set) { [calls] _ in calls.increment() }
        let registry = try #require(set.registry)

        set.notify(1)
        let first = registry.mailboxes()
        await set.settled()
        set.notify(2)
        await set.settled()

        #expect(calls.value == 2)
        #expect(first.count == 1)
        #expect(registry.mailboxes().elementsEqual(first, by: ===))
        registration.end()
    }

    @Test("While an actor is busy, deliveries do not pile up, even if the actor and another thread notify by turns")
    func oneDeliveryOnItsWay() async {
        let actor = CountingActor()
        set.add(actor) { [calls] (_: isolated CountingActor, _) in calls.increment() }

        await actor.notifyByTurns(set, 200)
        await set.settled()
        await actor.nothing()

        #expect(calls.value == 400)
        // One for the delivery, one for each of the two calls above.
        #expect(actor.jobs < 10)
    }

    @Test("All observers of the main actor share one destination")
    func destinations() {
        #expect(Destination.of(MainActor.shared) === Destination.of(MainActor.shared, owner: calls))
    }
}

/// An actor that counts how often a task comes to it.
private actor CountingActor {
    private nonisolated let executor = CountingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    nonisolated var jobs: Int { executor.jobs.value }

    /// Notifies by turns with another thread, without leaving this actor.
    func notifyByTurns(_ set: ObserverSet<Int>, _ times: Int) {
        for _ in 0..<times {
            join { set.notify(1) }
            set.notify(2)
        }
    }

    func nothing() {}
}

private final class CountingExecutor: SerialExecutor {
    let jobs = Counter()
    private let queue = DispatchQueue(label: "counting")

    func enqueue(_ job: consuming ExecutorJob) {
        jobs.increment()
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
