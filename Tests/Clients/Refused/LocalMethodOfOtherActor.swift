// expect: loses global actor 'MainActor'
// A local set calls its observers wherever it is notified, so code outside an actor cannot add what belongs to it.

import ObserverSet

func observe(_ changed: LocalObserverSet<String>, _ observer: @escaping @MainActor (String) -> Void) {
    changed.add(observer)
}
