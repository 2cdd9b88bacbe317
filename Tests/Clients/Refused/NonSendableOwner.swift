// expect: type 'Window' does not conform to the 'Sendable' protocol
// An owner is passed to its observer wherever the observer runs.

import ObserverSet

final class Window {
    var title = ""
}

func observe(_ window: Window, _ set: ObserverSet<String>) {
    set.addNonisolated(window) { window, title in window.title = title }
}
