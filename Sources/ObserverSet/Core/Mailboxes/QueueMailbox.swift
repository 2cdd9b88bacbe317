#if canImport(Dispatch)
import Dispatch

/// The values that wait for one observer on a dispatch queue.
///
/// Each value is enqueued with a block of its own. So on a serial queue, the queue's order is that of all its observers. On a
/// concurrent one, a block delivers the next value for its observer, which need not be the one that it was enqueued
/// with; if another block is already delivering, that block delivers this value, too.
final class QueueMailbox: Mailbox, @unchecked Sendable {
    private let queue: DispatchQueue
    /// The jobs, and how many blocks have begun whose value has not been delivered: the first of them delivers for all.
    private let queued = Lock((jobs: Queue<Job>(), begun: 0))

    init(_ queue: DispatchQueue) {
        self.queue = queue
        super.init(of: nil)
    }

    override var isIdle: Bool { queued.withLock { $0.begun == 0 && $0.jobs.count == 0 } }

    override var description: String { "queue \(queue.label)" }

    override func post(
        _ value: any Sendable, to registration: Recipient, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        queued.withLock { queued in
            pending.notePosted()
            registration.notePosted()
            enqueue(Job(value: value, recipient: registration), &queued.jobs)
        }
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        queued.withLock { queued in
            let isBusy = queued.begun > 0 || queued.jobs.count > 0
            if isBusy { enqueue(Job(value: (), recipient: settledWait), &queued.jobs) }
            return isBusy
        }
    }

    /// Called under the lock: a thread's blocks must be in the order of its values, even if another thread is posting, too.
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
            // Released before the next one is looked for: who waits for a removal does not wait for this block.
            job.take()?.run()
            job = queued.withLock { queued in
                queued.begun -= 1
                return queued.begun == 0 ? nil : queued.jobs.removeFirst()
            }
        }
    }
}
#endif
