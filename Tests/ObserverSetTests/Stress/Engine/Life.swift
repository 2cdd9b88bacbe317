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
        case 840..<920: notifyWhatIsNew()
        case 920..<930: storm.wild.removeAll()
        case 930..<965: set.removeAll(ownedBy: owners[generator.below(2)])
        case 965..<970: _ = set.debugDescription
        case 970..<975: _ = registrations.last?.token.description
        case 975..<980: _ = set.count
        case 980..<990: _ = set.isEmpty
        default: _ = registrations.last?.token.isActive
        }
    }

    /// Removes what the thread has added.
    mutating func end() {
        registrations.forEach(storm.remove)
        registrations = []
        owners = []
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

    private mutating func keep(_ registration: Subscription) {
        registrations.append(registration)
        if registrations.count > limit { storm.remove(registrations.remove(at: generator.below(limit))) }
    }
}
