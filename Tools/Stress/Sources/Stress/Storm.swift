import Dispatch
import ObserverSet
import Synchronization

/// What observers are passed.
struct Value: Sendable {
    let thread: Int
    /// Of the thread's notifications of that set; zero if they are not numbered.
    var number = 0
    /// What the clock was when the notification began.
    var begin = 0
}

/// What many threads do to a few sets at once, and what must hold all the while.
///
/// There is no lock here, and next to nothing that orders: the clock, the counters and what observers find are relaxed or
/// plain, so that where the sets do not order two threads, the sanitizer sees it.
final class Storm: Sendable {
    /// Has observers that stay.
    let calm = ObserverSet<Value>()
    /// Is emptied now and then.
    let wild = ObserverSet<Value>()
    /// Has observers that run elsewhere.
    let far = ObserverSet<Value>()
    let mistakes: Mistakes
    let census = Census()
    let threads: Int
    private let share: Int
    private let seed: UInt64
    private let clock = Atomic<Int>(1)
    /// By thread: calls made on it.
    private let deliveries: Cells
    /// A registration on its way from one thread to another.
    private let market = Slot<Registration>()
    private let ended = Atomic<Bool>(false)

    init(threads: Int, deliveries: Int, seed: UInt64, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        self.seed = seed
        share = deliveries / threads
        self.deliveries = Cells(threads)
    }

    /// Returns how many deliveries were made.
    func run(for seconds: Double?) async -> Int {
        let deadline = Deadline(seconds)
        let owner = Tracked(census)
        let staying = stay(owner: owner)
        let onActor = ActorReceiver(threads, mistakes)
        let onQueue = QueueReceiver(threads, mistakes)
        let queue = DispatchQueue(label: "stress")
        far.add(onActor) { receiver, value in receiver.receive(value) }
        far.add(on: queue, onQueue) { receiver, value in receiver.receive(value) }

        let calmCounts = Cells(threads)
        let farCounts = Cells(threads)
        let tasks = Tasks(threads)
        await onThreads(threads) { [self] index in
            var life = Life(self, index, seed: seed)
            var steps = 0
            while deliveries[index] < share, !ended.load(ordering: .relaxed) {
                life.step()
                steps += 1
                if steps % 256 == 0, deadline.isOver { ended.store(true, ordering: .relaxed) }
            }
            tasks[index] = life.end()
            calmCounts[index] = life.calmNotifications
            farCounts[index] = life.farNotifications
        }
        if let last = trade(nil) { remove(last) }
        for task in tasks.all { await task.value }
        await far.settled()

        for seen in staying {
            for thread in 0..<threads { mistakes.note(.missedOrOutOfOrder, unless: seen[thread] == calmCounts[thread]) }
        }
        let farTotals = (0..<threads).map { farCounts[$0] }
        mistakes.note(.missedOrOutOfOrder, unless: await onActor.last == farTotals)
        mistakes.note(.missedOrOutOfOrder, unless: queue.sync { onQueue.last } == farTotals)
        wild.removeAll()
        // Their passes have what is left of dead owners removed.
        notify(wild, Value(thread: 0))
        notify(calm, Value(thread: 0))
        mistakes.note(.wrongCount, unless: calm.count == staying.count && wild.isEmpty && far.count == 2)
        // The owner that stays, and one capture.
        mistakes.note(.notReleased, unless: census.comes(to: 2))
        calm.removeAll()
        mistakes.note(.notReleased, unless: census.comes(to: 1))
        withExtendedLifetime((owner, onActor, onQueue)) {}
        return deliveries.sum
    }

