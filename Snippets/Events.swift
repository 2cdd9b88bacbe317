// Events that you observe by their type, whichever code publishes them.
//
//     swift run Events

import ObserverSet

struct OrderPlaced: Event {
    let number: Int
    let total: Double
}

struct OrderShipped: Event {
    let number: Int
}

/// Publishes events, without knowing their observers.
struct Shop: Sendable {
    var events = EventPublisher.default

    func place(_ number: Int, total: Double) { events.publish(OrderPlaced(number: number, total: total)) }
    func ship(_ number: Int) { events.publish(OrderShipped(number: number)) }
}

/// Belongs to the main actor, and receives events there, wherever they are published.
@MainActor final class Badge {
    private var open: Set<Int> = []

    init(_ events: EventPublisher = .default) {
        events.observers(of: OrderPlaced.self).add(self) { badge, order in badge.open.insert(order.number) }
        events.observers(of: OrderShipped.self).add(method: Badge.close, of: self)
    }

    private func close(_ order: OrderShipped) {
        open.remove(order.number)
        print("badge: \(open.count) open")
    }
}

/// An actor, which receives events in the order they were published.
actor Ledger {
    private(set) var total = 0.0

    func follow(_ events: EventPublisher = .default) {
        events.observers(of: OrderPlaced.self).add(self) { ledger, order in ledger.total += order.total }
    }
}

let badge = Badge()
let ledger = Ledger()
await ledger.follow()
let log = EventPublisher.default.allEvents.addNonisolated { event in print("log: \(event)") }

let shop = Shop()
shop.place(1, total: 20)
await Task.detached {
    shop.place(2, total: 9.5)
    shop.ship(1)
}.value

await EventPublisher.default.settled()
print("ledger: \(await ledger.total)")

// A test passes its own publisher, so that it receives no events from the rest of the program.
let events = EventPublisher()
_ = events.observers(of: OrderPlaced.self).once.add { order in print("test: \(order.number)") }
Shop(events: events).place(3, total: 1)

print(EventPublisher.default.debugDescription)
