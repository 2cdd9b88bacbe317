/// A value that waits for an observer that awaits, or with which the observer is being called.
///
/// An object that is made before the lock is taken, so that little is done under the lock. The value is stored as an
/// existential, as in any mailbox: the runtime would have to look up a generic type for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let observer: any AwaitedObserver
    let priority: TaskPriority
    /// Unique in the process, and ascending in each mailbox; set once, under the mailbox's lock.
    fileprivate(set) var number: UInt64 = 0

    init(value: any Sendable, observer: any AwaitedObserver, priority: TaskPriority) {
        self.value = value
        self.observer = observer
        self.priority = priority
    }
}

/// What waits in a mailbox of an observer that awaits: values, and callers of `settled()`.
struct AwaitingJobs: Sendable {
    private struct Waiter: Sendable {
        /// A caller of `settled()`.
        let continuation: CheckedContinuation<Void, Never>
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

    mutating func append(_ job: AwaitingJob) {
        last = ObserverToken.nextID()
        job.number = last
        jobs.append(job)
    }

    mutating func append(_ continuation: CheckedContinuation<Void, Never>) {
        waiters.append(Waiter(continuation: continuation, last: last))
    }

    /// Removes and returns the first value.
    mutating func removeFirst() -> AwaitingJob { jobs.removeFirst() }

    /// Removes and returns all values for that observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        jobs.remove { $0.observer === observer }
    }

    /// Removes and returns the first waiter, if the values for which it waits are no longer here.
    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
        guard let waiter = waiters.first else { return nil }
        if let job = jobs.first, job.number <= waiter.last { return nil }
        return waiters.removeFirst().continuation
    }
}

/// A queue: first in, first out, in amortised O(1).
private struct Queue<Element: Sendable>: Sendable {
    /// The elements begin at `head`; the places before it are nil.
    private var elements: [Element?] = []
    private var head = 0

    /// The capacity that an empty queue keeps; what a burst needed beyond that is freed.
    private static var keptRoom: Int { 32 }

    var count: Int { elements.count - head }
    var first: Element? { count == 0 ? nil : elements[head] }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func removeFirst() -> Element {
        let element = elements[head].take()!
        head += 1
        if count == 0 {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.keptRoom)
            head = 0
        } else if head > Self.keptRoom, head > count {
            // Most of the array is vacant: moves the elements to one of their size.
            elements = Array(elements[head...])
            head = 0
        }
        return element
    }

    /// Removes and returns the elements that satisfy a condition.
    mutating func remove(where isIncluded: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        elements = elements[head...].filter { element in
            guard isIncluded(element!) else { return true }
            removed.append(element!)
            return false
        }
        head = 0
        return removed
    }
}
