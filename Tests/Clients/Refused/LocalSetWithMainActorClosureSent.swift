// expect: sending 'changed' risks causing data races
// A closure that belongs to the main actor ties the set to it. If the set were sent away, it would call the closure
// elsewhere.

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
    changed.add(window) { window, title in window.title = title }
    await index.notify(changed)
}