    /// Adds observers to the calm set that are never removed, and so must see every notification of each thread, in order.
    private func stay(owner: Tracked) -> [Cells] {
        let seen = (0..<3).map { _ in Cells(threads) }
        let capture = Tracked(census)
        calm.add { [self, seen = seen[0]] value in
            see(value, seen)
            mistakes.note(.calledWithTheDead, unless: capture.isIntact)
        }
        calm.add(owner) { [self, seen = seen[1]] _, value in see(value, seen) }
        calm.addNonisolated { [self, seen = seen[2]] value in
            see(value, seen)
            // Now and then a change or a notification inside.
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

    /// Notifies, and tells with the value when it began.
    ///
    /// The fences order this and `remove` as sequentially consistent accesses would, but the sanitizer learns nothing.
    func notify(_ set: ObserverSet<Value>, _ value: Value) {
        var value = value
        value.begin = clock.add(1, ordering: .relaxed).newValue
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        set.notify(value)
    }

    /// Adds an observer of a closure.
    func add(to set: ObserverSet<Value>, isOnce: Bool = false) -> Registration {
        let record = Record()
        let capture = capture(of: set)
        let observer: @Sendable (Value) -> Void = { [self] in called(record, capture, $0) }
        return Registration(record, isOnce ? set.addOnce(observer) : set.add(observer))
    }

    /// Adds an observer with an owner.
    func add(to set: ObserverSet<Value>, owner: Tracked) -> Registration {
        let record = Record()
        let capture = capture(of: set)
        return Registration(record, set.add(owner) { [self] _, value in called(record, capture, value) })
    }

    /// Removes an observer, which another thread may be removing or calling.
    func remove(_ registration: Registration) {
        let isRemoved = registration.token.remove()
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        registration.record.removed(at: clock.load(ordering: .relaxed), isFirst: isRemoved, mistakes)
        mistakes.note(.activeAfterRemoval, unless: !registration.token.isActive)
    }

    /// Hands a registration to whichever thread comes next, and takes what was there.
    func trade(_ registration: Registration?) -> Registration? {
        market.exchange(registration)
    }

    /// An owner whose end looks into a set.
    func owner() -> Tracked {
        Tracked(census) { [weak calm] in _ = calm?.isEmpty }
    }

    /// A capture whose end takes the set's lock. (The set owns none of its observers.)
    private func capture(of set: ObserverSet<Value>) -> Tracked {
        Tracked(census) { [weak set] in
            if let set { set.removeAll(ownedBy: set) }
        }
    }

    private func called(_ record: Record, _ capture: Tracked, _ value: Value) {
        mistakes.note(.calledWithTheDead, unless: capture.isIntact)
        mistakes.note(.calledAfterRemoval, unless: !record.isRemoved(before: value.begin))
        record.calls.add(1, ordering: .relaxed)
        deliveries[value.thread] += 1
    }
}

/// What is known of one registration, by its observer and by those who remove it.
final class Record: Sendable {
    let calls = Atomic<Int>(0)
    private let removals = Atomic<Int>(0)
    private let end = Atomic<Int>(0)

    /// Notes what the clock was after a removal; the first note counts.
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

final class Registration: Sendable {
    let record: Record
    let token: ObserverToken

    init(_ record: Record, _ token: ObserverToken) {
        self.record = record
        self.token = token
    }
}

/// Room for one object, which threads exchange without a lock.
@safe final class Slot<Object: AnyObject & Sendable>: Sendable {
    private let content = unsafe Atomic<Unmanaged<Object>?>(nil)

    func exchange(_ object: Object?) -> Object? {
        let fresh = unsafe object.map { unsafe Unmanaged.passRetained($0) }
        return unsafe content.exchange(fresh, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }

    deinit {
        _ = exchange(nil)
    }
}

/// Gets each thread's values in order.
private actor ActorReceiver {
    private(set) var last: [Int]
    private let mistakes: Mistakes

    init(_ threads: Int, _ mistakes: Mistakes) {
        last = Array(repeating: 0, count: threads)
        self.mistakes = mistakes
    }

    func receive(_ value: Value) {
        mistakes.note(.missedOrOutOfOrder, unless: last[value.thread] + 1 == value.number)
        last[value.thread] = value.number
    }
}

/// The same, confined to a queue.
private final class QueueReceiver: @unchecked Sendable {
    private(set) var last: [Int]
    private let mistakes: Mistakes

    init(_ threads: Int, _ mistakes: Mistakes) {
        last = Array(repeating: 0, count: threads)
        self.mistakes = mistakes
    }

    func receive(_ value: Value) {
        mistakes.note(.missedOrOutOfOrder, unless: last[value.thread] + 1 == value.number)
        last[value.thread] = value.number
    }
}

/// The tasks that each thread leaves behind.
private final class Tasks: Sendable {
    private let slots: [Slot<Box>]

    init(_ threads: Int) {
        slots = (0..<threads).map { _ in Slot() }
    }

    subscript(index: Int) -> [Task<Void, Never>] {
        get { [] }
        set { _ = slots[index].exchange(Box(tasks: newValue)) }
    }

    var all: [Task<Void, Never>] { slots.flatMap { $0.exchange(nil)?.tasks ?? [] } }

    private final class Box: Sendable {
        let tasks: [Task<Void, Never>]

        init(tasks: [Task<Void, Never>]) {
            self.tasks = tasks
        }
    }
}
