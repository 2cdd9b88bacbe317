import ObserverSet
import Synchronization

/// Observers of the calm set that are never removed, so that they must see every notification.
struct Staying {
    private let records: [Record]

    init(_ storm: Storm, owner: Tracked) {
        let records = (0..<3).map { _ in Record() }
        storm.calm.add { _ in records[0].calls.add(1, ordering: .relaxed) }
        storm.calm.add(owner) { _, _ in records[1].calls.add(1, ordering: .relaxed) }
        storm.calm.addNonisolated { [weak wild = storm.wild] begin in
            records[2].calls.add(1, ordering: .relaxed)
            // Now and then, one in the other; that one notifies nobody.
            if begin % 16 == 0 { wild?.notify(0) }
        }
        self.records = records
    }

    var counts: [Int] { records.map { $0.calls.load(ordering: .relaxed) } }
}

/// One thread's part of the storm.
struct StormLife {
    private(set) var calmNotifications = 0

    private let storm: Storm
    private var generator: SeededGenerator
    private var owners: [Tracked]
    private var held = ObserverSet<Int>()
    private var registrations: [Registration] = []
    /// How many registrations this thread keeps, so that all threads together keep about as many as one alone.
    private let limit: Int

    init(_ storm: Storm, threads: Int, seed: UInt64) {
        self.storm = storm
        generator = SeededGenerator(seed: seed)
        owners = [storm.owner(), storm.owner()]
        limit = max(2, 40 / threads)
    }

    mutating func step() {
        let set = below(2) == 0 ? storm.calm : storm.wild
        switch below(1000) {
        case 0..<350: notify(set)
        case 350..<450: keep(storm.add(to: set, isOnce: false))
        case 450..<550: keep(storm.add(to: set, owner: owners[below(owners.count)]))
        case 550..<600: keep(storm.add(to: set, isOnce: true))
        case 600..<700: if let one = registrations.popLast() { storm.remove(one) }
        case 700..<750: if let one = storm.trade(registrations.popLast()) { storm.remove(one) }
        case 750..<800: owners[below(owners.count)] = storm.owner()
        case 800..<820: notifyWhatIsNew()
        case 820..<830: storm.wild.removeAll()
        case 830..<840: set.removeAll(ownedBy: owners[below(owners.count)])
        case 840..<850: holdAnotherSet()
        case 850..<880: _ = set.count
        case 880..<920: _ = set.isEmpty
        case 920..<990: _ = registrations.last?.token.isActive
        case 990..<995: _ = set.debugDescription
        default: _ = registrations.last?.token.description
        }
    }

    /// Removes what the thread has added.
    mutating func end() {
        for registration in registrations { storm.remove(registration) }
        registrations = []
        owners = []
        held = ObserverSet<Int>()
    }

    private mutating func notify(_ set: ObserverSet<Int>) {
        if set === storm.calm { calmNotifications += 1 }
        storm.notify(set)
    }

    /// A notification that begins after `add` has returned reaches the new observer.
    private mutating func notifyWhatIsNew() {
        let new = storm.add(to: storm.calm, isOnce: false)
        notify(storm.calm)
        if new.record.calls.load(ordering: .relaxed) == 0 { storm.missedAfterAddition.add(1, ordering: .relaxed) }
        keep(new)
    }

    /// The old one dies, maybe while another thread notifies it.
    private mutating func holdAnotherSet() {
        held = ObserverSet<Int>()
        _ = storm.add(to: held, isOnce: true)
        _ = storm.add(to: held, isOnce: false)
        _ = storm.add(to: held, owner: owners[0])
        storm.visit(showing: held)
    }

    private mutating func keep(_ registration: Registration) {
        registrations.append(registration)
        if registrations.count > limit { storm.remove(registrations.remove(at: below(limit))) }
    }

    private mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: generator.next() >> 33) % bound
    }
}
