#if canImport(Dispatch)
import Dispatch

/// The values that wait for one observer on a dispatch queue.
///
/// Each value is enqueued with a block of its own. So on a serial queue, the queue's order is that of all its observers. On a
/// concurrent one, a block delivers the next value for its observer, which need not be the one that it was enqueued
/// with; while another block is at it, that one does.
final class QueueMailbox: Mailbox, @unchecked Sendable {
    private struct State: Sendable {
        var jobs = Queue<Job>()
        var isDelivering = false
        /// How many blocks have found another one delivering, and left their value to that.
        var owed = 0

        /// The job that a block is to deliver first, if any.
        mutating func begin() -> Job? {
            if isDelivering {
                owed += 1
                return nil
            }
            isDelivering = true
            return jobs.removeFirst()
        }

        /// The job that the block is to deliver next, if any.
        mutating func next() -> Job? {
            if owed == 0 {
                isDelivering = false
                return nil
            }
            owed -= 1
            return jobs.removeFirst()
        }
    }

    private let queue: DispatchQueue
    private let state = Lock(State())

    init(_ queue: DispatchQueue) {
        self.queue = queue
        super.init(of: nil)
    }

    override var isIdle: Bool { state.withLock { !$0.isDelivering && $0.jobs.count == 0 } }

    override var description: String { "queue \(queue.label)" }

    override func post(
        _ job: Job, _ pending: borrowing Pending, _ status: borrowing RegistrationStatus,
        by context: inout NotifyContext
    ) {
        state.withLock { state in
            pending.post()
            status.post()
            enqueue(job, &state)
        }
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        if isIdle { return false }
        state.withLock { enqueue(Job(value: (), recipient: settledWait), &$0) }
        return true
    }

    /// Called under the lock: a thread's blocks must be in the order of its values, even if another thread is posting, too.
    private func enqueue(_ job: Job, _ state: inout State) {
        state.jobs.append(job)
        queue.async { self.deliver() }
    }

    private func deliver() {
        var job = state.withLock { $0.begin() }
        while job != nil {
            // Released before the next one is looked for: who waits for a removal does not wait for this block.
            job.take()?.deliver()
            job = state.withLock { $0.next() }
        }
    }
}
#endif
