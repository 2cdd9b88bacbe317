import Dispatch

/// An actor that can be kept busy, and notes which jobs are enqueued for it.
actor BusyActor {
    private nonisolated let executor = NotingExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
    /// The priorities of the jobs that were enqueued so far.
    nonisolated var jobs: [TaskPriority] { executor.priorities.entries }

    /// Keeps the actor busy until the signal is set; returns when it has begun to.
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
