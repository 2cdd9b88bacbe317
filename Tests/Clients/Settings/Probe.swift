// What the forms of `.ci/settings` observe, and how they say where they run. This is a module of its own in language mode 6, as a
// package that an app uses. So its meaning is the same in each setting.

import Dispatch
package import Foundation
package import ObserverSet
import Synchronization

package struct Order: Event {}

package struct Theme: BridgedEvent {}

extension Notification.Name {
    package static let posted = Notification.Name("Posted")
}

/// A source that isn't the library's.
package struct CustomSource: NotificationSource {
    let base: ObserverSet<String>
    package func register(_ observer: Observer<String>) -> ObserverToken { base.register(observer) }
    package func settled() async { await base.settled() }
}

/// Each kind of source.
package final class Model: Sendable {
    package let text = ObserverSet<String>()
    package let other = ObserverSet<String>()
    package let nothing = ObserverSet<Void>()
    package let pair = ObserverSet<(Int, Int)>()
    package let publisher = EventPublisher()
    package let center = NotificationCenter()
    package var custom: CustomSource { CustomSource(base: text) }
    package var someText: some NotificationSource<String> { text }
    package var anyText: any NotificationSource<String> { text }

    package init() {}

    package func notify(isolation: isolated (any Actor)? = #isolation) {
        text.notify("text")
        nothing.notify()
        pair.notify((1, 2))
        publisher.publish(Order())
        center.post(Theme())
        center.post(name: .posted, object: nil, userInfo: ["text": "text"])
    }

    package func settled() async {
        for source in [text, other] { await source.settled() }
        await nothing.settled()
        await pair.settled()
        await publisher.settled()
        await center.observers(of: Theme.self).settled()
        await center.observers(named: .posted).settled()
    }
}

/// Where observers run: on the main queue, on the queue of the actor `Keeper`, or elsewhere.
package enum Place: String, Sendable {
    case main, keeper, elsewhere

    private static let key = DispatchSpecificKey<Place>()
    private static let called = Mutex<[Place]>([])

    static func mark(_ queue: DispatchQueue, as place: Place) { queue.setSpecific(key: key, value: place) }

    package static var current: Place { DispatchQueue.getSpecific(key: key) ?? .elsewhere }

    /// Called by each observer.
    package static func note() { called.withLock { $0.append(current) } }

    /// Returns the places of all calls since the last time, and forgets them.
    package static func taken() -> [Place] {
        called.withLock { places in
            defer { places = [] }
            return places
        }
    }
}

/// An executor on a queue, so that it can be asked whether the current code runs there.
package final class QueueExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "keeper")

    package init() {
        Place.mark(queue, as: .keeper)
        Place.mark(.main, as: .main)
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    package func checkIsolated() { precondition(Place.current == .keeper, "not on the keeper's queue") }
}

/// Adds an observer on another thread, and removes it there.
package func observeElsewhere(_ set: ObserverSet<Int>) {
    let group = DispatchGroup()
    DispatchQueue.global().async(group: group) { set.addNonisolated { _ in }.remove() }
    group.wait()
}
