import Dispatch
import ObserverSet
import Testing

/// The system of the article "Painless Event Delivery", as its reader would write it with this library.
///
/// The article asks for events that are values with everything that an observer needs to know; for a publisher that can
/// be passed around, and for more than one; for subscriptions that end with the object that holds them; and for
/// delivery on any queue, by default on the main one.
@Suite("Painless event delivery", .lifetimesChecked, .againstHanging)
struct PainlessEventDeliveryTests {}

extension PainlessEventDeliveryTests {
    // MARK: The program

    /// The events of a library that lends books.
    private struct BookLent: Event, Equatable {
        let title: String
        let reader: Int
    }

    private struct BookReturned: Event {
        let title: String
        let fee: Double
    }

    /// Publishes events, and knows none of their observers.
    private struct Desk {
        var events = EventPublisher.default

        func lend(_ title: String, to reader: Int) { events.publish(BookLent(title: title, reader: reader)) }

        func takeBack(_ title: String, after days: Int) {
            events.publish(BookReturned(title: title, fee: Double(max(0, days - 30)) / 2))
        }
    }

    /// Belongs to the main actor, and therefore receives events there, without an annotation.
    @MainActor private final class Shelf {
        private(set) var lent: Set<String> = []
        private let life = Tracked()

        init(_ events: EventPublisher = .default) {
            events.observers(of: BookLent.self).add(self) { shelf, event in shelf.lent.insert(event.title) }
            events.observers(of: BookReturned.self).add(method: Shelf.putBack, of: self)
        }

        private func putBack(_ event: BookReturned) { lent.remove(event.title) }
    }

    /// Receives events on its own queue.
    private final class Cashier: Sendable {
        static let queue = DispatchQueue(label: "cashier")
        private let fees = Log<Double>()
        private let life = Tracked()
        var total: Double { fees.entries.reduce(0, +) }

        init(_ events: EventPublisher) {
            events.observers(of: BookReturned.self).addNonisolated(on: Self.queue, self) { cashier, event in
                dispatchPrecondition(condition: .onQueue(Self.queue))
                cashier.fees.append(event.fee)
            }
        }
    }

    // MARK: What it does

    @Test("Observers receive events on the main actor, or on a queue that they choose, as long as they live")
    @MainActor func program() async {
        let events = EventPublisher()
        let desk = Desk(events: events)
        do {
            let (shelf, cashier) = (Shelf(events), Cashier(events))

            desk.lend("Emma", to: 1)
            expect(shelf.lent, equals: ["Emma"], "in place: the desk is on the main actor too")
            await onThread {
                desk.lend("Persuasion", to: 2)
                for days in [10, 40, 50] { desk.takeBack("Emma", after: days) }
            }
            await events.settled()
            expect(events.description, equals: "EventPublisher(3 observers of 2 types)")
            expect(shelf.lent, equals: ["Persuasion"])
            expect(cashier.total, equals: 15)
        }
        await eventually { Lifetimes.current.count == 0 }
        expect(events.description, equals: "EventPublisher(0 observers)")
    }
}
