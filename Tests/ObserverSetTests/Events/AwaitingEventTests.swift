import ObserverSet
import Testing

/// Observers of events that await.
@Suite("Event observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingEventTests {
    private struct Opened: Event {
        let number: Int
    }

    private let publisher = EventPublisher()
    private let log = Log<String>()

    @Test("An event observer that awaits is called for one event at a time, in order, until its token is removed")
    func event() async {
        let keeper = Keeper()
        let opened = publisher.observers(of: Opened.self)
        let token = opened.addAsync(keeper) { [log] (_: isolated Keeper, event) in
            log.append("in \(event.number)")
            await Task.yield()
            log.append("out \(event.number)")
        }

        for number in 1...3 { publisher.publish(Opened(number: number)) }
        await opened.settled()
        expect(log.entries, equals: (1...3).flatMap { ["in \($0)", "out \($0)"] })

        #expect(token.remove())
        publisher.publish(Opened(number: 4))
        await opened.settled()
        expect(log.count, equals: 6)
    }

    @Test("An observer of all events that awaits receives them in the order in which they are published")
    func allEvents() async {
        _ = publisher.allEvents.addAsync { [log] event in
            await Task.yield()
            if let opened = event as? Opened { log.append("\(opened.number)") }
        }

        for number in 0..<100 { publisher.publish(Opened(number: number)) }
        await publisher.allEvents.settled()

        expect(log.entries, equals: (0..<100).map { "\($0)" })
    }
}
