// expect: sending 'changed' risks causing data races
// A function whose type says that it belongs to the main actor ties the set to it, as does any observer added there.

import ObserverSet

@MainActor final class Window {
    var title = ""
    func show(_ title: String) { self.title = title }
}

actor Index {
    func notify(_ changed: sending LocalObserverSet<String>) { changed.notify("from elsewhere") }
}

@MainActor func share(_ observer: @escaping @MainActor (String) -> Void, with index: Index) async {
    let changed = LocalObserverSet<String>()
    changed.once.add(observer)
    await index.notify(changed)
}
