import Dispatch
import ObserverSet

/// An actor that runs nothing until `letGo()` is called.
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

/// Checks whether a source's `settled()` waits until an actor's observer has been called.
///
/// - Parameters:
///   - source: The source.
///   - notify: Makes the source notify once.
/// - Returns: Whether `settled()` has waited, and the observer has been called exactly once.
func settledWaitsForAnActor<Source: NotificationSource>(_ source: Source, notify: () -> Void) async -> Bool {
    let actor = Held()
    let token = source.add(actor) { (actor: isolated Held, _) in actor.hear() }
    notify()
    let mayEnd = Signal()
    let hasWaited = Shared(false)
    let waiting = await taskThatWaits(for: source) { hasWaited.value = mayEnd.isSet }
    // If `settled()` did not wait, it would very likely have returned by now. If it does wait, this loop changes
    // nothing.
    for _ in 0..<100 { await Task.yield() }

    mayEnd.set()
    actor.letGo()
    await waiting.value
    let calls = await actor.calls
    token.remove()
    return hasWaited.value && calls == 1
}

/// Starts a task that awaits the source's `settled()`, and returns when the task is waiting.
///
/// On older systems the task is only very likely to be waiting by then.
func taskThatWaits(
    for source: some NotificationSource, then: @escaping @Sendable () -> Void = {}
) async -> Task<Void, Never> {
    await taskThatWaits {
        await source.settled()
        then()
    }
}

/// Starts a task that calls `wait` and returns its result, and returns when the task is waiting.
func taskThatWaits<Result: Sendable>(_ wait: @escaping @Sendable () async -> Result) async -> Task<Result, Never> {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
        return Task.immediateDetached(operation: wait)
    }
    let hasBegun = Signal()
    let task = Task.detached {
        hasBegun.set()
        return await wait()
    }
    await eventually { hasBegun.isSet }
    for _ in 0..<100 { await Task.yield() }
    return task
}
