// expect: requires that 'Published' conform to 'Event'
// Only a value whose type conforms to `Event` can be published.

import ObserverSet

func publish(_ value: Any, on events: EventPublisher) {
    events.publish(value)
}
