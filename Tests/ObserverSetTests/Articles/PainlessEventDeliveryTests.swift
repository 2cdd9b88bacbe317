import Dispatch
import ObserverSet
import Testing

/// The system of the article "Painless Event Delivery", as its reader would write it with this library.
///
/// The article asks for events that are values with everything that an observer needs to know; for a publisher that can
/// be passed around, and for more than one; for subscriptions that end with the object that holds them; and for
/// delivery on any queue, by default on the main one.
@Suite("Painless event delivery", .lifetimesChecked, .againstHanging)
struct PainlessEventDeliveryTests {
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

    @Test("An observer that belongs to the main actor receives its publisher's events on the main actor")
    @MainActor func mainByDefault() async {
        let events = EventPublisher()
        let shelf = Shelf(events)
        let desk = Desk(events: events)

        desk.lend("Emma", to: 1)
        expect(shelf.lent, equals: ["Emma"], "in place: the desk is on the main actor too")
        await onThread {
            desk.lend("Persuasion", to: 2)
            desk.takeBack("Emma", after: 3)
        }
        await events.settled()

        expect(shelf.lent, equals: ["Persuasion"])
    }

    @Test("An observer may choose a queue")
    func queue() async {
        let events = EventPublisher()
        let cashier = Cashier(events)
        let desk = Desk(events: events)

        for days in [10, 40, 50] { desk.takeBack("Emma", after: days) }
        await events.settled()

        expect(cashier.total, equals: 15)
    }

    @Test("A subscription ends with the object that holds it, without an explicit removal")
    @MainActor func holder() {
        let events = EventPublisher()
        weak var weakShelf: Shelf?
        do {
            let shelf = Shelf(events)
            weakShelf = shelf
            expect(events.description, equals: "EventPublisher(2 observers of 2 types)")
        }
        #expect(weakShelf == nil)
        expect(events.description, equals: "EventPublisher(0 observers)")

        Desk(events: events).lend("Emma", to: 1)
    }

    @Test("Each part of the program may have its publisher, and each test")
    @MainActor func severalPublishers() {
        let (north, south) = (EventPublisher(), EventPublisher())
        let (northern, southern) = (Shelf(north), Shelf(south))

        Desk(events: north).lend("Emma", to: 1)
        Desk(events: south).lend("Persuasion", to: 1)

        expect(northern.lent, equals: ["Emma"])
        expect(southern.lent, equals: ["Persuasion"])
    }

    @Test("Where nothing else is passed, the publisher is the default one")
    @MainActor func defaultPublisher() {
        let shelf = Shelf()

        Desk().lend("Emma", to: 1)

        expect(shelf.lent, equals: ["Emma"])
    }

    @Test("A test observes what the program publishes")
    func testing() {
        let events = EventPublisher()
        let lent = Log<BookLent>()
        _ = events.observers(of: BookLent.self).add { lent.append($0) }

        Desk(events: events).lend("Emma", to: 7)

        expect(lent.entries, equals: [BookLent(title: "Emma", reader: 7)])
    }
}
