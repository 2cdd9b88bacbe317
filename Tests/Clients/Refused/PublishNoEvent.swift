// expect: requires that 'Published' conform to 'Event'
// What is published has a type that says that it is an event.

import ObserverSet

func publish(_ value: Any, on events: EventPublisher) {
    events.publish(value)
}
