import ObserverSet

/// Rows for `LocalObserverSet`, on one thread.
enum LocalRows {
    static var all: [Row] { notify + [change, once] + memory }

    // MARK: Notifying

    private static var notify: [Row] {
        [
            // A good run has up to 1.07, which is a few nanoseconds. A lock or a count would double that.
            .comparing("LocalObserverSet, notify, N = 1", to: "ObserverSet, the same", reach: .time(atMost: 1.25)) {
                plan in
                (notifying(localSet(1), plan), NotifyRows.notifying(NotifyRows.nonisolatedSet(1), plan))
            },
            .comparing(
                "LocalObserverSet, notify, N = 100", to: "a walk over such records, same literals",
                reach: .time(atMost: 1.5)
            ) { plan in
                let walk = closureWalk(100)
                return (notifying(localSet(100), plan), loop(plan) { repetitions in notify(walk, repetitions) })
            },
        ]
    }

    private static func notifying(_ set: LocalObserverSet<Int>, _ plan: Plan) -> Sampler {
        let set = Unchecked(set)
        return loop(plan) { repetitions in notify(set.value, repetitions) }
    }

    // As in `NotifyRows`, the functions are not inlined, and no two closures are identical.

    @inline(never)
    private static func localSet(_ count: Int) -> LocalObserverSet<Int> {
        let set = LocalObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { _ = set.add { counter.value &+= $0 } }
        return set
    }

    @inline(never)
    private static func closureWalk(_ count: Int) -> CountedWalk {
        let walk = CountedWalk(capacity: count)
        let counter = Counter()
        for _ in 0..<count { walk.addNonisolated { counter.value &-= $0 } }
        return walk
    }

    @inline(never)
    private static func notify(_ set: LocalObserverSet<Int>, _ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }

    @inline(never)
    private static func notify(_ walk: CountedWalk, _ repetitions: Int) {
        for value in 0..<repetitions { walk.notifyUncounted(value) }
    }

    // MARK: Adding and removing

    private static var change: Row {
        .comparing(
            "LocalObserverSet, add + remove, 100 others", to: "ObserverSet, the same", reach: .time(atMost: 1.1)
        ) { plan in
            let local = Unchecked(localSet(100))
            let set = NotifyRows.nonisolatedSet(100)
            let counter = Counter()
            return (
                loop(plan) { repetitions in change(local.value, counter, repetitions) },
                loop(plan) { repetitions in change(set, counter, repetitions) }
            )
        }
    }

    @inline(never)
    private static func change(_ set: LocalObserverSet<Int>, _ counter: Counter, _ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = set.add { counter.value = $0 }
            token.remove()
        }
    }

    @inline(never)
    private static func change(_ set: ObserverSet<Int>, _ counter: Counter, _ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = set.addNonisolated { counter.value = $0 }
            token.remove()
        }
    }

    private static var once: Row {
        .comparing(
            "LocalObserverSet, add through once, notify", to: "plain add, notify, remove", reach: .told(unit: "ns")
        ) { plan in
            let (once, plain) = (Unchecked(LocalObserverSet<Int>()), Unchecked(LocalObserverSet<Int>()))
            let counter = Counter()
            return (
                loop(plan) { repetitions in callOnce(once.value, counter, repetitions) },
                loop(plan) { repetitions in call(plain.value, counter, repetitions) }
            )
        }
    }

    @inline(never)
    private static func callOnce(_ set: LocalObserverSet<Int>, _ counter: Counter, _ repetitions: Int) {
        for value in 0..<repetitions {
            _ = set.once.add { counter.value |= $0 }
            set.notify(value)
        }
    }

    @inline(never)
    private static func call(_ set: LocalObserverSet<Int>, _ counter: Counter, _ repetitions: Int) {
        for value in 0..<repetitions {
            let token = set.add { counter.value &= $0 }
            set.notify(value)
            token.remove()
        }
    }

    // MARK: Memory

    #if canImport(Glibc)
    private static var memory: [Row] {
        [
            .figure("LocalObserverSet, bytes per set, never observed", reach: .figure(atMost: 48, unit: "bytes")) { _ in
                MemoryRows.perSet { LocalObserverSet<Int>() }
            },
            .figure("LocalObserverSet, allocations per notify, N = 100", reach: .figure(atMost: 0, unit: "blocks")) {
                _ in
                Heap.checkThatItCounts()
                let set = localSet(100)
                set.notify(0)
                return Double(Heap.change { for value in 0..<1000 { set.notify(value) } }.allocations) / 1000
            },
        ]
    }
    #else
    private static var memory: [Row] { [] }
    #endif
}
