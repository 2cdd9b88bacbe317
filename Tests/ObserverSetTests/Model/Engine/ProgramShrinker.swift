/// Shortens a program that diverges, as long as it still diverges.
///
/// It leaves out ever smaller parts, after Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input".
struct ProgramShrinker {
    var fault: ModelWorld.Fault?
    /// How many programs may be tried.
    var attempts = 5_000

    private var divergence: ModelRound.Divergence

    private init(_ divergence: ModelRound.Divergence, fault: ModelWorld.Fault?) {
        self.divergence = divergence
        self.fault = fault
    }

    /// A short program that diverges, if the given one does.
    static func shortest(_ divergence: ModelRound.Divergence, fault: ModelWorld.Fault? = nil) -> ModelRound.Divergence {
        var shrinker = ProgramShrinker(divergence, fault: fault)
        shrinker.shrink()
        return shrinker.divergence
    }

    private var program: ModelProgram { divergence.program }

    /// A measure of the program's size, which each round of shrinking must reduce.
    private var weight: Int {
        program.routines.joined().reduce(program.operations.reduce(0) { $0 + 100 + $1.back }) { $0 + 100 + $1.back }
    }

    private mutating func shrink() {
        var before = Int.max
        while attempts > 0, weight < before {
            before = weight
            shorten(\.operations)
            for routine in program.routines.indices.dropFirst() { shorten(\.routines[routine]) }
            simplify(\.operations)
            for routine in program.routines.indices.dropFirst() { simplify(\.routines[routine]) }
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
            for change in Self.simplifications {
                guard index < program[keyPath: part].count else { return }
                var candidate = program
                change(&candidate[keyPath: part][index])
                if candidate[keyPath: part][index] != program[keyPath: part][index] { _ = accept(candidate) }
            }
        }
    }

    private static var simplifications: [(inout Operation) -> Void] {
        let simple: [(inout Operation) -> Void] = [
            { $0.program = 0 }, { $0.farewell = 0 }, { $0.kind = $0.kind.isAwaiting ? .awaited : .closure },
            { $0.place = 0 }, { $0.owner = 0 },
            { $0.form = 0 }, { $0.members = $0.members.map { _ in .both } }, { $0.sequel = 0 }, { $0.suspensions = 0 },
            { $0.suspensions = min($0.suspensions, 1) },
        ]
        // `back` counts modulo the number of registrations. After the smallest one that works, none is smaller.
        return simple + (0..<16).map { back in { $0.back = min($0.back, back) } }
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

extension ModelRound.Divergence {
    /// The report of a failing run.
    var report: String { "\(description)\nthe operations:\n\(program)" }
}
