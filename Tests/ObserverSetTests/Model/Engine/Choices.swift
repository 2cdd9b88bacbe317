/// Where a run takes its choices from: the same ones for the same seed.
final class Choices {
    private var generator: SeededGenerator

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
    }

    /// A number from zero up to the bound.
    ///
    /// Its bias is too small to matter, and it is fast even without optimisation.
    func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: generator.next() >> 33) % bound
    }
}
