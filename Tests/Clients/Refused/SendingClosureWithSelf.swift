// expect: 'sending' parameter risks causing data races between code in the current task and concurrent execution
// A task that captures a class which is not Sendable, only to reach its set: it captures the set instead, `[valueChanged]`.

import ObserverSet

final class Gauge {
    let valueChanged = ObserverSet<Int>()

    func log() {
        Task { for await value in valueChanged.values() { print(value) } }
    }
}
