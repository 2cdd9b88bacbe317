import Foundation
import ObserverSet

// Which code is on the main actor, as the library finds out for code without isolation: not another thread, even if the
// main thread has never asked; the main thread, outside any task; and the main queue's thread behind `dispatchMain()`.

let values = ObserverSet<Int>()
var received: [Int] = []
let token = values.add { received.append($0) }

/// Code that the compiler knows to be on no actor.
nonisolated func notify(_ value: Int) { values.notify(value) }

/// Notifies on a thread that is not the main one, while the main thread waits.
func notifyElsewhere(_ value: Int) {
    let hasNotified = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        notify(value)
        hasNotified.signal()
    }
    hasNotified.wait()
}

@MainActor func expect(_ expected: [Int], _ what: String) {
    precondition(received == expected, "\(what): \(received) instead of \(expected)")
}

notifyElsewhere(1)
expect([], "called on another thread")
notify(2)
expect([1, 2], "on the main thread")
notifyElsewhere(3)
expect([1, 2], "on another thread, when the main thread has asked")
notify(4)
expect([1, 2, 3, 4], "on the main thread again")

DispatchQueue.main.async {
    notify(5)
    expect([1, 2, 3, 4, 5], "on the main queue, behind dispatchMain()")
    print("the main thread and the main queue are recognised")
    exit(0)
}
dispatchMain()
