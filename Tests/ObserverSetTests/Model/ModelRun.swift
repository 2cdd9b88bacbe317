/// Random operations on the tested world and on its model, compared after each.
///
/// A run consists of rounds, each with a fresh pair of worlds and its own seed. So the seed of its round replays a
/// divergence at once, even one late in a long run.
struct ModelRun {
    private static let operationsPerRound = 250

    let seed: UInt64
    let operations: Int
    var fault: ModelWorld.Fault?
    /// How many programs may be tried to shorten one that diverges.
    var attempts = 5_000

    /// The first difference as a short program, and the seed that reproduces it in full; nil if there was none.
    func firstDivergence() -> (seed: UInt64, divergence: ModelRound.Divergence)? {
        var roundSeeds = SeededGenerator(seed: seed)
        var roundSeed = seed
        var done = 0
        while done < operations {
            let count = min(Self.operationsPerRound, operations - done)
            if let divergence = ModelRound.firstDivergence(seed: roundSeed, operations: count, fault: fault) {
                return (roundSeed, ProgramShrinker.shortest(divergence, fault: fault, attempts: attempts))
            }
            done += count
            roundSeed = roundSeeds.next()
        }
        return nil
    }
}
