// expect: risks causing data races between code in the current task and concurrent execution of the closure
// A token changes its set, so it stays where the set is.

import ObserverSet

func end(_ changed: LocalObserverSet<String>) {
    let token = changed.add { _ in }
    Task.detached { token.remove() }
    changed.notify("meanwhile")
}
