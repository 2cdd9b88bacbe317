import ObserverSet

/// What a single operation costs at worst, while a set grows and shrinks.
enum Spikes {
    static let section = Section(
        name: "spikes: one operation of many, while a set grows to 4096 observers and shrinks, again and again",
        unit: "ns",
        columns: { _ in ["p50", "p99", "p99.9", "maximum", "of"] },
        measure: { plan in
            var run = Run(operations: plan.operations)
            run.perform()
            return Operation.allCases.map { operation in
                var times = run.times[operation.rawValue]
                times.sort()
                return Section.Series(name: operation.name, figures: figures(times))
            }
        })

    private enum Operation: Int, CaseIterable {
        case add, remove, notify
        /// No operation: what the clock costs, which is a part of all times, and what the machine does meanwhile.
        case nothing

        var name: String {
            switch self {
            case .add: "add"
            case .remove: "remove"
            case .notify: "notify"
            case .nothing: "nothing: the clock and the machine"
            }
        }
    }

    private static func figures(_ sorted: [UInt32]) -> [Quartiles?] {
        let shares = [0.5, 0.99, 0.999, 1]
        let figures = shares.map { share in Double(sorted[Int(share * Double(sorted.count - 1))]) }
        return (figures + [Double(sorted.count)]).map { Quartiles([$0]) }
    }

    /// Operations in an order that is random and always the same.
    private struct Run {
        private let operations: Int
        private let set = ObserverSet<Int>()
        private let counter = Counter()
        private var tokens: [ObserverToken] = []
        private var random = Generator(state: 1)
        /// Times of each kind of operation, in nanoseconds.
        private(set) var times = [[UInt32]](repeating: [], count: Operation.allCases.count)

        private static let most = 4096

        init(operations: Int) {
            self.operations = operations
            // Memory is reserved here, so that no array grows while times are taken.
            tokens.reserveCapacity(Self.most)
            for index in times.indices { times[index].reserveCapacity(operations) }
        }

        mutating func perform() {
            var isGrowing = true
            for number in 0..<operations {
                if tokens.count == Self.most { isGrowing = false }
                if tokens.isEmpty { isGrowing = true }
                switch random.next(below: 4) {
                // While it grows two in three changes add, while it shrinks two in three remove.
                case 0, 1: isGrowing ? add() : remove()
                case 2: isGrowing ? remove() : add()
                default:
                    time(.notify) { $0.set.notify(number) }
                    time(.nothing) { _ in }
                }
            }
        }

        private mutating func add() {
            guard tokens.count < Self.most else { return }
            time(.add) { run in run.addOne() }
        }

        /// Not inlined: copies of the literal would be merged, and then be reached through a jump.
        @inline(never)
        private mutating func addOne() {
            tokens.append(set.add { [counter] in counter.value &+= $0 })
        }

        /// Removes one of the observers, at random.
        private mutating func remove() {
            guard !tokens.isEmpty else { return }
            tokens.swapAt(random.next(below: tokens.count), tokens.count - 1)
            let token = tokens.removeLast()
            time(.remove) { _ in token.remove() }
        }

        @inline(__always)
        private mutating func time(_ operation: Operation, _ body: (inout Run) -> Void) {
            let start = now()
            body(&self)
            let time = now() - start
            times[operation.rawValue].append(UInt32(clamping: time))
        }
    }

    /// Numbers that are random enough.
    private struct Generator {
        var state: UInt64

        mutating func next(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
    }
}
