// Events that are none, and publishers that are asked for something else.

import Foundation
import ObserverSet

struct NoEvent: Sendable {
    var name = ""
}

extension View {
    func publishesText(_ events: EventPublisher) {
        // error at publish: instance method 'publish(_:isolation:)' requires that 'String' conform to 'Event'
        events.publish("saved")
    }

    func publishesStructure(_ events: EventPublisher) {
        // error at publish: instance method 'publish(_:isolation:)' requires that 'NoEvent' conform to 'Event'
        events.publish(NoEvent())
    }

    func publishesType(_ events: EventPublisher) {
        // error at publish: type 'OrderPlaced.Type' cannot conform to 'Event'
        events.publish(OrderPlaced.self)
    }

    func notifiesPublisher(_ events: EventPublisher) {
        // error at notify: value of type 'EventPublisher' has no member 'notify'
        events.notify(OrderPlaced(name: "tea", number: 1))
    }

    func publishesOnType() {
        // error at EventPublisher: instance member 'publish' cannot be used on type 'EventPublisher'; did you mean to
        //     use a value of this type instead?
        EventPublisher.publish(OrderPlaced(name: "tea", number: 1))
    }

    func observesStructure(_ events: EventPublisher) {
        // error at observers: instance method 'observers(of:)' requires that 'NoEvent' conform to 'Event'
        events.observers(of: NoEvent.self).add(self) { view, event in view.show(event.name) }
    }

    func observesInstance(_ events: EventPublisher) {
        // error at OrderPlaced: cannot convert value of type 'OrderPlaced' to expected argument type 'Observed.Type'
        // error at event: cannot infer type of closure parameter 'event' without a type annotation
        events.observers(of: OrderPlaced(name: "tea", number: 1)).add(self) { view, event in view.show(event.name) }
    }

    func forgetsSelfOfType(_ events: EventPublisher) {
        // error at OrderPlaced: expected member name or initializer call after type name
        events.observers(of: OrderPlaced).add(self) { view, event in view.show(event.name) }
    }

    func observesProtocol(_ events: EventPublisher) {
        // error at observers: type 'any Event' cannot conform to 'Event'
        events.observers(of: (any Event).self).add(self) { view, event in view.show("\(event)") }
    }

    func addsToPublisher(_ events: EventPublisher) {
        // error at add: value of type 'EventPublisher' has no member 'add'
        events.add(self) { view, event in view.show("\(event)") }
    }

    func takesMemberOfAnyEvent(_ events: EventPublisher) {
        // error at name: value of type 'any Event' has no member 'name'
        events.allEvents.add(self) { view, event in view.show(event.name) }
    }

    func removesWithToken(_ events: EventPublisher) {
        let token = events.observers(of: OrderPlaced.self).add(self) { view, event in view.show(event.name) }
        // error at remove: value of type 'EventPublisher' has no member 'remove'
        events.remove(token)
    }

    func postsPlainEvent(_ center: NotificationCenter) {
        // misleading: does not say that the event must be a `BridgedEvent`
        // error at post: no exact matches in call to instance method 'post'
        center.post(OrderPlaced(name: "tea", number: 1))
    }

    func observesPlainEvent(_ center: NotificationCenter) {
        // error at observers: instance method 'observers(of:object:)' requires that 'OrderPlaced' conform to
        //     'BridgedEvent'
        center.observers(of: OrderPlaced.self).add(self) { view, event in view.show(event.name) }
    }

    func observesTextForName(_ center: NotificationCenter) {
        // error at ": cannot convert value of type 'String' to expected argument type 'Notification.Name' (aka
        //     'NSNotification.Name')
        center.observers(named: "DidReload").add(self) { view in view.clear() }
    }

    func takesNotification(_ center: NotificationCenter) {
        // error at view: contextual closure type '@isolated(any) @Sendable (View) -> Void' expects 1 argument, but 2
        //     were used in closure body
        center.observers(named: .didReload).add(self) { view, notification in view.show(notification.name.rawValue) }
    }

    func readsTwoKeys(_ center: NotificationCenter) {
        // error at observers: generic parameter 'Parameters' could not be inferred
        center.observers(named: .didReload) { notification in
            guard let name = notification.userInfo?["name"] as? String else { return nil }
            let number = notification.userInfo?["number"] as? Int
            return (name: name, number: number ?? 0)
            // error at item: cannot infer type of closure parameter 'item' without a type annotation
        }.add(self) { view, item in view.show(item.name) }
    }
}

struct Opened: Event {
    // error at view: stored property 'view' of 'Sendable'-conforming struct 'Opened' has non-Sendable type 'PlainView'
    let view: PlainView
}

final class Closed: Event {
    // error at name: stored property 'name' of 'Sendable'-conforming class 'Closed' is mutable
    var name = ""
}
