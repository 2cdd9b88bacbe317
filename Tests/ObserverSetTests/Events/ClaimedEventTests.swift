import ObserverSet
import Testing

/// What is published by code of which the compiler says that it is on an actor, and is wrong.
@Suite("Events under a false claim", .lifetimesChecked, .againstHanging)
struct ClaimedEventTests {}

extension ClaimedEventTests {
    private struct Booked: Event {
        let amount: Int
    }

    @Test("Observers of the actor receive the events later, on the actor and in order")
    func posted() async {
        let events = EventPublisher()
        let ledger = Ledger(ObserverSet())
        ledger.observe(events.observers(of: Booked.self).map(\.amount))
        ledger.observe(events.allEvents.map { ($0 as! Booked).amount + 100 })

        await ledger.take {
            events.publish(Booked(amount: 1))
            events.publish(Booked(amount: 2))
        }
        await events.settled()

        expect(await ledger.entries, equals: [101, 1, 102, 2])
    }
}
