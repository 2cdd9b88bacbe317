import Dispatch
import ObserverSet
import Testing

/// Events are delivered to the observers of their type, whichever code publishes them.
@Suite("Publishing events", .lifetimesChecked, .againstHanging)
struct EventPublisherTests {
    private let publisher = EventPublisher()
    private let log = Log<String>()
}

extension EventPublisherTests {
    private struct Opened: Event, Equatable {
        let name: String
    }

    private struct Closed: Event {}

    // MARK: Which observers are called

    @Test("An event reaches first the observers of all events, with its type, then those of its type, and no others")
    func reached() {
        publisher.publish(Closed())
        _ = publisher.allEvents.add { [log] event in log.append("all \(type(of: event))") }
        _ = publisher.observers(of: Opened.self).add { [log] event in log.append("opened \(event.name)") }
        publisher.publish(Closed())
        _ = publisher.observers(of: Closed.self).add { [log] _ in log.append("closed") }
        _ = publisher.allEvents.add { [log] event in log.append("too \((event as? Opened)?.name ?? "-")") }

        publisher.publish(Opened(name: "a"))
        publisher.publish(Closed())

        expect(log.entries, equals: ["all Closed", "all Opened", "too a", "opened a", "all Closed", "too -", "closed"])
    }

    @Test("Publishers are independent of one another; the default one is the same for the whole program")
    func severalPublishers() async {
        struct Ended: Event {}
        let other = EventPublisher()
        _ = publisher.observers(of: Ended.self).add { [log] _ in log.append("this") }
        _ = other.observers(of: Ended.self).add { [log] _ in log.append("other") }
        let token = EventPublisher.default.observers(of: Ended.self).add { [log] _ in log.append("default") }

        other.publish(Ended())
        await onThread { EventPublisher.default.publish(Ended()) }

        expect(log.entries, equals: ["other", "default"])
        token.remove()
    }

    // MARK: All events

    @Test("An event too large for an existential's inline storage arrives whole")
    func largeEvent() {
        struct Large: Event, Equatable {
            var a = 1, b = 2, c = 3, d = 4, e = "five"
        }
        let events = Log<Large>()
        _ = publisher.observers(of: Large.self).add { events.append($0) }
        _ = publisher.allEvents.add { if let event = $0 as? Large { events.append(event) } }

        publisher.publish(Large())

        expect(events.entries, equals: [Large(), Large()])
    }

    // MARK: Inside observers

    /// Guarantee 6.
    @Test("An event that an observer publishes reaches all its observers before the outer event continues")
    func nested() {
        _ = publisher.observers(of: Opened.self).add { [weak publisher, log] event in
            log.append("1 opened \(event.name)")
            if event.name == "a" { publisher?.publish(Closed()) }
        }
        _ = publisher.observers(of: Opened.self).add { [log] event in log.append("2 opened \(event.name)") }
        _ = publisher.observers(of: Closed.self).add { [weak publisher, log] _ in
            log.append("closed")
            publisher?.publish(Opened(name: "b"))
        }
        _ = publisher.allEvents.add { [log] event in log.append("all \(type(of: event))") }

        publisher.publish(Opened(name: "a"))

        expect(
            log.entries,
            equals: [
                "all Opened", "1 opened a",
                "all Closed", "closed",
                "all Opened", "1 opened b", "2 opened b",
                "2 opened a",
            ])
    }

    @Test("An observer of all events added by another one receives the event published inside, but not the outer one")
    func addedAndNested() {
        let isFirst = Shared(true)
        _ = publisher.allEvents.add { [weak publisher, log] event in
            log.append("first \(event)")
            guard isFirst.exchange(false) else { return }
            _ = publisher?.allEvents.add { log.append("second \($0)") }
            publisher?.publish(Opened(name: "b"))
        }

        publisher.publish(Closed())

        expect(log.entries, equals: ["first Closed()", "first Opened(name: \"b\")", "second Opened(name: \"b\")"])
    }

    // MARK: What a source offers

    @Test("An observer of any kind receives the events of its type", arguments: ObserverKind.allCases)
    func kinds(_ kind: ObserverKind) async {
        let source = publisher.observers(of: Opened.self)
        let registration = kind.add(to: source) { [log] event in log.append(event.name) }

        for name in ["a", "b"] { publisher.publish(Opened(name: name)) }
        await source.settled()

        expect(log.entries, equals: (kind.isOnce ? ["a"] : ["a", "b"]))
        registration.end()
    }

    // MARK: Isolation

    @Test("On an actor, its observers are called in place: the caller's isolation is passed on")
    func inPlaceOnAnActor() async {
        actor Index {
            private(set) var heard: [String] = []

            func run(_ publisher: EventPublisher) -> [String] {
                publisher.observers(of: Opened.self).add(self) { index, event in index.heard.append(event.name) }
                publisher.allEvents.add(self) { index, _ in index.heard.append("all") }
                publisher.publish(Opened(name: "a"))
                return heard
            }
        }

        expect(await Index().run(publisher), equals: ["all", "a"])
    }

    @Test("While `settled()` waits for one type's observer, another's events do not hold it up", arguments: [0, 1])
    func laterEventsElsewhere(_ quick: Int) async {
        let queues = (0..<2).map { DispatchQueue(label: "\($0)") }
        for queue in queues { queue.suspend() }
        let log = Log<String>()
        _ = publisher.observers(of: Opened.self).addNonisolated(on: queues[0]) { _ in log.append("opened") }
        _ = publisher.observers(of: Closed.self).addNonisolated(on: queues[1]) { _ in log.append("closed") }
        func publish() {
            publisher.publish(Opened(name: "a"))
            publisher.publish(Closed())
        }
        publish()
        let waiting = await taskThatWaits { [publisher] in await publisher.settled() }
        queues[quick].resume()
        queues[quick].sync {}
        queues[quick].suspend()
        publish()
        queues[1 - quick].resume()

        await waiting.value

        expect(Set(log.entries), equals: ["opened", "closed"])
        queues[quick].resume()
        await publisher.settled()
        expect(log.count, equals: 4)
    }

    @Test("`settled()` of each source waits for an actor's observer")
    func sourceSettled() async {
        final class Shut: Event {}
        let opened = publisher.observers(of: Opened.self)

        #expect(await settledWaitsForAnActor(opened) { publisher.publish(Opened(name: "a")) })
        #expect(await settledWaitsForAnActor(opened.map(\.name)) { publisher.publish(Opened(name: "a")) })
        #expect(await settledWaitsForAnActor(publisher.observers(of: Shut.self)) { publisher.publish(Shut()) })
        #expect(await settledWaitsForAnActor(publisher.allEvents) { publisher.publish(Closed()) })
    }

    @Test("A publisher without observers is settled, and so is a source left of it, which does not keep it alive")
    func settledWithoutObservers() async {
        var publisher: EventPublisher? = EventPublisher()
        weak let weakPublisher = publisher
        let source = publisher!.observers(of: Opened.self)
        await publisher!.settled()
        publisher!.publish(Closed())
        await source.settled()

        publisher = nil
        expect(weakPublisher == nil)
        await source.settled()
    }
}
