// Typed events in a module that is isolated to the main actor by default. An event needs no annotation, but a subclass
// of an event's class does.

import ObserverSet

struct ItemAdded: Event {
    let name: String
}

enum Change<Value: Sendable>: Event {
    case inserted(Value)
}

class Message: Event, @unchecked Sendable {}
nonisolated final class Warning: Message, @unchecked Sendable {}

final class Inbox {
    var log: [String] = []

    init(_ events: EventPublisher) {
        events.observers(of: ItemAdded.self).add(self) { inbox, item in inbox.log.append(item.name) }
        events.observers(of: Change<Int>.self).add(method: Inbox.change, of: self)
        events.observers(of: Warning.self).add(self) { inbox, message in inbox.log.append("\(type(of: message))") }
        events.allEvents.once.add(self) { inbox, event in inbox.log.append("first: \(event)") }
    }

    private func change(_ change: Change<Int>) { log.append("\(change)") }
}

actor Audit {
    private(set) var names: [String] = []

    func follow(_ events: EventPublisher) {
        events.observers(of: ItemAdded.self).add(self) { audit, item in audit.names.append(item.name) }
    }
}

func runEvents() async {
    let events = EventPublisher()
    let inbox = Inbox(events)
    let audit = Audit()
    await audit.follow(events)
    events.publish(ItemAdded(name: "a"))
    precondition(inbox.log == ["first: ItemAdded(name: \"a\")", "a"], "\(inbox.log)")

    let token = events.observers(of: ItemAdded.self).addNonisolated { item in print("added", item.name) }
    await Task.detached {
        let all: [any Event] = [
            ItemAdded(name: "b"), Change.inserted(1), Change.inserted("ignored"), Message(), Warning(),
        ]
        for event in all { events.publish(event) }
    }.value
    await events.settled()
    // Each observer receives its events in order; of two observers, either may come first.
    precondition(
        inbox.log.count == 5 && Set(inbox.log.suffix(3)) == ["b", "inserted(1)", "Warning"], "\(inbox.log)")
    let names = await audit.names
    precondition(names == ["a", "b"], "\(names)")
    precondition(token.remove() && events.removeAll(ownedBy: inbox) == 3)
}
