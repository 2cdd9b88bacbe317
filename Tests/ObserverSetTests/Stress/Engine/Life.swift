import ObserverSet
import Synchronization

/// One thread's part of the storm.
struct Life {
    private(set) var calmNotifications = 0

    private let storm: Storm
    private let index: Int
    private var generator: SeededGenerator
    private var owners: [Tracked]
    private var registrations: [Subscription] = []
    private var held = ObserverSet<Value>()
    private var bag = ObserverBag()
    private var bagged: [Subscription] = []
    private var running: [Task<Void, Never>] = []
    private var cancelled: [Task<Void, Never>] = []
    /// How many registrations this thread keeps, so that all threads together keep about as many as a single thread
    /// would.
    private let limit: Int

    init(_ storm: Storm, _ index: Int, seed: UInt64) {
        self.storm = storm
        self.index = index
        generator = SeededGenerator(seed: seed &+ UInt64(index) &* 7_919)
        owners = [storm.owner(), storm.owner()]
        limit = max(2, 24 / storm.threads)
    }

    mutating func step() {
        let set = generator.below(2) == 0 ? storm.calm : storm.wild
        switch generator.below(1_000) {
        case 0..<420: notify(set)
        case 420..<520: keep(storm.add(to: set))
        case 520..<620: keep(storm.add(to: set, owner: owners[generator.below(2)]))
        case 620..<660: keep(storm.add(to: set, isOnce: true))
        case 660..<760: if let one = registrations.popLast() { storm.remove(one) }
        case 760..<790: if let one = storm.trade(registrations.popLast()) { storm.remove(one) }
        case 790..<840: owners[generator.below(2)] = storm.owner()
        case 840..<880: fillBag(from: set)
        case 880..<900: dropBag()
        case 900..<910: iterate(set)
        case 910..<920: cancel()
        case 920..<930: storm.wild.removeAll()
        case 930..<940: set.removeAll(ownedBy: owners[generator.below(2)])
        case 940..<955: notifyWhatIsNew()
        case 955..<965: holdAnotherSet()
        case 965..<970: _ = set.debugDescription
        case 970..<975: _ = registrations.last?.token.description
        case 975..<980: _ = set.count
        case 980..<990: _ = set.isEmpty
        default: _ = registrations.last?.token.isActive
        }
    }

    /// Removes what the thread has added, and returns its tasks, all of which are about to end.
    mutating func end() -> Tasks {
        registrations.forEach(storm.remove)
        registrations = []
        dropBag()
        owners = []
        held = ObserverSet()
        while !running.isEmpty { cancel() }
        return Tasks(tasks: cancelled)
    }

    private mutating func notify(_ set: ObserverSet<Value>) {
        var value = Value(thread: index)
        if set === storm.calm {
            calmNotifications += 1
            value.number = calmNotifications
        }
        storm.notify(set, value)
    }

    /// A notification that begins after `add` has returned reaches the new observer.
    private mutating func notifyWhatIsNew() {
        let new = storm.add(to: storm.calm)
        notify(storm.calm)
        storm.mistakes.note(.missedAfterAddition, unless: new.record.calls.load(ordering: .relaxed) > 0)
        keep(new)
    }

    /// Replaces the set that this thread holds; the old one is deallocated, possibly while another thread notifies it.
    private mutating func holdAnotherSet() {
        held = ObserverSet()
        _ = storm.add(to: held, isOnce: true)
        _ = storm.add(to: held)
        _ = storm.add(to: held, owner: owners[0])
        storm.visit(showing: held, from: index)
    }

    private mutating func fillBag(from set: ObserverSet<Value>) {
        if bagged.count == 4 { dropBag() }
        let one = storm.add(to: set)
        one.token.store(in: bag)
        bagged.append(one)
    }

    /// Replaces the bag; what was in the old one has ended then.
    private mutating func dropBag() {
        bag = ObserverBag()
        bagged.forEach(storm.remove)
        bagged = []
    }

    /// Begins a loop in a task, or makes an iterator here, which is dropped at once.
    private mutating func iterate(_ set: ObserverSet<Value>) {
        if generator.below(4) == 0 {
            _ = set.values().makeAsyncIterator()
            return
        }
        if running.count == 2 { cancel() }
        let values = set.values(buffering: .newest(8))
        let mistakes = storm.mistakes
        let threads = storm.threads
        running.append(
            Task {
                // Some values may be dropped, but those that arrive are in the order of each thread.
                var last = Array(repeating: 0, count: threads)
                for await value in values where value.number > 0 {
                    mistakes.note(.elementOutOfOrder, unless: value.number > last[value.thread])
                    last[value.thread] = value.number
                }
            })
    }

    private mutating func cancel() {
        guard let task = running.popLast() else { return }
        task.cancel()
        cancelled.append(task)
        // The oldest of these tasks have long ended.
        if cancelled.count > 1_000 { cancelled.removeFirst(500) }
    }

    private mutating func keep(_ registration: Subscription) {
        registrations.append(registration)
        if registrations.count > limit { storm.remove(registrations.remove(at: generator.below(limit))) }
    }
}

/// The tasks that a thread leaves behind.
final class Tasks: Sendable {
    let tasks: [Task<Void, Never>]

    init(tasks: [Task<Void, Never>]) {
        self.tasks = tasks
    }
}
