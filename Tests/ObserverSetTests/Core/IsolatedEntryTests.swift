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

    @Test("All observers of the main actor share one destination")
    func destinations() {
        #expect(Destination.of(MainActor.shared) === Destination.of(MainActor.shared, owner: calls))
    }
}
