// expect: capture of 'counter' with non-Sendable type 'Counter' in a '@Sendable' closure
// An observer that belongs to no actor may run on any thread: what it captures must be safe there.

import ObserverSet

final class Counter {
    var value = 0
}

func observe(_ set: ObserverSet<Int>) {
    let counter = Counter()
    set.addNonisolated { counter.value += $0 }
}
