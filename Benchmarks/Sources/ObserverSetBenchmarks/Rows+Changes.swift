import ObserverSet

/// Adding and removing, on one thread.
enum ChangeRows {
    static var all: [Row] { againstCenter + [againstOne] + owners + orders }

    private static var againstCenter: [Row] {
        [1, 100, 10_000].map { others in
            .comparing(
                "add + remove, \(others) \(others == 1 ? "other" : "others")", to: "NotificationCenter, the same",
                reach: .time(atMost: 0.36)
            ) { plan in
                (changing(.ours, others, plan), changing(.center, others, plan))
            }
        }
    }

    private static var againstOne: Row {
        .comparing("add + remove, 10000 others", to: "the same, 1 other", reach: .time(atMost: 1.1)) { plan in
            (changing(.ours, 10_000, plan), changing(.ours, 1, plan))
        }
    }

    // MARK: One pair at a time

    private static func changing(_ system: System, _ others: Int, _ plan: Plan) -> Sampler {
        let peer = system.make(others)
        return loop(plan) { repetitions in peer.change(repetitions) }
    }

    // MARK: Owners beside very many observers

    /// Rows that show whether sweeps for dead owners become rarer the more observers there are, as they must.
    ///
    /// A sweep checks every observer.
    private static var owners: [Row] {
        [
            .comparing(
                "add + remove with an owner, 1000000 closures", to: "the same, alone", reach: .time(atMost: 3)
            ) { plan in (changingOwned(among: manyClosures, plan), changingOwned(among: ObserverSet(), plan)) },
            .comparing(
                "add + remove with an owner, once 1000000 owners", to: "the same, alone", reach: .time(atMost: 3)
            ) { plan in (changingOwned(among: onceLarge, plan), changingOwned(among: ObserverSet(), plan)) },
            .comparing(
                "add with an owner, 24000 in all, 8 threads", to: "the same, 1 thread", reach: .time(atMost: 20)
            ) { _ in (addingOwned(24_000, threads: 8), addingOwned(24_000, threads: 1)) },
        ]
    }

    private static let manyClosures: ObserverSet<Int> = {
        let set = ObserverSet<Int>()
        for _ in 0..<1_000_000 { _ = set.addNonisolated { _ in } }
        return set
    }()

    private static let onceLarge: ObserverSet<Int> = {
        let set = ObserverSet<Int>()
        let owner = Owner()
        for _ in 0..<1_000_000 { set.addNonisolated(owner) { _, _ in } }
        set.removeAll()
        return set
    }()

    private static func changingOwned(among set: ObserverSet<Int>, _ plan: Plan) -> Sampler {
        let owner = Owner()
        return loop(plan) { repetitions in
            for _ in 0..<repetitions { set.addNonisolated(owner) { owner, value in owner.value = value }.remove() }
        }
    }

    /// Makes a sampler of the time for each of `count` additions, which the threads share among them.
    private static func addingOwned(_ count: Int, threads: Int) -> Sampler {
        {
            let set = ObserverSet<Int>()
            let owner = Owner()
            let adding: @Sendable () -> Void = {
                for _ in 0..<count / threads { set.addNonisolated(owner) { owner, value in owner.value = value } }
            }
            return Double(together(Array(repeating: adding, count: threads))) / Double(count)
        }
    }

    // MARK: Many removals, in different orders

    private enum Order: String {
        case firstIn = "first in"
        case lastIn = "last in"
        case random = "random"

        func applied<Element>(to elements: [Element]) -> [Element] {
            switch self {
            case .firstIn: elements
            case .lastIn: elements.reversed()
            case .random: elements.shuffled()
            }
        }
    }

    /// Rows that remove many more observers than fit into the nearest cache, so that they cost what memory costs.
    ///
    /// The baseline shows how much that is: the same closures in an array are released in the same orders.
    private static var orders: [Row] {
        [Order.lastIn, .random].map { order in
            .comparing("1000 removals, \(order.rawValue)", to: "the same, first in", reach: .within(1.4)) { _ in
                (removing(1000, order), removing(1000, .firstIn))
            }
        } + [
            .comparing(
                "10000 removals, random", to: "limit: 10000 closures dropped, random", reach: .time(atMost: 2.4)
            ) { _ in (removing(10_000, .random), dropping(10_000, .random)) }
        ]
    }

    private static func removing(_ count: Int, _ order: Order) -> Sampler {
        {
            let set = ObserverSet<Int>()
            let counter = Counter()
            let tokens = order.applied(to: (0..<count).map { _ in set.add { counter.value &+= $0 } })
            let start = now()
            let removed = remove(tokens)
            let time = now() - start
            precondition(removed == count)
            return Double(time) / Double(count)
        }
    }

    /// Releases closures in an array, which are like those that `removing` adds, in the given order.
    private static func dropping(_ count: Int, _ order: Order) -> Sampler {
        {
            let counter = Counter()
            var closures: [(@Sendable (Int) -> Void)?] = (0..<count).map { _ in
                Isolated.removed { counter.value &-= $0 }
            }
            let places = order.applied(to: Array(0..<count))
            let start = now()
            drop(&closures, places)
            return Double(now() - start) / Double(count)
        }
    }

    @inline(never)
    private static func drop(_ closures: inout [(@Sendable (Int) -> Void)?], _ places: [Int]) {
        for place in places { closures[place] = nil }
    }

    @inline(never)
    private static func remove(_ tokens: [ObserverToken]) -> Int {
        tokens.count { $0.remove() }
    }
}
