// expect: main actor-isolated property 'title' can not be mutated from a
// A closure that runs on the notifying thread cannot touch what belongs to the main actor.

import ObserverSet

@MainActor final class Window {
    var title = ""
}

func observe(_ window: Window, _ set: ObserverSet<String>) {
    set.addNonisolated(window) { window, title in window.title = title }
}
