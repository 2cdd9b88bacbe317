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
                (changing(.ours, others, plan), changing(.center, others, plan))
            }
        }
    }

    private static var againstOne: Row {
        .comparing("add + remove, 10000 others", to: "the same, 1 other", reach: .time(atMost: 1.2)) { plan in
            (changing(.ours, 10_000, plan), changing(.ours, 1, plan))
        }
    }

    // MARK: One pair at a time

    private static func changing(_ system: System, _ others: Int, _ plan: Plan) -> Sampler {
        let peer = system.make(others)
        return loop(plan) { repetitions in peer.change(repetitions) }
    }

    // MARK: Many removals, in different orders

    enum Order: String, CaseIterable {
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
                (removing(10_000, order), removing(10_000, other))
            }
        }
    }

    static func removing(_ count: Int, _ order: Order) -> Sampler {
        {
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
