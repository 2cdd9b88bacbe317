import ObserverSet
import Testing

/// What a publisher's description shows: the observed events, their observers, and where each of these was registered.
@Suite("Descriptions of publishers", .lifetimesChecked)
struct EventDescriptionTests {
    private let publisher = EventPublisher()
    private let file = "ObserverSetTests/EventDescriptionTests.swift"
}

extension EventDescriptionTests {
    @Test("The description counts the observers and the types that they observe")
    func description() {
        expect(publisher.description, equals: "EventPublisher(0 observers)")
        publisher.observers(of: Closed.self).add { _ in }.remove()
        expect(
            [publisher.description, publisher.debugDescription],
            equals: Array(repeating: "EventPublisher(0 observers)", count: 2))
        _ = publisher.observers(of: Opened.self).add { _ in }
        expect("\(publisher)", equals: "EventPublisher(1 observer of 1 type)")
        _ = publisher.observers(of: Opened.self).add { _ in }
        _ = publisher.observers(of: Closed.self).add { _ in }
        _ = publisher.allEvents.add { _ in }

        expect(publisher.description, equals: "EventPublisher(4 observers of 3 types)")
    }

    @Test("The debug description names each type in full, and has a line for each observer")
    func debugDescription() {
        let owner = Tracked()
        let line = #line + 1
        _ = publisher.allEvents.add { _ in }
        publisher.observers(of: Closed.self).add(owner) { _, _ in }
        _ = publisher.observers(of: Opened.self).add { _ in }
        publisher.observers(of: Opened.self).addNonisolated(owner) { _, _ in }

        let expected = """
            EventPublisher(4 observers of 3 types)
              ObserverSetTests.Closed: 1 observer
                Tracked, nonisolated, registered at \(file):\(line + 1)
              ObserverSetTests.Opened: 2 observers
                closure, nonisolated, registered at \(file):\(line + 2)
                Tracked, nonisolated, registered at \(file):\(line + 3)
              ObserverSet.Event: 1 observer
                closure, nonisolated, registered at \(file):\(line)
            """
        expect(publisher.debugDescription, equals: expected)
    }

    @Test("The description of an event's source has its observers, and says when its publisher is gone")
    func descriptionOfTheSource() {
        var publisher: EventPublisher? = EventPublisher()
        let source = publisher!.observers(of: Opened.self)
        let line = #line + 1
        _ = source.add { _ in }

        let expected = "ObserverSet<Opened>(1 observer)\n  closure, nonisolated, registered at \(file):\(line)"
        expect(String(reflecting: source), equals: expected)
        publisher = nil
        expect(String(reflecting: source), equals: "Opened of a publisher that is gone")
    }

}

struct Opened: Event {}

final class Closed: Event {}
