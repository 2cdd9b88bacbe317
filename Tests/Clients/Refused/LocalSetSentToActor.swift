// expect: sending 'changed' risks causing data races
// Code that still holds a local set cannot send it to an actor.

import ObserverSet

actor Index {
    func observe(_ changed: LocalObserverSet<String>) {}
}

func share(_ changed: LocalObserverSet<String>, with index: Index) async {
    await index.observe(changed)
}
