import Dispatch
import Foundation

/// An actor on an event loop.
///
/// The actor's own code may run that loop inside a call, as a modal dialog does on the main thread.
actor LoopActor {
    private nonisolated let executor = LoopExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    /// Waits until jobs have been enqueued for the actor, and runs them; to be called on the actor.
    nonisolated func runLoop() {
        executor.waitForJob()
        executor.run()
    }

    func perform<Result: Sendable>(_ body: @Sendable (isolated LoopActor) -> Result) -> Result { body(self) }
}

private final class LoopExecutor: SerialExecutor {
    private let jobs = Log<UnownedJob>()
    private let taken = Shared(0)
    private let queue = DispatchQueue(label: "loop")

    func enqueue(_ job: consuming ExecutorJob) {
        // Whoever runs the loop may run the job as soon as it is in `jobs`, and release the actor, and with it this
        // executor. The closure keeps the executor until then.
        let run: @Sendable () -> Void = { self.run() }
        jobs.append(UnownedJob(job))
        queue.async(execute: run)
    }

    func waitForJob() { while taken.value == jobs.count { Thread.yield() } }

    func run() {
        while taken.value < jobs.count {
            let job = jobs.entries[taken.exchange(taken.value + 1)]
            unsafe job.runSynchronously(on: asUnownedSerialExecutor())
        }
    }
}
