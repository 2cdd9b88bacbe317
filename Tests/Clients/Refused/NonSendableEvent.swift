// expect: stored property 'text' of 'Sendable'-conforming class 'Draft' is mutable
// An event may be delivered to observers on other actors.

import ObserverSet

final class Draft: Event {
    var text = ""
}
