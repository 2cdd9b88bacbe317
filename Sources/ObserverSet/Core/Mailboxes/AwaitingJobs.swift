/// An observer that awaits, as its mailbox sees it.
protocol AwaitedObserver: AnyObject, Sendable {
    /// Whether a value from the mailbox may be delivered.
    var isActive: Bool { get }
    /// Whether it is called only once, and so its call never cancelled: it has ended its registration itself.
    var isCalledOnce: Bool { get }
    /// Calls the observer with a value that `deliver` has posted, if its owner is alive.
    ///
    /// Runs on the observer's actor, so that the owner is loaded there, and its `deinit` cannot run elsewhere.
    func call(_ value: any Sendable, on actor: isolated (any Actor)?) async
    func noteDropped()
    /// These are called under the mailbox's lock.
    func notePosted()
    func noteTakenOut()
}

/// A value that waits for an observer that awaits, or with which the observer is being called.
///
/// An object that is made before the lock is taken, so that little is done under the lock. The value is stored as an
/// existential, as in any mailbox: the runtime would have to look up a generic type for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let observer: any AwaitedObserver
    /// The notifier's.
    let urgency: Urgency
    /// Ascending in each mailbox; set once, under the mailbox's lock.
    fileprivate(set) var number: UInt64 = 0

    init(_ value: any Sendable, to observer: any AwaitedObserver, _ urgency: Urgency) {
        self.value = value
        self.observer = observer
        self.urgency = urgency
    }
}

/// The call of an observer that awaits, as far as a caller of `settled()` and a removal inside it must know of it.
///
/// A task-local value, so that it is also seen by the tasks that the call starts with `Task { }`.
struct AwaitingCall: Sendable {
    /// Held, so that no other mailbox has its address as long as a task of the call goes on.
    let mailbox: Mailbox
    /// The number of the call's `AwaitingJob` there.
    let number: UInt64

    @TaskLocal static var current: AwaitingCall?
}

/// The queue of a mailbox of an observer that awaits: values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    /// A caller of `settled()`.
    private struct Waiter: Sendable {
        let settledWait: SettledWait
        /// The number of the last value that it waits for.
        let last: UInt64
    }

    // Two queues, so that dropped values leave no gaps between the waiters.
    private var jobs = Queue<AwaitingJob>()
    private var waiters = Queue<Waiter>()
    /// The number of waiters at which those that wait no longer are looked for.
    private var nextSweep = leastSweep
    private static let leastSweep = 32
    private var last: UInt64 = 0
    private var urgencies = Urgency.Counts()

    /// The number of values.
    var values: Int { jobs.count }
    /// The highest of the values'; nil if there are none.
    var urgency: Urgency? { urgencies.highest }

    /// Appends a value, and numbers it.
    mutating func append(_ job: AwaitingJob) {
        last += 1
        job.number = last
        urgencies.add(1, of: job.urgency)
        jobs.append(job)
        job.observer.notePosted()
    }

    mutating func append(_ settledWait: SettledWait) {
        // Callers whose tasks were cancelled would pile up behind a call that never returns. In amortised O(1).
        if waiters.count >= nextSweep {
            _ = waiters.remove { $0.settledWait.isOver }
            nextSweep = max(Self.leastSweep, 2 * waiters.count)
        }
        waiters.append(Waiter(settledWait: settledWait, last: last))
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob {
        let job = jobs.removeFirst()
        noteRemoved(job)
        return job
    }

    /// Removes and returns all values for that observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        let removed = jobs.remove { $0.observer === observer }
        removed.forEach { noteRemoved($0) }
        return removed
    }

    private mutating func noteRemoved(_ job: AwaitingJob) {
        urgencies.add(-1, of: job.urgency)
        job.observer.noteTakenOut()
    }

    /// Removes and returns the waiters in front of which no values are left.
    mutating func takeWaiters() -> [SettledWait] {
        var taken: [SettledWait] = []
        while let waiter = waiters.first {
            if let job = jobs.first, job.number <= waiter.last { break }
            taken.append(waiters.removeFirst().settledWait)
        }
        return taken
    }
}
