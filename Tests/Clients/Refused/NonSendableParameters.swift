// expect: type 'Draft' does not conform to the 'Sendable' protocol
// Parameters may reach observers on other actors.

import ObserverSet

final class Draft {
    var text = ""
}

let drafts = ObserverSet<Draft>()
