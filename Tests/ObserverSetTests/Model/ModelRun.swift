/// Random operations on the tested world and on its model, compared after each.
///
/// A run is made of rounds, each in a fresh pair of worlds and with a seed of its own; so a divergence late in a long
/// run is replayed at once by the seed of its round.
struct ModelRun {
    private static let operationsPerRound = 250

    let seed: UInt64
    let operations: Int
    var fault: ModelWorld.Fault?

    /// What differed first, and how to see it again; nil if nothing did.
    func firstDivergence() -> String? {
        var roundSeeds = SeededGenerator(seed: seed)
        var roundSeed = seed
        var done = 0
        while done < operations {
            let count = min(Self.operationsPerRound, operations - done)
            var round = ModelRound(seed: roundSeed, fault: fault)
            if let difference = round.firstDivergence(operations: count) {
                return
                    "\(roundSeed), operation \(round.performed), or \(done + round.performed) of the run\n\(difference)"
            }
            done += count
            roundSeed = roundSeeds.next()
        }
        return nil
    }
}

/// The operations in one pair of worlds.
struct ModelRound {
    /// How many operations have been performed outside of observers.
    private(set) var performed = 0

    private let lifetimes = Lifetimes()
    private var generator: OperationGenerator
    /// The size about which the sets are kept; large ones grow, and are compacted.
    private let size: Int
    private let tested: TestedWorld
    private let model: ModelWorld
    private var recent: [Operation] = []

    init(seed: UInt64, fault: ModelWorld.Fault?) {
        generator = OperationGenerator(seed: seed)
        size = [2, 5, 5, 10, 10, 20, 20, 70][generator.below(8)]
        let programs = generator.programs()
        tested = TestedWorld(programs: programs, lifetimes: lifetimes)
        model = ModelWorld(programs: programs, fault: fault)
    }

    mutating func firstDivergence(operations: Int) -> String? {
        var living = 0
        for _ in 0..<operations {
            let operation = generator.operation(isCrowded: living > size)
            performed += 1
            recent.append(operation)
            compare { $0.performOutside(operation) }
            living = 0
            for set in 0..<OperationGenerator.setCount {
                compare { $0.count(set: set) }
                living += model.livingCount(set: set)
            }
            if let difference = model.divergence ?? lifetimesDivergence() { return report(difference) }
        }
        return divergenceAtTheEnd().map(report)
    }

    /// A last look: a notification has the entries of dead owners removed, so that only the living captures are left;
    /// and none when the sets and the owners are gone.
    private func divergenceAtTheEnd() -> String? {
        for set in 0..<OperationGenerator.setCount { compare { $0.notify(set: set, 0) } }
        if let difference = model.divergence ?? lifetimesDivergence(isExact: true) { return difference }
        compare { $0.close() }
        for registration in 0..<model.registrationCount { compare { $0.isActive(registration) } }
        return model.divergence ?? lifetimesDivergence(isExact: true)
    }

    private func compare(_ step: (World) -> Void) {
        tested.events.removeAll(keepingCapacity: true)
        step(tested)
        model.follow(tested.events) { step(model) }
    }

    private func lifetimesDivergence(isExact: Bool = false) -> String? {
        let expected = model.trackedObjects
        if isExact, expected.lowerBound != expected.upperBound { return "the model keeps dead owners' entries" }
        let alive = lifetimes.count
        return expected.contains(alive) ? nil : "\(alive) captures and owners are alive, and should be \(expected)"
    }

    private func report(_ difference: String) -> String {
        // Its observers hold the world that holds the sets; and the model's entries hold their sets.
        tested.close()
        model.abandon()
        let operations = recent.suffix(20).map { "  \($0)" }.joined(separator: "\n")
        let programs = model.programs.enumerated().dropFirst().map { "  \($0): \($1)" }.joined(separator: "\n")
        return "\(difference)\nthe last operations:\n\(operations)\nprograms:\n\(programs)"
    }
}
