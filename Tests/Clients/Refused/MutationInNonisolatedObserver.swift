// expect: main actor-isolated property 'total' can not be mutated from a Sendable closure
// A closure that belongs to no actor cannot change what belongs to the main actor; given to `add`, it belongs there.

import ObserverSet

@MainActor final class Counter {
    private var total = 0

    func observe(_ added: ObserverSet<Int>) -> ObserverToken {
        added.addNonisolated { number in self.total += number }
    }
}
