import Dispatch
import ObserverSet

/// The allocations of a notification, and the memory for each observer and for each set.
enum MemoryRows {
    #if canImport(Glibc)
    static var all: [Row] { allocations + sizes + afterwards }
    #else
    // Allocations can't be counted on this platform.
    static var all: [Row] { [] }
    #endif
}

#if canImport(Glibc)
extension MemoryRows {
    // MARK: Allocations

    private static let counts = [0, 1, 10, 100, 1000]
    private static let notifications = 1000

    private static var allocations: [Row] {
        [
            allocating("add") { allocated(by: NotifyRows.plainSet($0)) },
            allocating("weak owners, closure") { allocated(by: closures(owners($0))) },
            allocating("weak owners, method of the main actor") { count in
                MainActor.assumeIsolated { allocatedOnMain(by: mainActorMethods(owners(count))) }
            },
            allocating("on the observers' actor") { count in
                MainActor.assumeIsolated { allocatedOnMain(by: NotifyRows.mainActorSet(count)) }
            },
            allocating("delegates") { allocated(byDelegates: owners($0)) },
        ]
    }

    /// Makes a row for the greatest number of blocks that one notification of a set of any size allocates.
    private static func allocating(_ form: String, _ allocated: @escaping @Sendable (Int) -> Int) -> Row {
        .figure("allocations per notify, N = 0…1000, \(form)", reach: .figure(atMost: 0, unit: "blocks")) { _ in
            Heap.checkThatItCounts()
            return Double(counts.map(allocated).max()!) / Double(notifications)
        }
    }

    // The first notification is not counted, because the runtime may create metadata during it.

    private static func allocated(by set: ObserverSet<Int>) -> Int {
        set.notify(0)
        return Heap.change {
            for value in 0..<notifications { set.notify(value) }
        }.allocations
    }

    @MainActor
    private static func allocatedOnMain(by set: ObserverSet<Int>) -> Int {
        set.notify(0)
        return Heap.change {
            for value in 0..<notifications { set.notify(value) }
        }.allocations
    }

    private static func allocated(byDelegates delegates: [Owner]) -> Int {
        let multicast = MulticastDelegate<Owner>()
        for delegate in delegates { multicast.add(delegate) }
        multicast.notify { $0.value &+= 1 }
        return Heap.change {
            for value in 0..<notifications { multicast.notify { $0.value &+= value } }
        }.allocations
    }

    /// Makes owners that live as long as the program, so that nothing else has to keep them alive.
    private static func owners(_ count: Int) -> [Owner] {
        let owners = (0..<count).map { _ in Owner() }
        for owner in owners { _ = Unmanaged.passRetained(owner) }
        return owners
    }

    // MARK: Bytes

    private static let observers = 100_000

    private static var sizes: [Row] {
        [
            .figure("bytes per observer, addNonisolated", reach: .figure(atMost: 72, unit: "bytes")) { _ in
                perObserver { NotifyRows.nonisolatedSet(observers) }
            },
            .figure("bytes per observer, add", reach: .figure(atMost: 104, unit: "bytes")) { _ in
                perObserver { NotifyRows.plainSet(observers) }
            },
            .figure("bytes per observer, weak owner, closure", reach: .figure(atMost: 144, unit: "bytes")) { _ in
                let owners = knownOwners()
                return perObserver { closures(owners) }
            },
            .figure("bytes per observer, weak owner, method", reach: .figure(atMost: 144, unit: "bytes")) { _ in
                let owners = knownOwners()
                return perObserver { methods(owners) }
            },
            .figure("bytes per set, never observed", reach: .figure(atMost: 32, unit: "bytes")) { _ in
                perSet { ObserverSet<Int>() }
            },
        ]
    }

    // MARK: Memory that is left when observers or values are gone

