/// A value that waits for an observer that awaits, or with which the observer is being called.
///
/// An object that is made before the lock is taken, so that little is done under the lock. The value is stored as an
/// existential, as in any mailbox: the runtime would have to look up a generic type for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let observer: any AwaitedObserver
    /// That of the notifier; the raw value, since the layout of `TaskPriority` is known only at run time.
    let priority: UInt8
    /// Unique in the process, and ascending in each mailbox; set once, under the inbox's lock.
    fileprivate(set) var number: UInt64 = 0

    init(value: any Sendable, observer: any AwaitedObserver, priority: UInt8) {
        self.value = value
        self.observer = observer
        self.priority = priority
    }
}

/// What notifiers have posted since the mailbox was last looked into.
struct AwaitingInbox: Sendable {
    fileprivate var jobs: [AwaitingJob?] = []
    /// The number of the last value.
    fileprivate var last: UInt64 = 0
    /// Whether there is a task that delivers, or one is about to be made.
    private var isBusy = false

    /// Appends a value; returns whether a task has to be made.
    mutating func append(_ job: AwaitingJob) -> Bool {
        last = ObserverToken.nextID()
        job.number = last
        jobs.append(job)
        defer { isBusy = true }
        return !isBusy
    }

    /// Notes that there is no task any more, since nothing is left.
    mutating func becomeIdle() { isBusy = false }
}

/// What waits in a mailbox of an observer that awaits: values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    /// A caller of `settled()`.
    private struct Waiter: Sendable {
        let settlement: Settlement
        /// The number of the last value that it waits for.
        let last: UInt64
    }

    // Two queues, so that dropped values leave no gaps between the waiters.
    private var jobs = Queue<AwaitingJob>()
    private var waiters = Queue<Waiter>()
    private var last: UInt64 = 0

    /// The number of values.
    var values: Int { jobs.count }
    var isEmpty: Bool { jobs.count == 0 && waiters.count == 0 }
    var first: AwaitingJob? { jobs.first }

    /// Moves the values from the inbox to the end.
    mutating func take(from inbox: inout AwaitingInbox) {
        last = inbox.last
        jobs.append(takingAll: &inbox.jobs)
    }

    mutating func append(_ settlement: Settlement) {
        waiters.append(Waiter(settlement: settlement, last: last))
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob { jobs.removeFirst() }

    /// Removes and returns all values for that observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        jobs.remove { $0.observer === observer }
    }

    /// Removes and returns the waiters in front of which no values are left.
    mutating func takeWaiters() -> [Settlement] {
        var taken: [Settlement] = []
        while let waiter = waiters.first {
            if let job = jobs.first, job.number <= waiter.last { break }
            taken.append(waiters.removeFirst().settlement)
        }
        return taken
    }
}

/// A queue: first in, first out, in amortised O(1).
private struct Queue<Element: Sendable>: Sendable {
    /// The first elements begin at `head`; the places before it are nil.
    private var front: [Element?] = []
    private var head = 0
    /// The elements behind them.
    private var back: [Element?] = []

    /// The capacity that an empty queue keeps; what a burst needed beyond that is freed.
    private static var keptRoom: Int { 32 }

    var count: Int { front.count - head + back.count }
    var first: Element? { head < front.count ? front[head] : back.first ?? nil }

    mutating func append(_ element: Element) { back.append(element) }

    /// Moves the elements of an array to the end, without copying them if there are no others.
    mutating func append(takingAll elements: inout [Element?]) {
        if back.isEmpty {
            swap(&back, &elements)
        } else {
            back += elements
            elements.removeAll()
        }
    }

    mutating func removeFirst() -> Element {
        if head == front.count {
            front.removeAll(keepingCapacity: front.capacity <= Self.keptRoom)
            head = 0
            swap(&front, &back)
        }
        let element = front[head].take()!
        head += 1
        if count == 0 {
            front.removeAll(keepingCapacity: front.capacity <= Self.keptRoom)
            head = 0
        }
        return element
    }

    /// Removes and returns the elements that satisfy a condition.
    mutating func remove(where isIncluded: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        front = (front[head...] + back).filter { element in
            guard isIncluded(element!) else { return true }
            removed.append(element!)
            return false
        }
        head = 0
        back = []
        return removed
    }
}
