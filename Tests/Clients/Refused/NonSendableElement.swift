// expect: type 'Draft' does not conform to the 'Sendable' protocol
// Elements come from the notifying thread, which may be any thread.

import ObserverSet

final class Draft {
    var text = ""
}

func follow(_ drafts: NotificationSequence<Draft>) {}
