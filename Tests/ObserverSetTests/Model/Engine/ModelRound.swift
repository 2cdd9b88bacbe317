/// The operations in one pair of worlds.
struct ModelRound {
    /// The first difference: the operations up to it, and a description.
    struct Divergence {
        let program: ModelProgram
        let description: String

        /// The report of a failing run.
        var report: String { "\(description)\nThis test repeats it:\n\(program)" }
    }

    /// The operations performed so far, outside of user code.
    private(set) var program: ModelProgram

    private let tested: TestedWorld
    private let model: ModelWorld

    private init(_ program: ModelProgram, fault: ModelWorld.Fault?) {
        self.program = program
        self.program.operations = []
        tested = TestedWorld(program)
        model = ModelWorld(program, fault: fault)
    }

    /// Performs that many operations, which it chooses.
    static func firstDivergence(
        seed: UInt64, operations: Int, fault: ModelWorld.Fault? = nil
    ) -> Divergence? {
        JobQueue.keepingJobs {
            var generator = ProgramGenerator(seed: seed)
            let size = generator.size()
            let program = ModelProgram(
                routines: generator.routines(), operations: [], valuesCarryCargo: generator.valuesCarryCargo())
            var round = ModelRound(program, fault: fault)
            for _ in 0..<operations {
                let operation = generator.operation(isCrowded: round.model.entryCount > size)
                var difference = round.differenceAfter(operation)
                // Not after every operation, since it takes longer than an operation.
                if round.program.operations.count % 8 == 0 { difference = difference ?? round.lifetimesDifference() }
                if let difference { return round.report(difference) }
            }
            return round.end()
        }
    }

    /// Performs the operations of a program.
    static func firstDivergence(of program: ModelProgram, fault: ModelWorld.Fault? = nil) -> Divergence? {
        JobQueue.keepingJobs {
            var round = ModelRound(program, fault: fault)
            for operation in program.operations {
                let difference = round.differenceAfter(operation) ?? round.lifetimesDifference()
                if let difference { return round.report(difference) }
            }
            return round.end()
        }
    }

    private mutating func differenceAfter(_ operation: Operation) -> String? {
        program.operations.append(operation)
        compare { $0.performOutside(operation) }
        return model.divergence
    }

    private func end() -> Divergence? {
        if let difference = differenceAtTheEnd() { return report(difference) }
        model.breakCycles()
        return nil
    }

    /// The last comparison, first with all observers in place, then after everything has been released.
    ///
    /// Once everything has been released, and the awaited calls have
    /// ended, no object may be left.
    private func differenceAtTheEnd() -> String? {
        for _ in 0..<2 {
            for place in 0..<Place.count { compare { $0.notify(Operation(verb: .notify, place: place), 0) } }
            compareTasks()
        }
        compare { ($0 as? ModelWorld)?.forgetDead() }
        for place in 0..<Place.count { compare { $0.count(place) } }
        if let difference = model.divergence ?? lifetimesDifference() { return difference }
        for token in 0..<model.tokenCount where !model.isLocal(token) { compare { $0.ask(token) } }
        compare { $0.close() }
        for _ in 0..<2 {
            compareTasks()
            while !model.suspended.isEmpty, model.divergence == nil {
                compare { $0.letOn(0) }
                compareTasks()
            }
        }
        compare { world in for stream in world.streams { world.dropStream(stream) } }
        for token in 0..<model.tokenCount where !model.isUndecided(token) { compare { $0.isActive(token) } }
        return model.divergence ?? (tested.alive == 0 ? lifetimesDifference() : "\(tested.alive) objects are left")
    }

    private func compare(_ step: (World) -> Void) {
        guard model.divergence == nil else { return }
        tested.events.removeAll(keepingCapacity: true)
        step(tested)
        model.follow(tested.events, step)
    }

    /// Lets everything happen that is pending.
    private func compareTasks() {
        compare { $0.deliver(Operation(verb: .deliver)) }
        guard model.usesQueue else { return }
        compare { $0.letQueueRun() }
        compare { $0.deliver(Operation(verb: .deliver)) }
    }

    private func lifetimesDifference() -> String? {
        let (expected, alive) = (model.trackedObjects, tested.alive)
        return expected.contains(alive)
            ? nil : "\(alive) captures, owners and pieces of cargo are alive, and should be \(expected)"
    }

    private func report(_ difference: String) -> Divergence {
        // Breaks the reference cycles: observers hold the tested world, which holds the sets.
        tested.abandon()
        model.abandon()
        return Divergence(program: program, description: difference)
    }
}
