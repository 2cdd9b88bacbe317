import ObserverSet

/// Adding and removing, on one thread.
enum ChangeRows {
    static var all: [Row] { againstCenter + [againstOne] + orders }

    private static var againstCenter: [Row] {
        [1, 100, 10_000].map { others in
            .comparing(
                "add + remove, \(others) \(others == 1 ? "other" : "others")", to: "NotificationCenter, the same",
                reach: .time(atMost: 0.3)
            ) { plan in
                (changing(others, plan), changingCenter(others, plan))
            }
        }
    }

    private static var againstOne: Row {
        .comparing("add + remove, 10000 others", to: "the same, 1 other", reach: .time(atMost: 1.2)) { plan in
            (changing(10_000, plan), changing(1, plan))
        }
    }

    // MARK: One pair at a time

    private static func changing(_ others: Int, _ plan: Plan) -> Sampler {
        let set = NotifyRows.plainSet(others)
        let counter = Counter()
        return loop(plan) { repetitions in change(set, counter, repetitions) }
    }

    private static func changingCenter(_ others: Int, _ plan: Plan) -> Sampler {
        let center = Center()
        let counter = Counter()
        for _ in 0..<others { center.add { _ in counter.value &+= 1 } }
        return loop(plan) { repetitions in change(center, counter, repetitions) }
    }

    @inline(never)
    private static func change(_ set: ObserverSet<Int>, _ counter: Counter, _ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = set.add { counter.value &+= $0 }
            token.remove()
        }
    }

    @inline(never)
    private static func change(_ center: Center, _ counter: Counter, _ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = center.add { _ in counter.value &+= 1 }
            center.remove(token)
        }
    }

    // MARK: Many removals, in different orders

    private enum Order: String {
        case firstIn = "first in"
        case lastIn = "last in"
        case random = "random"
    }

    private static var orders: [Row] {
        let pairs: [(Order, Order)] = [(.lastIn, .firstIn), (.random, .firstIn), (.random, .lastIn)]
        return pairs.map { order, other in
            .comparing(
                "10000 removals, \(order.rawValue)", to: "the same, \(other.rawValue)", reach: .within(1.5)
            ) { _ in
                (removing(order), removing(other))
            }
        }
    }

    private static func removing(_ order: Order) -> Sampler {
        {
            let count = 10_000
            let set = ObserverSet<Int>()
            let counter = Counter()
            var tokens = (0..<count).map { _ in set.add { counter.value &+= $0 } }
            switch order {
            case .firstIn: break
            case .lastIn: tokens.reverse()
            case .random: tokens.shuffle()
            }
            let start = now()
            let removed = remove(tokens)
            let time = now() - start
            precondition(removed == count)
            return Double(time) / Double(count)
        }
    }

    @inline(never)
    private static func remove(_ tokens: [ObserverToken]) -> Int {
        tokens.count { $0.remove() }
    }
}
