import ObserverSet

/// Notifying closures on one thread.
enum NotifyRows {
    static var all: [Row] { empty + one + few + many + [ownActor] }

    private static let twoAtomics = "2 atomic read-modify-writes"
    private static let closureLoop = "loop without retains, same literals"
    private static let closureArray = "[(Int) -> Void] in a class"

    // MARK: No observers or one: what a notification costs in addition to its calls

    private static var empty: [Row] {
        [
            .comparing("empty notify, never observed", to: twoAtomics, reach: .time(atMost: 0.25)) { plan in
                (notifying(ObserverSet<Int>(), plan), passing(plan))
            },
            .comparing("empty notify, all removed", to: twoAtomics, reach: .time(atMost: 0.25)) { plan in
                let set = nonisolatedSet(10)
                set.removeAll()
                return (notifying(set, plan), passing(plan))
            },
        ]
    }

    private static var one: [Row] {
        [
            .comparing("notify, N = 1, add", to: twoAtomics, reach: .time(atMost: 1.5)) { plan in
                (notifying(plainSet(1), plan), passing(plan))
            },
            .comparing("notify, N = 1, addNonisolated", to: twoAtomics, reach: .time(atMost: 1.5)) { plan in
                (notifying(nonisolatedSet(1), plan), passing(plan))
            },
        ]
    }

    // MARK: More observers: what a call costs

    private static var few: [Row] {
        [
            .comparing("notify, N = 10, add", to: closureArray, reach: .time(atMost: 0.2)) { plan in
                (notifying(plainSet(10), plan), notifying(array(10), plan))
            },
            .comparing("notify, N = 10, addNonisolated", to: closureArray, reach: .time(atMost: 0.2)) { plan in
                (notifying(nonisolatedSet(10), plan), notifying(array(10), plan))
            },
        ]
    }

    private static var many: [Row] {
        [100, 1000].flatMap { count -> [Row] in
            [
                .comparing("notify, N = \(count), add", to: closureLoop, reach: .time(atMost: 1.1)) { plan in
                    (notifying(plainSet(count), plan), notifying(plainLoop(count), plan))
                },
                .comparing(
                    "notify, N = \(count), addNonisolated", to: closureLoop, reach: .time(atMost: 1.1)
                ) { plan in
                    (notifying(nonisolatedSet(count), plan), notifying(nonisolatedLoop(count), plan))
                },
            ]
        }
    }

    private static var ownActor: Row {
        .comparing(
            "notify, N = 100, on the observers' actor", to: "same, @Sendable observers", reach: .time(atMost: 1.2)
        ) { plan in
            // The rows are measured on the main thread.
            let sides = MainActor.assumeIsolated {
                Unchecked((notifyingOnMain(mainActorSet(100), plan), notifyingOnMain(nonisolatedSet(100), plan)))
            }
            return (sides.value.0, sides.value.1)
        }
    }

    // MARK: What is notified

    // Each closure is a literal at the call of `add`, in a function that belongs to no actor. No two closures do the
    // same to their counter, although all cost the same, and no function is inlined, which would copy its literal.
    // Identical functions of one file are merged, and all except one of them are then reached through a jump.

    @inline(never)
    static func plainSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { set.add { counter.value &+= $0 } }
        return set
    }

    @inline(never)
    static func nonisolatedSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { set.addNonisolated { counter.value &-= $0 } }
        return set
    }

    @MainActor @inline(never)
    static func mainActorSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { set.add { counter.value ^= $0 } }
        return set
    }

    @inline(never)
    private static func plainLoop(_ count: Int) -> ClosureLoop {
        let loop = ClosureLoop(capacity: count)
        let counter = Counter()
        for _ in 0..<count { loop.add { counter.value |= $0 } }
        return loop
    }

    @inline(never)
    private static func nonisolatedLoop(_ count: Int) -> ClosureLoop {
        let loop = ClosureLoop(capacity: count)
        let counter = Counter()
        for _ in 0..<count { loop.addNonisolated { counter.value &= $0 } }
        return loop
    }

    @inline(never)
    private static func array(_ count: Int) -> ClosureArray {
        let array = ClosureArray()
        let counter = Counter()
        for _ in 0..<count { array.add { _ in counter.value &+= 1 } }
        return array
    }

    // MARK: Loops, kept from being inlined into what builds the closures

    static func notifying(_ set: ObserverSet<Int>, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in notify(set, repetitions) }
    }

    private static func notifying(_ line: ClosureLoop, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in notify(line, repetitions) }
    }

    private static func notifying(_ array: ClosureArray, _ plan: Plan) -> Sampler {
        loop(plan) { repetitions in notify(array, repetitions) }
    }

    private static func passing(_ plan: Plan) -> Sampler {
        let atomics = TwoAtomics()
        return loop(plan) { repetitions in pass(atomics, repetitions) }
    }

    /// The rows are measured on the main thread.
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
    private static func notify(_ line: ClosureLoop, _ repetitions: Int) {
        for value in 0..<repetitions { line.notify(value) }
    }

    @inline(never)
    private static func notify(_ array: ClosureArray, _ repetitions: Int) {
        for value in 0..<repetitions { array.notify(value) }
    }

    @inline(never)
    private static func pass(_ atomics: TwoAtomics, _ repetitions: Int) {
        for _ in 0..<repetitions { atomics.pass() }
    }

    @MainActor @inline(never)
    private static func notifyOnMain(_ set: ObserverSet<Int>, _ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}

/// Carries a value out of the main actor's isolation, on the thread that it was made on.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}
