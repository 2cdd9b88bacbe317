/// Random operations on the tested world and on its model, compared after each.
///
/// A run is made of rounds, each in a fresh pair of worlds and with a seed of its own; so a divergence late in a long
/// run is replayed at once by the seed of its round.
struct ModelRun {
    private static let operationsPerRound = 250

    let seed: UInt64
    let operations: Int
    var fault: ModelWorld.Fault?

    /// What differed first, as a short program, and the seed by which to see all of it again; nil if nothing did.
    func firstDivergence() -> (seed: UInt64, divergence: ModelRound.Divergence)? {
        var roundSeeds = SeededGenerator(seed: seed)
        var roundSeed = seed
        var done = 0
        while done < operations {
            let count = min(Self.operationsPerRound, operations - done)
            let choices = SeededChoices(seed: roundSeed)
            if let divergence = ModelRound.firstDivergence(choosingBy: choices, operations: count, fault: fault) {
                return (roundSeed, ProgramShrinker.shortest(divergence, fault: fault))
            }
            done += count
            roundSeed = roundSeeds.next()
        }
        return nil
    }
}

/// Choices that are the same for the same seed.
final class SeededChoices: Choices {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// Its bias is too small to do harm, and it is fast without optimisation.
    override func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: generator.next() >> 33) % bound
    }
}
