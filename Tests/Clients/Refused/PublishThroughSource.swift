// expect: has no member 'notify'
// Observers of a type can be added to its source; only code that has the publisher can publish.

import ObserverSet

struct Saved: Event {}

func pretend(_ events: EventPublisher) {
    events.observers(of: Saved.self).notify(Saved())
}
