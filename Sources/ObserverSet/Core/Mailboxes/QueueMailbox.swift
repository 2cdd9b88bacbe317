#if canImport(Dispatch)
import Dispatch

/// Keeps the values that are pending for one observer on a dispatch queue.
///
/// Each value is enqueued together with a block of its own. So on a serial queue, all observers receive their values in
/// the queue's order. On a concurrent queue, a block delivers the next value for its observer, which need not be the
/// value that it was enqueued with. If another block is already delivering, that block also delivers this value.
final class QueueMailbox: Mailbox, @unchecked Sendable {
    private let queue: DispatchQueue
    /// The jobs, and the number of blocks that have begun, less the number of values that have been delivered.
    ///
    /// The block that raises this number from zero delivers until it is zero again, for all blocks that begin
    /// meanwhile.
    private let queued = Lock((jobs: Queue<Job>(), begun: 0))

    init(_ queue: DispatchQueue) {
        self.queue = queue
        super.init(of: nil)
    }

    override var isIdle: Bool { queued.withLock { $0.begun == 0 && $0.jobs.count == 0 } }

    override var description: String { "queue \(queue.label)" }

    override func post(
        _ value: any Sendable, to recipient: Registration, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        queued.withLock { queued in
            pending.notePosted()
            recipient.notePosted()
            enqueue(Job(value: value, recipient: recipient), &queued.jobs)
        }
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        queued.withLock { queued in
            guard queued.begun > 0 || queued.jobs.count > 0 else { return false }
            let job = Job(value: (), recipient: settledWait)
            // The marker of a cancelled caller is replaced, and its block serves the new one. Otherwise, the markers of
            // a caller that tries again and again would pile up while the queue is suspended.
            if (queued.jobs.last?.recipient as? SettledWait)?.isOver == true {
                queued.jobs.replaceLast(with: job)
            } else {
                enqueue(job, &queued.jobs)
            }
            return true
        }
    }

    /// Appends a job, and enqueues a block for it.
    ///
    /// Call this under the lock, so that the blocks are in the order of the jobs, even if several threads are posting.
    private func enqueue(_ job: Job, _ jobs: inout Queue<Job>) {
        jobs.append(job)
        queue.async { self.drain() }
    }

    private func drain() {
        var job = queued.withLock { queued in
            queued.begun += 1
            return queued.begun == 1 ? queued.jobs.removeFirst() : nil
        }
        while job != nil {
            // The job is released before `begun` falls: from then on, a caller of `removeAndWait()` may no longer wait
            // for this block, and must find released what the observer captured.
            job.take()?.run()
            job = queued.withLock { queued in
                queued.begun -= 1
                return queued.begun == 0 ? nil : queued.jobs.removeFirst()
            }
        }
    }
}
#endif
