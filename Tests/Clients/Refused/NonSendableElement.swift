// expect: type 'Draft' does not conform to the 'Sendable' protocol
// Elements come from whoever notifies, on any thread.

import ObserverSet

final class Draft {
    var text = ""
}

func follow(_ drafts: NotificationSequence<Draft>) {}
