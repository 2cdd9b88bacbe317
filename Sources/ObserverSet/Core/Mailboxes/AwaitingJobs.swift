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
    /// Called under the mailbox's lock, as are the next two.
    func noteDropped()
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

/// The queue of a mailbox of an observer that awaits: values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    /// The call of an observer that awaits, as far as a caller of `settled()` and a removal inside it must know of it: its
    /// mailbox, and the number of its `AwaitingJob` there.
    ///
    /// A task-local value, so that it is also seen by the tasks that the call starts with `Task { }`. The mailbox is held, so
    /// that no other one has its address as long as such a task goes on.
    @TaskLocal static var currentCall: (mailbox: Mailbox, number: UInt64)?

    // Two queues, so that dropped values leave no gaps between the waiters.
    private var jobs = Queue<AwaitingJob>()
    /// Callers of `settled()`, each with the number of the last value that it waits for.
    private var waiters = Queue<(settledWait: SettledWait, last: UInt64, urgency: Urgency)>()
    /// The number of waiters at which those that wait no longer are looked for.
    private var nextSweep = leastSweep
    private static var leastSweep: Int { 32 }
    private var last: UInt64 = 0
    /// How many values and waiters of each urgency there are.
    private var counts = SIMD4<Int>()

    /// The number of values.
    var values: Int { jobs.count }
    /// The highest of the values' and of the waiters'; nil if there are none.
    var urgency: Urgency? { (0..<4).last { counts[$0] > 0 }.map { Urgency(step: UInt8($0)) } }

    /// Appends a value, and numbers it.
    mutating func append(_ job: AwaitingJob) {
        last += 1
        job.number = last
        jobs.append(job)
        counts[job.urgency] += 1
        job.observer.notePosted()
    }

    mutating func append(_ settledWait: SettledWait, _ urgency: Urgency) {
        // Callers whose tasks were cancelled would pile up behind a call that never returns. In amortised O(1).
        if waiters.count >= nextSweep {
            waiters.remove { $0.settledWait.isOver }.forEach { counts[$0.urgency] -= 1 }
            nextSweep = max(Self.leastSweep, 2 * waiters.count)
        }
        waiters.append((settledWait, last, urgency))
        counts[urgency] += 1
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob { noteRemoved(jobs.removeFirst()) }

    /// Removes and returns all values for that observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        jobs.remove { $0.observer === observer }.map { noteRemoved($0) }
    }

    private mutating func noteRemoved(_ job: AwaitingJob) -> AwaitingJob {
        counts[job.urgency] -= 1
        job.observer.noteTakenOut()
        return job
    }

    /// Removes and returns the waiters in front of which no values are left.
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
        get { self[Int(urgency.step)] }
        set { self[Int(urgency.step)] = newValue }
    }
}