    private static var afterwards: [Row] {
        [
            .figure(
                "bytes left by 1000000 owners that died in a set that once had as many",
                reach: .figure(atMost: 65_536, unit: "bytes")
            ) { _ in
                Heap.checkThatItCounts()
                let set = ObserverSet<Int>()
                let owner = Owner()
                set.addNonisolated(owner) { _, _ in }
                return Double(
                    Heap.change {
                        for _ in 0..<1_000_000 { set.addNonisolated(owner) { _, _ in } }
                        set.removeAll()
                        for _ in 0..<1_000_000 { set.addNonisolated(Owner()) { _, _ in } }
                    }.bytes)
            },
            .figure("bytes left by 1000000 values for a queue", reach: .figure(atMost: 262_144, unit: "bytes")) { _ in
                Heap.checkThatItCounts()
                let set = ObserverSet<Int>()
                let queue = DispatchQueue(label: "suspended")
                let isLast = DispatchSemaphore(value: 0)
                _ = set.addNonisolated(on: queue) { value in if value == 0 { isLast.signal() } }
                let send: (Int) -> Void = { count in
                    queue.suspend()
                    for value in (0..<count).reversed() { set.notify(value) }
                    queue.resume()
                    isLast.wait()
                    // This waits until the queue's delivery has ended.
                    queue.sync {}
                }
                send(10)
                return Double(Heap.change { send(1_000_000) }.bytes)
            },
            .figure(
                "bytes left by 1000000 values for an observer that awaits",
                reach: .figure(atMost: 65_536, unit: "bytes")
            ) { _ in
                Heap.checkThatItCounts()
                let set = ObserverSet<Int>()
                let mayGoOn = DispatchSemaphore(value: 0)
                let isLast = DispatchSemaphore(value: 0)
                _ = set.addAsync { value in
                    // The first value holds up all others.
                    if value == 1 { hold(until: mayGoOn) }
                    if value == 0 { isLast.signal() }
                }
                let send: (Int) -> Void = { count in
                    set.notify(1)
                    for value in (0..<count).reversed() where value != 1 { set.notify(value) }
                    mayGoOn.signal()
                    isLast.wait()
                    // The memory for the burst has been released before this value is delivered.
                    set.notify(0)
                    isLast.wait()
                }
                send(10)
                return Double(Heap.change { send(1_000_000) }.bytes)
            },
        ]
    }

    /// Blocks the thread, which an asynchronous function must not do directly.
    private static func hold(until semaphore: DispatchSemaphore) { semaphore.wait() }

    private static func perObserver(_ make: () -> ObserverSet<Int>) -> Double {
        Heap.checkThatItCounts()
        var set: ObserverSet<Int>?
        let change = Heap.change { set = make() }
        return withExtendedLifetime(set) { Double(change.bytes) / Double(observers) }
    }

    static func perSet<Set: AnyObject>(_ make: () -> Set) -> Double {
        Heap.checkThatItCounts()
        let count = 10_000
        var sets: [Set] = []
        sets.reserveCapacity(2 * count)
        // These sets use up the pieces of memory that earlier rows have freed, because such a piece may be larger than
        // requested.
        for _ in 0..<count { sets.append(make()) }
        let change = Heap.change {
            for _ in 0..<count { sets.append(make()) }
        }
        return withExtendedLifetime(sets) { change.bytes(each: count) }
    }

    /// Makes owners to which there has been a weak reference before.
    ///
    /// The first weak reference to an object makes the runtime allocate a side table, which stays as long as the
    /// object. Otherwise the figures would include that.
    private static func knownOwners() -> [Owner] {
        (0..<observers).map { _ in
            let owner = Owner()
            weak let reference = owner
            precondition(reference === owner)
            return owner
        }
    }

    @inline(never)
    private static func closures(_ owners: [Owner]) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        for owner in owners { set.add(owner) { owner, value in owner.value &+= value } }
        return set
    }

    @inline(never)
    private static func methods(_ owners: [Owner]) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        for owner in owners { set.add(method: Owner.receive, of: owner) }
        return set
    }

    @inline(never)
    private static func mainActorMethods(_ owners: [Owner]) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        for owner in owners { set.add(method: Owner.show, of: owner) }
        return set
    }
}
#endif
