/// A value that is pending for an observer that awaits, or with which the observer is being called.
///
/// It is an object that is made before the lock is taken, so that little is done under the lock. The value is stored as
/// an existential, as in every mailbox, because the runtime would have to look up a generic type for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let recipient: Registration
    /// The notifier's urgency.
    let urgency: Urgency
    /// The value's number, which ascends in each mailbox; set once, under the mailbox's lock.
    fileprivate(set) var number: UInt64 = 0

    init(_ value: any Sendable, to recipient: Registration, _ urgency: Urgency) {
        self.value = value
        self.recipient = recipient
        self.urgency = urgency
    }
}

/// The queue in the mailbox of an observer that awaits: pending values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    /// The call in which this code runs, if an observer that awaits is being called: the observer's mailbox, and the
    /// number of the `AwaitingJob` there.
    ///
    /// A caller of `settled()` and a removal need this, because neither may wait for, or cancel, the call that makes
    /// it. It is a task-local value, so that the tasks that the call starts with `Task { }` see it, too. It holds the
    /// mailbox, so that no other mailbox can get the same address while such a task goes on.
    @TaskLocal static var currentCall: (mailbox: Mailbox, number: UInt64)?

    // There are two queues, so that dropped values leave no gaps between the waiters.
    private var jobs = Queue<AwaitingJob>()
    /// The callers of `settled()`, each with the number of the last value that it waits for.
    private var waiters = Queue<(settledWait: SettledWait, last: UInt64, urgency: Urgency)>()
    /// The number of waiters at which to look for those that no longer wait.
    private var nextSweep = leastSweep
    private static var leastSweep: Int { 32 }
    private var last: UInt64 = 0
    /// The number of values and waiters of each urgency.
    private var counts = SIMD4<Int>()

    /// The number of pending values.
    var values: Int { jobs.count }
    /// The highest urgency of a value or a waiter; nil if there are none.
    var urgency: Urgency? { (0..<4).last { counts[$0] > 0 }.map { Urgency(rank: UInt8($0)) } }

    /// Appends a value, and numbers it.
    mutating func append(_ job: AwaitingJob) {
        last += 1
        job.number = last
        jobs.append(job)
        counts[job.urgency] += 1
        job.recipient.notePosted()
    }

    mutating func append(_ settledWait: SettledWait, _ urgency: Urgency) {
        // Otherwise, callers whose tasks were cancelled would pile up behind a call that never returns. This takes
        // amortised O(1).
        if waiters.count >= nextSweep {
            waiters.remove { $0.settledWait.isOver }.forEach { counts[$0.urgency] -= 1 }
            nextSweep = max(Self.leastSweep, 2 * waiters.count)
        }
        waiters.append((settledWait, last, urgency))
        counts[urgency] += 1
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob { noteTaken(jobs.removeFirst()) }

    /// Removes and returns all values for registrations that have ended.
    ///
    /// These may be more than one, because a token for several registrations marks them all before it removes any.
    mutating func removeEnded() -> [AwaitingJob] { jobs.remove { !$0.recipient.isRegistered }.map { noteTaken($0) } }

    private mutating func noteTaken(_ job: AwaitingJob) -> AwaitingJob {
        counts[job.urgency] -= 1
        job.recipient.noteNoLongerPending()
        return job
    }

    func checkInvariants() { precondition(counts.wrappedSum() == jobs.count + waiters.count) }

    /// Removes and returns the waiters with no value left in front of them.
    mutating func takeWaiters() -> [SettledWait] {
        var taken: [SettledWait] = []
        while let waiter = waiters.first {
            if let job = jobs.first, job.number <= waiter.last { break }
            counts[waiter.urgency] -= 1
            taken.append(waiters.removeFirst().settledWait)
        }
        return taken
    }
}

extension SIMD4<Int> {
    fileprivate subscript(urgency: Urgency) -> Int {
        get { self[Int(urgency.rank)] }
        set { self[Int(urgency.rank)] = newValue }
    }
}
