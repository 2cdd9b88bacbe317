/// Shortens a program that diverges, as long as it still diverges.
///
/// It leaves out ever smaller parts, after Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input".
struct ProgramShrinker {
    var fault: ModelWorld.Fault?
    /// How many programs may be tried.
    private var attempts: Int

    private var divergence: ModelRound.Divergence

    private init(_ divergence: ModelRound.Divergence, fault: ModelWorld.Fault?, attempts: Int) {
        self.divergence = divergence
        self.fault = fault
        self.attempts = attempts
    }

    /// A short program that diverges, if the given one does.
    static func shortest(
        _ divergence: ModelRound.Divergence, fault: ModelWorld.Fault? = nil, attempts: Int
    ) -> ModelRound.Divergence {
        var shrinker = ProgramShrinker(divergence, fault: fault, attempts: attempts)
        shrinker.shrink()
        return shrinker.divergence
    }

    private var program: ModelProgram { divergence.program }

    /// A measure of the program's size, which each round of shrinking must reduce.
    private var weight: Int {
        program.routines.joined().reduce(program.operations.reduce(0) { $0 + $1.weight }) { $0 + $1.weight }
    }

    private mutating func shrink() {
        var before = Int.max
        while attempts > 0, weight < before {
            before = weight
            repeatWhileLighter { shrinker in
                shrinker.shorten(\.operations)
                for routine in shrinker.program.routines.indices.dropFirst() { shrinker.shorten(\.routines[routine]) }
            }
            simplify(\.operations)
            for routine in program.routines.indices.dropFirst() { simplify(\.routines[routine]) }
        }
    }

    private mutating func repeatWhileLighter(_ body: (inout Self) -> Void) {
        var before = Int.max
        while attempts > 0, weight < before {
            before = weight
            body(&self)
        }
    }

    /// Leaves out halves, quarters, and so on to single operations.
    private mutating func shorten(_ part: WritableKeyPath<ModelProgram, [Operation]>) {
        var length = program[keyPath: part].count
        while length > 0 {
            var end = program[keyPath: part].count
            while end > 0 {
                var candidate = program
                // From the end, where the divergence is.
                let start = max(0, end - length)
                candidate[keyPath: part].removeSubrange(start..<end)
                // Without the operation there may be one registration fewer between an operation and the registration
                // that it refers to.
                if !accept(candidate), length == 1 { _ = accept(Self.lookingLessFarBack(candidate)) }
                end = min(start, program[keyPath: part].count)
            }
            length = length == 1 ? 0 : (length + 1) / 2
        }
    }

    private static func lookingLessFarBack(_ program: ModelProgram) -> ModelProgram {
        func nearer(_ operations: [Operation]) -> [Operation] {
            operations.map { operation in
                var operation = operation
                operation.back = max(0, operation.back - 1)
                return operation
            }
        }
        return ModelProgram(routines: program.routines.map(nearer), operations: nearer(program.operations))
    }

    /// Simplifies each operation as far as possible.
    private mutating func simplify(_ part: WritableKeyPath<ModelProgram, [Operation]>) {
        for index in program[keyPath: part].indices {
            while index < program[keyPath: part].count {
                let operation = program[keyPath: part][index]
                let isSimpler = Self.simplifications(of: operation).contains { simpler in
                    var candidate = program
                    candidate[keyPath: part][index] = simpler
                    return accept(candidate)
                }
                if !isSimpler { break }
            }
        }
    }

    private static func simplifications(of operation: Operation) -> [Operation] {
        func changed(_ change: (inout Operation) -> Void) -> Operation {
            var operation = operation
            change(&operation)
            return operation
        }
        var simpler = [
            changed { $0.program = 0 }, changed { $0.farewell = 0 }, changed { $0.kind = .closure },
            changed { $0.kind = $0.kind.isAwaiting ? .awaited : .actorOwner }, changed { $0.place = 0 },
            changed { $0.owner = 0 },
            changed { $0.form = 0 }, changed { $0.form = min($0.form, 1) }, changed { $0.sequel = 0 },
            changed { $0.suspensions = 0 }, changed { $0.suspensions = min($0.suspensions, 1) },
        ]
        // The places that are no sources have only some kinds.
        if operation.place >= Place.locals.lowerBound { simpler.removeAll { $0.kind != operation.kind } }
        simpler += operation.tree.simpler.map { tree in changed { $0.tree = tree } }
        // `back` counts modulo a number. After the smallest one that works, none is smaller.
        simpler += (0..<min(16, operation.back)).map { back in changed { $0.back = back } }
        return simpler.filter { $0 != operation }
    }

    private mutating func accept(_ candidate: ModelProgram) -> Bool {
        guard attempts > 0 else { return false }
        attempts -= 1
        // It must diverge twice, since a drain's turn also ends by time, which a program doesn't repeat.
        guard let divergence = ModelRound.firstDivergence(of: candidate, fault: fault),
            ModelRound.firstDivergence(of: candidate, fault: fault) != nil
        else { return false }
        self.divergence = divergence
        return true
    }
}

extension Operation {
    fileprivate var weight: Int { 100 + back + tree.weight }
}

extension Tree {
    fileprivate var weight: Int { children.reduce(10) { $0 + $1.weight } }
}
