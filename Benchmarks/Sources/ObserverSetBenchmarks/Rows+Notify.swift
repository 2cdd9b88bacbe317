import ObserverSet

/// Notifying closures on one thread.
enum NotifyRows {
    static var all: [Row] { empty + observed + [ownActor] }

    private static let walk = "a counted walk over such records, same literals"

    // MARK: No observers

    private static var empty: [Row] {
        [
            .comparing("empty notify, never observed", to: "a call that loads a count", reach: .time(atMost: 2)) {
                plan in
                (notifying(ObserverSet<Int>(), plan), notifying(plainWalk(0), plan))
            },
            .comparing("empty notify, all removed", to: "a call that loads a count", reach: .time(atMost: 2)) { plan in
                let set = nonisolatedSet(10)
                set.removeAll()
                return (notifying(set, plan), notifying(plainWalk(0), plan))
            },
        ]
    }

    // MARK: Observers

    private static var observed: [Row] {
        // A good run of the last two has 1.05 to 1.35, and once 1.6, because the walk's time depends on where its records
        // happen to lie. A retain and a release of each observer would make it 3.
        [(1, 2.4), (10, 1.5), (100, 1.7), (1000, 1.6)].map { count, reach in
            .comparing("notify, N = \(count), addNonisolated", to: walk, reach: .time(atMost: reach)) { plan in
                (notifying(nonisolatedSet(count), plan), notifying(nonisolatedWalk(count), plan))
            }
        } + [
            // Here the compiler gives each closure a box for its isolation, and a stub.
            .comparing("notify, N = 10, add", to: walk, reach: .time(atMost: 1.5)) { plan in
                (notifying(plainSet(10), plan), notifying(plainWalk(10), plan))
            }
        ]
    }

    private static var ownActor: Row {
        .comparing(
            "notify, N = 100, on the observers' actor", to: "same, @Sendable observers", reach: .time(atMost: 2.2)
        ) { plan in
            // This is sound, because the rows are measured on the main thread.
            let sides = MainActor.assumeIsolated {
                Unchecked((notifyingOnMain(mainActorSet(100), plan), notifyingOnMain(nonisolatedSet(100), plan)))
            }
            return (sides.value.0, sides.value.1)
        }
    }

    // MARK: What is notified

    // Each closure is a literal at the call of `add`, in a function that belongs to no actor. The closures cost the
    // same, but each changes its counter in another way, because the compiler merges identical functions of a file, and
    // then calls all except one of them through a jump. The functions are not inlined, because that would copy their
    // closures.

    @inline(never)
    static func plainSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { _ = set.add { counter.value &+= $0 } }
        return set
    }

    @inline(never)
    static func nonisolatedSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { _ = set.addNonisolated { counter.value &-= $0 } }
        return set
    }

    @MainActor @inline(never)
    static func mainActorSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { _ = set.add { counter.value ^= $0 } }
        return set
    }

    @inline(never)
    private static func plainWalk(_ count: Int) -> CountedWalk {
        let walk = CountedWalk(capacity: count)
        let counter = Counter()
        for _ in 0..<count { walk.add { counter.value |= $0 } }
        return walk
    }

    @inline(never)
    private static func nonisolatedWalk(_ count: Int) -> CountedWalk {
        let walk = CountedWalk(capacity: count)
        let counter = Counter()
        for _ in 0..<count { walk.addNonisolated { counter.value &= $0 } }
        return walk
    }

    // MARK: Loops, which must not be inlined into the code that forms the closures

    static func notifying(_ set: ObserverSet<Int>, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in notify(set, repetitions) }
    }

    private static func notifying(_ walk: CountedWalk, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in notify(walk, repetitions) }
    }

    /// Makes a sampler of a loop on the main actor, which is sound, because the rows are measured on the main thread.
    static func notifyingOnMain(_ set: ObserverSet<Int>, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in
            MainActor.assumeIsolated { notifyOnMain(set, repetitions) }
        }
    }

    @inline(never)
    private static func notify(_ set: ObserverSet<Int>, _ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }

    @inline(never)
    private static func notify(_ walk: CountedWalk, _ repetitions: Int) {
        for value in 0..<repetitions { walk.notify(value) }
    }

    @MainActor @inline(never)
    private static func notifyOnMain(_ set: ObserverSet<Int>, _ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}

/// Carries a value out of the main actor's isolation, but not to another thread.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
