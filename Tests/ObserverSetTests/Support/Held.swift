import Dispatch
import ObserverSet

/// An actor that does nothing until it is let go.
actor Held {
    private nonisolated let executor = HeldExecutor()
    private(set) var calls = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    func hear() { calls += 1 }

    nonisolated func letGo() { executor.queue.resume() }
}

private final class HeldExecutor: SerialExecutor {
    let queue = DispatchQueue(label: "held")

    init() { queue.suspend() }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}

/// Whether `settled()` of a source waits until an actor's observer has been called.
///
/// - Parameters:
///   - source: The source.
///   - notify: Has the source tell something, once.
/// - Returns: Whether it has waited, and the observer has been called once.
func settledWaitsForAnActor<Source: NotificationSource>(_ source: Source, notify: () -> Void) async -> Bool {
    let actor = Held()
    let token = source.add(actor) { (actor: isolated Held, _) in actor.hear() }
    notify()
    let mayEnd = Signal()
    let hasWaited = Shared(false)
    let waiting = await taskThatWaits(for: source) { hasWaited.value = mayEnd.isSet }
    // If it did not wait, it would very likely have ended by now; if it does, none of this matters.
    for _ in 0..<100 { await Task.yield() }

    mayEnd.set()
    actor.letGo()
    await waiting.value
    let calls = await actor.calls
    token.remove()
    return hasWaited.value && calls == 1
}

/// A task that waits until the source is settled, and does so when this returns (on older systems, very likely).
func taskThatWaits(
    for source: some NotificationSource, then: @escaping @Sendable () -> Void = {}
) async -> Task<Void, Never> {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        return Task.immediateDetached {
            await source.settled()
            then()
        }
    }
    let hasBegun = Signal()
    let task = Task.detached {
        hasBegun.set()
        await source.settled()
        then()
    }
    await eventually { hasBegun.isSet }
    for _ in 0..<100 { await Task.yield() }
    return task
}
