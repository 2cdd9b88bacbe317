import Dispatch
import ObserverSet
import Synchronization

/// What observers receive.
struct Value: Sendable {
    let thread: Int
    /// The number among the thread's notifications of that set; zero if they are not numbered.
    var number = 0
    /// The clock's value when the notification began.
    var begin = 0
}

/// What many threads do to two sets at once, and what must hold meanwhile.
///
/// There is no lock here, and almost nothing that orders threads: the clock, the counters and what observers read are
/// relaxed or not atomic. So the thread sanitizer reports a race wherever the sets do not order two threads.
final class Storm: Sendable {
    /// A set with observers that are never removed.
    let calm = ObserverSet<Value>()
    /// A set that is emptied now and then.
    let wild = ObserverSet<Value>()
    let mistakes: Mistakes
    let lifetimes = Lifetimes()
    let threads: Int
    private let share: Int
    private let seed: UInt64
    private let clock = Atomic<Int>(1)
    /// The number of calls that were made on each thread.
    private let deliveries: Cells
    /// A registration on its way from one thread to another.
    private let market = AtomicObject<Subscription>()
    private let ended = Atomic<Bool>(false)

    /// Computed, since the first use of a stored global goes through a lock of the runtime, which would order the threads.
    private static var plainValue: Int { 7 }

    init(threads: Int, deliveries: Int, seed: UInt64, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        self.seed = seed
        share = deliveries / threads
        self.deliveries = Cells(threads)
    }

    /// Runs until that many deliveries have been made, or until `isOver` returns true; returns how many were made.
    @discardableResult
    func run(until isOver: @escaping @Sendable () -> Bool = { false }) async -> Int {
        let owner = Tracked(in: lifetimes)
        let staying = stay(owner: owner)
        let calmCounts = Cells(threads)
        await onThreads(threads) { [self] index in
            var life = Life(self, index, seed: seed)
            var steps = 0
            while deliveries[index] < share, !ended.load(ordering: .relaxed) {
                life.step()
                steps += 1
                if steps % 256 == 0, isOver() { ended.store(true, ordering: .relaxed) }
            }
            life.end()
            calmCounts[index] = life.calmNotifications
        }
        if let last = trade(nil) { remove(last) }
        for seen in staying {
            for thread in 0..<threads { mistakes.note(.missedOrOutOfOrder, unless: seen[thread] == calmCounts[thread]) }
        }
        wild.removeAll()
        // These notifications remove the remaining entries of dead owners.
        notify(wild, Value(thread: 0))
        notify(calm, Value(thread: 0))
        mistakes.note(.wrongCount, unless: calm.count == staying.count && wild.isEmpty)
        // The owner that stays, and one capture.
        await expect(living: 2)
        calm.removeAll()
        await expect(living: 1)
        withExtendedLifetime(owner) {}
        return deliveries.sum
    }

    /// Checks the number of tracked objects, if necessary after jobs on other threads have released what they held.
    private func expect(living: Int) async {
        await eventually { lifetimes.count == living }
        mistakes.note(.notReleased, unless: lifetimes.count == living)
    }

    /// Adds observers to the calm set that are never removed, and so must receive every notification of each thread, in
    /// order.
    private func stay(owner: Tracked) -> [Cells] {
        let seen = (0..<3).map { _ in Cells(threads) }
        let capture = Tracked(Self.plainValue, in: lifetimes)
        _ = calm.add { [self, seen = seen[0]] value in
            see(value, seen)
            lookAt(capture)
        }
        calm.add(owner) { [self, seen = seen[1]] _, value in see(value, seen) }
        _ = calm.addNonisolated { [self, seen = seen[2]] value in
            see(value, seen)
            // Sometimes changes a set or notifies one inside the call.
            switch value.number % 32 {
            case 8: notify(wild, Value(thread: value.thread))
            case 24: remove(add(to: calm))
            default: break
            }
        }
        return seen
    }

    private func see(_ value: Value, _ seen: Cells) {
        if value.number == 0 { return }
        mistakes.note(.missedOrOutOfOrder, unless: seen[value.thread] + 1 == value.number)
        seen[value.thread] = value.number
        deliveries[value.thread] += 1
    }

    // MARK: What threads do

