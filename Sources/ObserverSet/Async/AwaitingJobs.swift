/// A value that waits for an observer that awaits, or with which that is being called.
///
/// An object, made before the lock is taken, so that little is done under it. The value in the three words of an existential,
/// as in any mailbox: generic code would look types up for each value.
final class AwaitingJob: @unchecked Sendable {
    let value: any Sendable
    let observer: any AwaitedObserver
    let priority: TaskPriority
    /// Unique in the process, and rising from job to job of a mailbox; set once, under its lock.
    fileprivate(set) var number: UInt64 = 0

    init(value: any Sendable, observer: any AwaitedObserver, priority: TaskPriority) {
        self.value = value
        self.observer = observer
        self.priority = priority
    }
}

/// What waits in a mailbox of an observer that awaits: values, and those who wait for all that came before them.
struct AwaitingJobs: Sendable {
    private struct Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        /// The number of the last job that it waits for.
        let last: UInt64
    }

    // Apart, so that what is dropped leaves no gap between those who wait.
    private var jobs = Line<AwaitingJob>()
    private var waiters = Line<Waiter>()
    private var last: UInt64 = 0

    /// How many values there are.
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

    /// Takes the first value.
    mutating func removeFirst() -> AwaitingJob { jobs.removeFirst() }

    /// Takes all values for that observer.
    mutating func remove(for observer: any AwaitedObserver) -> [AwaitingJob] {
        jobs.remove { $0.observer === observer }
    }

    /// Takes one who waits for nothing that is here.
    mutating func takeWaiter() -> CheckedContinuation<Void, Never>? {
        guard let waiter = waiters.first else { return nil }
        if let job = jobs.first, job.number <= waiter.last { return nil }
        return waiters.removeFirst().continuation
    }
}

/// First in, first out, in amortised O(1).
private struct Line<Element: Sendable>: Sendable {
    /// From `head` on; nil before it.
    private var elements: [Element?] = []
    private var head = 0

    /// How many elements there is room for when there are none; what a burst took beyond goes with it.
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
            // The larger part.
            elements.removeSubrange(..<head)
            head = 0
        }
        return element
    }

    /// Takes all that are such.
    mutating func remove(where isSuch: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        elements = elements[head...].filter { element in
            guard isSuch(element!) else { return true }
            removed.append(element!)
            return false
        }
        head = 0
        return removed
    }
}
