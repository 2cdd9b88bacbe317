import Dispatch
import Foundation

/// Holds the jobs of the tasks that a round creates until the round runs them.
///
/// So all of them run on the round's own thread, in the order that the round chooses.
///
/// The concurrency runtime calls a hook before it enqueues a job for its threads. The hook keeps the jobs of a thread
/// that is inside `keepingJobs`, or that runs a round's dispatch queue, and passes on all others. Actors are entered in
/// place, since nothing else runs on them. (`Task.yield()` may bypass the hook; neither the library nor the worlds need
/// it here.)
final class JobQueue: Sendable {
    // It is used by one thread at a time: the round's own, or that of its dispatch queue, for which the round waits.
    private nonisolated(unsafe) var jobs: [UnownedJob] = []

    /// Whether jobs can be kept back here.
    static let isAvailable = installed && keepsJobs()

    /// The queue of the calling thread.
    static var current: JobQueue? {
        if let queue = unsafe pthread_getspecific(key) {
            return unsafe Unmanaged<JobQueue>.fromOpaque(queue).takeUnretainedValue()
        }
        return DispatchQueue.getSpecific(key: dispatchKey)
    }

    /// Keeps back the jobs of the tasks that `body` creates.
    static func keepingJobs<Result>(_ body: () -> Result) -> Result {
        guard isAvailable else { return body() }
        return keeping(in: JobQueue(), body)
    }

    private static func keeping<Result>(in queue: JobQueue, _ body: () -> Result) -> Result {
        let outer = unsafe pthread_getspecific(key)
        unsafe pthread_setspecific(key, Unmanaged.passUnretained(queue).toOpaque())
        defer { unsafe pthread_setspecific(key, outer) }
        return withExtendedLifetime(queue, body)
    }

    /// Keeps back the jobs of the tasks that blocks on a dispatch queue create.
    func keepJobs(of dispatchQueue: DispatchQueue) { dispatchQueue.setSpecific(key: Self.dispatchKey, value: self) }

    /// Runs all jobs in the queue, and those that they enqueue, the oldest or the newest first.
    func run(newestFirst: Bool = false) {
        while unsafe !jobs.isEmpty {
            let job = unsafe newestFirst ? jobs.removeLast() : jobs.removeFirst()
            unsafe job.runSynchronously(on: Self.generic)
        }
    }

    /// The executor that stands for no actor, that is, for the runtime's own threads.
    private static var generic: UnownedSerialExecutor { unsafe unsafeBitCast((0, 0), to: UnownedSerialExecutor.self) }

    private static let dispatchKey = DispatchSpecificKey<JobQueue>()
    private static let key = {
        var key = pthread_key_t()
        precondition(unsafe pthread_key_create(&key, nil) == 0)
        return key
    }()

    // These have the calling convention of the runtime.
    private typealias Original = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

    private static let installed: Bool = {
        guard let symbol = unsafe dlsym(dlopen(nil, RTLD_NOW), "swift_task_enqueueGlobal_hook") else { return false }
        unsafe symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
            if let queue = JobQueue.current { unsafe queue.jobs.append(job) } else { original(job) }
        }
        return true
    }()

    /// Tries whether the hook works: a task must run when the queue is run, and not before.
    private static func keepsJobs() -> Bool {
        let queue = JobQueue()
        let hasRun = Shared(false)
        return keeping(in: queue) {
            Task { hasRun.value = true }
            let isKept = unsafe queue.jobs.count == 1 && !hasRun.value
            queue.run()
            return isKept && hasRun.value
        }
    }
}