    /// Notifies, with a value that says when the notification began.
    ///
    /// The fences order this and `remove` as sequentially consistent accesses would, but the thread sanitizer does not
    /// see them.
    func notify(_ set: ObserverSet<Value>, _ value: Value) {
        var value = value
        value.begin = clock.add(1, ordering: .relaxed).newValue
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        set.notify(value)
    }

    /// Adds a closure as an observer.
    func add(to set: ObserverSet<Value>, isOnce: Bool = false) -> Subscription {
        let record = Record()
        let capture = capture(of: set)
        let observer: @Sendable (Value) -> Void = { [self] in called(record, capture, $0) }
        return Subscription(record, isOnce ? set.once.add(observer) : set.add(observer))
    }

    /// Adds an observer with an owner.
    func add(to set: ObserverSet<Value>, owner: Tracked) -> Subscription {
        let record = Record()
        let capture = capture(of: set)
        let token = set.add(owner) { [self] owner, value in
            mistakes.note(.calledWithTheDead, unless: owner.isIntact)
            called(record, capture, value)
        }
        return Subscription(record, token)
    }

    /// Removes an observer, possibly while another thread removes or calls it.
    func remove(_ registration: Subscription) {
        let isRemoved = registration.token.remove()
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        registration.record.removed(at: clock.load(ordering: .relaxed), isFirst: isRemoved, mistakes)
        mistakes.note(.activeAfterRemoval, unless: !registration.token.isActive)
    }

    /// Leaves a registration for the next thread that comes, and returns the one that was there.
    func trade(_ registration: Subscription?) -> Subscription? { market.exchange(registration) }

    /// An owner whose `deinit` reads a set.
    func owner() -> Tracked { Tracked(in: lifetimes) { [weak calm] in _ = calm?.isEmpty } }

    /// A capture whose `deinit` takes the set's lock.
    ///
    /// (The set is not the owner of any observer.)
    private func capture(of set: ObserverSet<Value>) -> Tracked {
        Tracked(Self.plainValue, in: lifetimes) { [weak set] in
            if let set { set.removeAll(ownedBy: set) }
        }
    }

    private func called(_ record: Record, _ capture: Tracked, _ value: Value) {
        lookAt(capture)
        mistakes.note(.calledAfterRemoval, unless: !record.isRemoved(before: value.begin))
        record.calls.add(1, ordering: .relaxed)
        deliveries[value.thread] += 1
    }

    private func lookAt(_ capture: Tracked) {
        mistakes.note(.calledWithTheDead, unless: capture.isIntact && capture.value == Self.plainValue)
    }
}

/// What is known of one registration to its observer, and to the threads that remove it.
final class Record: Sendable {
    let calls = Atomic<Int>(0)
    private let removals = Atomic<Int>(0)
    private let end = Atomic<Int>(0)

    /// Records the clock's value after a removal; only the first one counts.
    func removed(at time: Int, isFirst: Bool, _ mistakes: Mistakes) {
        _ = end.compareExchange(expected: 0, desired: time, ordering: .relaxed)
        if isFirst { mistakes.note(.removedTwice, unless: removals.add(1, ordering: .relaxed).newValue == 1) }
    }

    /// Whether a removal had returned when the notification of that number began.
    func isRemoved(before begin: Int) -> Bool {
        let end = end.load(ordering: .relaxed)
        return end != 0 && begin > end
    }
}

final class Subscription: Sendable {
    let record: Record
    let token: ObserverToken

    init(_ record: Record, _ token: ObserverToken) {
        self.record = record
        self.token = token
    }
}

/// A number for each thread, on its own cache line; only that thread touches it while threads run.
@safe final class Cells: Sendable {
    nonisolated(unsafe) private let numbers: UnsafeMutablePointer<Int>
    let count: Int

    init(_ count: Int) {
        self.count = count
        unsafe numbers = .allocate(capacity: 16 * count)
        unsafe numbers.initialize(repeating: 0, count: 16 * count)
    }

    subscript(index: Int) -> Int {
        get { unsafe numbers[16 * index] }
        set { unsafe numbers[16 * index] = newValue }
    }

    var sum: Int { (0..<count).reduce(0) { $0 + self[$1] } }

    deinit { unsafe numbers.deallocate() }
}
