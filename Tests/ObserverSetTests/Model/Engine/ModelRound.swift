/// The operations in one pair of worlds.
struct ModelRound {
    /// The first difference: the operations up to it, and a description.
    struct Divergence {
        let program: ModelProgram
        let description: String
    }

    /// The operations performed so far, outside of observers.
    private(set) var program: ModelProgram

    private let tested: TestedWorld
    private let model: ModelWorld
    /// The places whose observers are counted between operations, in turn.
    private static let counted = [0, Place.local, 1, 0, Place.otherLocal, 1]

    private init(routines: [[Operation]], fault: ModelWorld.Fault?) {
        program = ModelProgram(routines: routines)
        tested = TestedWorld(routines: routines)
        model = ModelWorld(routines: routines, fault: fault)
    }

    /// Performs that many operations, which it chooses.
    static func firstDivergence(
        seed: UInt64, operations: Int, fault: ModelWorld.Fault? = nil
    ) -> Divergence? {
        JobQueue.keepingJobs {
            var generator = OperationGenerator(seed: seed)
            let size = generator.size()
            var round = ModelRound(routines: generator.routines(), fault: fault)
            for _ in 0..<operations {
                let operation = generator.operation(isCrowded: round.model.entryCount > size)
                if let difference = round.differenceAfter(operation) { return round.report(difference) }
            }
            return round.end()
        }
    }

    /// Performs the operations of a program.
    static func firstDivergence(of program: ModelProgram, fault: ModelWorld.Fault? = nil) -> Divergence? {
        JobQueue.keepingJobs {
            var round = ModelRound(routines: program.routines, fault: fault)
            for operation in program.operations {
                if let difference = round.differenceAfter(operation) { return round.report(difference) }
            }
            return round.end()
        }
    }

    private mutating func differenceAfter(_ operation: Operation) -> String? {
        program.operations.append(operation)
        let performed = program.operations.count
        compare { $0.performOutside(operation) }
        let place = Self.counted[performed % Self.counted.count]
        compare { $0.count(place: place) }
        if let difference = model.divergence { return difference }
        // Not after every operation, since it takes longer than an operation.
        return performed % 8 == 0 ? lifetimesDifference() : nil
    }

    private func end() -> Divergence? {
        if let difference = differenceAtTheEnd() { return report(difference) }
        model.breakCycles()
        return nil
    }

    /// The last comparison, first with all observers in place, then after everything has been released.
    ///
    /// Two notifications remove all entries of dead owners, so that only the captures of living observers are left.
    /// (For observers that await, the first one notices the death, and the second one removes the entry.) Once the sets
    /// and the owners have been released, and the awaited calls have ended, no capture may be left.
    private func differenceAtTheEnd() -> String? {
        for _ in 0..<2 {
            for place in 0..<Place.count {
                if !Place.isPublished(place) { compare { $0.count(place: place) } }
                compare { $0.notify(place: place, form: 0, 0) }
            }
        }
        let isExact = !model.isOldSetKept
        if let difference = model.divergence ?? lifetimesDifference(isExact: isExact) { return difference }
        for registration in model.homes.indices where !Place.isLocal(model.homes[registration]) {
            compare { $0.countLost(registration) }
        }
        compare { $0.close() }
        while !model.suspended.isEmpty, model.divergence == nil { compare { $0.letOn(0) } }
        for registration in 0..<model.homes.count { compare { $0.isActive(registration) } }
        return model.divergence ?? lifetimesDifference(isExact: true)
    }

    private func compare(_ step: (World) -> Void) {
        tested.events.removeAll(keepingCapacity: true)
        func stepAndDeliver(_ world: World) {
            step(world)
            world.deliver()
        }
        stepAndDeliver(tested)
        model.follow(tested.events, stepAndDeliver)
    }

    private func lifetimesDifference(isExact: Bool = false) -> String? {
        let expected = model.trackedObjects
        if isExact, expected.lowerBound != expected.upperBound { return "the model keeps dead owners' entries" }
        let alive = tested.alive
        return expected.contains(alive) ? nil : "\(alive) captures and owners are alive, and should be \(expected)"
    }

    private func report(_ difference: String) -> Divergence {
        // Breaks the reference cycles: observers hold the tested world, which holds the sets; the model's entries hold
        // their sets.
        tested.close()
        tested.letOnAll()
        model.abandon()
        return Divergence(program: program, description: difference)
    }
}
