import Dispatch

/// An actor that a test can keep busy, and that notes the priority of each job that is enqueued for it.
actor BusyActor {
    private nonisolated let executor = NotingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    /// The priorities of the jobs that have been enqueued so far.
    nonisolated var jobs: [TaskPriority] { executor.priorities.entries }

    /// Keeps the actor busy until the signal is set, and returns as soon as the actor is busy.
    nonisolated func keepBusy(until end: Signal) async {
        let isBusy = Signal()
        Task.detached { await self.wait(for: end, isBusy) }
        await eventually { isBusy.isSet }
    }

    private func wait(for end: Signal, _ isBusy: Signal) {
        isBusy.set()
        end.wait()
    }

    func perform<Result: Sendable>(_ body: @Sendable (isolated BusyActor) -> Result) -> Result { body(self) }
}

private final class NotingExecutor: SerialExecutor {
    let priorities = Log<TaskPriority>()
    private let queue = DispatchQueue(label: "noting")

    func enqueue(_ job: consuming ExecutorJob) {
        priorities.append(TaskPriority(rawValue: job.priority.rawValue))
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
