import Testing

@testable import ObserverSet

/// How registrations with a publisher end.
@Suite("Lifetimes of events' observers", .lifetimesChecked, .againstHanging)
struct EventLifetimeTests {
    private let log = Log<String>()
}

extension EventLifetimeTests {
    private struct Ended: Event {
        var life: Tracked?
    }

    private final class Closed: Event {}

    // MARK: Memory

    @Test("Each type that is observed costs a publisher a few hundred bytes, however many there are", .measuringMemory)
    func memoryOfTypes() async {
        await #expect(processExitsWith: .success) {
            // The runtime creates a type's data on first use, so every type is created and observed once before the
            // measurement.
            let types = distinctTypes(twoTo: 9)
            let publishers = [EventPublisher(), EventPublisher()]

            let growth = await AllocatedMemory.growth {
                for type in types { observe(type, with: publishers[0]) }
            } _: {
                for type in types { observe(type, with: publishers[1]) }
            }

            // What each type costs: the set, its entry in the table, and its share of the smaller tables that were
            // replaced, which together are smaller than the current one.
            expect(growth < types.count * 400)
            expect(publishers[1].channels.withLock { $0.count }, equals: types.count)
        }
    }

    // MARK: Owners and tokens

    /// Guarantee 8.
    @Test("The captures of a dead owner's observer of all events are released by the next event, large or small")
    func deadOwnerOfAllEvents() {
        struct Large: Event { let numbers = (1, 2, 3, 4, 5) }
        let publisher = EventPublisher()
        for event in [Large(), Ended()] as [any Event] {
            publisher.allEvents.addNonisolated(Tracked()) { [life = Tracked()] _, _ in _ = life }
            expect(Lifetimes.current.count, equals: 1)

            publisher.publish(event)

            expect(Lifetimes.current.count, equals: 0)
        }
    }

    @Test("All registrations of an owner end at once, whatever it observes")
    func removeAllOwned() {
        let publisher = EventPublisher()
        let owner = Tracked()
        let other = Tracked()
        for owner in [owner, other, owner] {
            publisher.observers(of: Ended.self).add(owner) { [log] _, _ in log.append("ended") }
            publisher.observers(of: Closed.self).add(owner) { [log] _, _ in log.append("closed") }
            publisher.allEvents.add(owner) { [log] _, _ in log.append("all") }
        }

        expect(publisher.removeAll(ownedBy: owner), equals: 6)
        expect(publisher.removeAll(ownedBy: owner), equals: 0)
        publisher.publish(Ended())
        publisher.publish(Closed())

        expect(log.entries, equals: ["all", "ended", "all", "closed"])
    }

    // MARK: The publisher's death

    /// Guarantee 10.
    @Test(
        "A source keeps neither its publisher alive, nor observers, whose tokens become inactive, and adds nothing later"
    )
    func publisherDies() {
        weak var weakPublisher: EventPublisher?
        let ended, closed: any NotificationSource
        let all: any NotificationSource<any Event>
        let tokens: [ObserverToken]
        do {
            let publisher = EventPublisher()
            weakPublisher = publisher
            (ended, closed, all) = (
                publisher.observers(of: Ended.self), publisher.observers(of: Closed.self), publisher.allEvents
            )
            tokens = [add(to: ended), add(to: closed), add(to: all)]
            publisher.publish(Closed())
            #expect(tokens.allSatisfy { $0.isActive })
        }
        expect(weakPublisher == nil)
        expect(Lifetimes.current.count, equals: 0)

        for token in tokens + [add(to: ended), add(to: closed), add(to: all)] {
            expect(!token.isActive && !token.remove())
        }
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("A task that waits until a source is settled does not keep the observers of a released publisher")
    func settledWhilePublisherDies() async {
        var publisher: EventPublisher? = EventPublisher()
        let source = publisher!.observers(of: Ended.self)
        let door = Door()
        let token = source.addAsync { _ in await door.pass() }
        publisher!.publish(Ended())
        let waiting = await taskThatWaits(for: source)

        publisher = nil

        #expect(!token.isActive)
        door.open()
        await waiting.value
    }

    private func add(to source: some NotificationSource) -> ObserverToken {
        source.add { [life = Tracked()] _ in _ = life }
    }

    /// Guarantee 10: the traversal finishes.
    @Test("A publisher may die during its own event, which is then still delivered to all observers")
    func diesDuringItsEvent() {
        let publisher = Shared<EventPublisher?>(EventPublisher())
        weak let weakPublisher = publisher.value
        _ = publisher.value?.observers(of: Closed.self).add { [log] _ in log.append("1 \(weakPublisher != nil)") }
        _ = publisher.value?.observers(of: Closed.self).add { [log] _ in log.append("2") }
        _ = publisher.value?.allEvents.add { [log] _ in
            publisher.value = nil
            log.append("all 1")
        }
        _ = publisher.value?.allEvents.add { [log] _ in log.append("all 2") }

        publisher.value?.publish(Closed())

        expect(log.entries, equals: ["all 1", "all 2", "1 true", "2"])
        expect(weakPublisher == nil)
    }

    @Test("A capture may use the publisher's sources in its `deinit` when the publisher dies")
    func capturesEnd() {
        do {
            let publisher = EventPublisher()
            let (source, all) = (publisher.observers(of: Ended.self), publisher.allEvents)
            let atEnd: @Sendable () -> Void = { [weak publisher, log] in
                publisher?.publish(Ended())
                log.append("\(source.add { _ in }.isActive)")
                _ = all.add { _ in log.append("never") }
            }
            _ = publisher.observers(of: Ended.self).add { [life = Tracked(atEnd: atEnd)] _ in _ = life }
            publisher.publish(Ended())
        }

        expect(log.entries, equals: ["false"])
    }

}

private struct Leaf: Event {}
private struct Zero<Rest: Event>: Event {}
private struct One<Rest: Event>: Event {}

/// Two to the power of `digits` different types of events.
private func distinctTypes(twoTo digits: Int) -> [any Event.Type] {
    func wrapped<Rest: Event>(_ rest: Rest.Type) -> [any Event.Type] { [Zero<Rest>.self, One<Rest>.self] }
    return (0..<digits).reduce([Leaf.self]) { types, _ in types.flatMap { wrapped($0) } }
}

private func observe<Observed: Event>(_ type: Observed.Type, with publisher: EventPublisher) {
    _ = publisher.observers(of: type)
}
