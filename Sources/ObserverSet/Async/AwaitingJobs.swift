/// A value that waits for an observer that awaits, or with which the observer is being called.
///
/// An object that is made before the lock is taken, so that little is done under the lock. The value is stored as an
/// existential, as in any mailbox: the runtime would have to look up a generic type for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let observer: any AwaitedObserver
    /// The notifier's.
    let urgency: Urgency
    /// Ascending in each mailbox; set once, under the inbox's lock.
    fileprivate(set) var number: UInt64 = 0
    /// How many values were dropped just before it; guarded by the lock of `State` until it is taken out.
    fileprivate(set) var droppedBefore = 0

    init(_ value: any Sendable, to observer: any AwaitedObserver, _ urgency: Urgency) {
        self.value = value
        self.observer = observer
        self.urgency = urgency
    }
}

/// The values that notifiers have posted since the mailbox was last looked into.
struct AwaitingInbox: Sendable {
    /// All of one urgency.
    fileprivate var jobs: [AwaitingJob?] = []
    /// The number of the last value.
    fileprivate var last: UInt64 = 0
    /// The urgency of everything that waits; nil if values differ.
    ///
    /// Then they are not put here, so that a task sees the highest.
    fileprivate var urgency: Urgency?
    /// Whether anything may wait, or a task is delivering.
    var isBusy = false
    /// Whether a task is delivering.
    var isRunning = false
    /// Those of the tasks that are on their way to the actor: at most one task of each.
    var sent = Urgency.Set()

    /// Appends a value, and returns whether a task has to be sent; nil if it must be appended to what waits elsewhere.
    mutating func append(_ job: AwaitingJob) -> Bool? {
        if isBusy, urgency != job.urgency { return nil }
        number(job)
        jobs.append(job)
        return needsTask(job.urgency)
    }

    /// The number of values.
    var values: Int { jobs.count }

    /// Numbers a value that is appended here or elsewhere.
    fileprivate mutating func number(_ job: AwaitingJob) {
        last += 1
        job.number = last
        urgency = isBusy && urgency != job.urgency ? nil : job.urgency
        isBusy = true
    }

    /// Whether a task has to be sent for that urgency; one that is delivering hands over to the next by itself.
    mutating func needsTask(_ urgency: Urgency) -> Bool {
        !isRunning && sent.insertUnlessCovered(urgency)
    }
}

/// The queue of a mailbox of an observer that awaits: values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    /// A caller of `settled()`.
    private struct Waiter: Sendable {
        let settledWait: SettledWait
        /// The number of the last value that it waits for.
        let last: UInt64
        /// Whether it waits for the end of every call, also of a removed observer.
        let isForRemoval: Bool
    }

    // Two queues, so that dropped values leave no gaps between the waiters.
    private var jobs = Queue<AwaitingJob>()
    private var waiters = Queue<Waiter>()
    /// The number of waiters at which those that wait no longer are looked for.
    private var nextSweep = leastSweep
    private static let leastSweep = 32
    private var last: UInt64 = 0
    private var urgencies = Urgency.Counts()
    /// How many values were dropped in front of the first value, and behind the last one, since these were put there.
    private var droppedFirst = 0
    private var droppedLast = 0

    /// The number of values.
    var values: Int { jobs.count }
    /// The highest of the values'; nil if there are none.
    var urgency: Urgency? { urgencies.highest }

    /// Moves the values from the inbox to the end.
    mutating func take(from inbox: inout AwaitingInbox) {
        last = inbox.last
        if let urgency = inbox.urgency { urgencies.add(inbox.jobs.count, of: urgency) }
        jobs.append(takingAll: &inbox.jobs)
    }

    /// Appends a value, behind those that were taken from the inbox; returns whether a task has to be sent.
    mutating func append(_ job: AwaitingJob, _ inbox: inout AwaitingInbox) -> Bool {
        inbox.number(job)
        urgencies.add(1, of: job.urgency)
        job.droppedBefore = droppedLast
        droppedLast = 0
        jobs.append(job)
        return inbox.needsTask(job.urgency)
    }

    mutating func append(_ settledWait: SettledWait, isForRemoval: Bool) {
        // Callers whose tasks were cancelled would pile up behind a call that never returns. In amortised O(1).
        if waiters.count >= nextSweep {
            _ = waiters.remove { $0.settledWait.isOver }
            nextSweep = max(Self.leastSweep, 2 * waiters.count)
        }
        waiters.append(Waiter(settledWait: settledWait, last: last, isForRemoval: isForRemoval))
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob {
        let job = jobs.removeFirst()
        urgencies.add(-1, of: job.urgency)
        job.droppedBefore += droppedFirst
        droppedFirst = 0
        return job
    }

    /// Removes and returns the first value, which is dropped since there is no room.
    mutating func dropFirst() -> AwaitingJob {
        let job = removeFirst()
        noteDropped(1, with: job)
        return job
    }

    /// Notes that a value was dropped which was to be appended.
    mutating func noteDroppedLast() { droppedLast += 1 }

    /// Notes that so many values were dropped in front of all that wait, besides those before a value that was taken out.
    mutating func noteDropped(_ count: Int = 0, with job: AwaitingJob) { droppedFirst += job.droppedBefore + count }

    /// Removes and returns all values for that observer.
    ///
    /// What was dropped before them was dropped before the next one for another registration of the observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        var dropped = droppedFirst
        droppedFirst = 0
        let removed = jobs.remove { job in
            job.droppedBefore += dropped
            dropped = job.observer === observer ? job.droppedBefore : 0
            return job.observer === observer
        }
        droppedLast += dropped
        for job in removed { urgencies.add(-1, of: job.urgency) }
        return removed
    }

    /// Removes and returns the waiters in front of which no values are left, during a call for whose end only callers of
    /// `removeAndWait()` wait.
    mutating func takeWaitersDuringCall() -> [SettledWait] {
        let first = jobs.first?.number ?? .max
        return waiters.remove { !$0.isForRemoval && first > $0.last }.map(\.settledWait)
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
