import ObserverSet

/// Notifying observers with weakly held owners, on one thread.
enum OwnerRows {
    static var all: [Row] {
        let baseline = "loop of weak load, call, release"
        return [
            .comparing("notify, N = 100, weak owners, closure", to: baseline, reach: .time(atMost: 1.2)) { plan in
                (closures(100, plan), closureLoop(100, plan))
            },
            .comparing(
                "notify, N = 100, weak owners, method", to: "the same loop that applies the method",
                reach: .told(unit: "ns")
            ) { plan in (methods(100, plan), methodLoop(100, plan)) },
        ]
    }

    // Each sampler keeps the owners alive.

    private static func closures(_ count: Int, _ plan: Plan) -> Sampler {
        let set = ObserverSet<Int>()
        let owners = (0..<count).map { _ in Owner() }
        for owner in owners { set.add(owner) { owner, value in owner.value &+= value } }
        return keeping(owners, NotifyRows.notifying(set, plan))
    }

    private static func methods(_ count: Int, _ plan: Plan) -> Sampler {
        let set = ObserverSet<Int>()
        let owners = (0..<count).map { _ in Owner() }
        for owner in owners { set.add(method: Owner.receive, of: owner) }
        return keeping(owners, NotifyRows.notifying(set, plan))
    }

    private static func closureLoop(_ count: Int, _ plan: Plan) -> Sampler {
        let line = WeakLoop(capacity: count)
        let owners = (0..<count).map { _ in Owner() }
        for owner in owners { line.add(owner) { owner, value in owner.value &-= value } }
        return keeping(owners, loop(plan) { repetitions in notify(line, repetitions) })
    }

    private static func methodLoop(_ count: Int, _ plan: Plan) -> Sampler {
        let line = WeakLoop(capacity: count)
        let owners = (0..<count).map { _ in Owner() }
        let method = unapplied()
        for owner in owners { line.add(owner) { owner, value in method(owner)(value) } }
        return keeping(owners, loop(plan) { repetitions in notify(line, repetitions) })
    }

    /// Returns a method in such a way that the compiler doesn't know at the call which method it is.
    @inline(never)
    private static func unapplied() -> @Sendable (Owner) -> @Sendable (Int) -> Void { Owner.receive }

    private static func keeping(_ owners: [Owner], _ sampler: @escaping Sampler) -> Sampler {
        { withExtendedLifetime(owners) { sampler() } }
    }

    @inline(never)
    private static func notify(_ line: WeakLoop, _ repetitions: Int) {
        for value in 0..<repetitions { line.notify(value) }
    }
}
