// expect: sending 'changed' risks causing data races
// A method that belongs to the main actor ties the set to it, although an unapplied method loses its isolation on the
// way.

import ObserverSet

@MainActor final class Window {
    var title = ""
    func show(_ title: String) { self.title = title }
}

actor Index {
    func notify(_ changed: sending LocalObserverSet<String>) { changed.notify("from elsewhere") }
}

@MainActor func share(_ window: Window, with index: Index) async {
    let changed = LocalObserverSet<String>()
    changed.add(method: Window.show, of: window)
    await index.notify(changed)
}
