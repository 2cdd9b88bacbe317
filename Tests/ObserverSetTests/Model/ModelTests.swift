import Foundation
import Testing

/// The behaviour of every kind of source and observer, as a client sees it, compared with a model that is too simple to be
/// wrong.
@Suite("A sequential model", .againstHanging)
struct ModelTests {}

extension ModelTests {
    private static let operations = many(400_000, long: 100_000_000)
    /// `OBSERVERSET_SEED` replays the run with that seed.
    private static let seed =
        ProcessInfo.processInfo.environment["OBSERVERSET_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)

    @Test(
        "Random operations do what the contract says, nested ones and those in `deinit` too")
    func operationsAgree() {
        print("The model runs \(Self.operations) operations with OBSERVERSET_SEED=\(Self.seed)")

        if let (seed, divergence) = ModelRun(seed: Self.seed, operations: Self.operations).firstDivergence() {
            Issue.record("OBSERVERSET_SEED=\(seed)\n\(divergence.report)")
        }
    }

    @Test("Observers that await take part in the model if the system can run their tasks here")
    func observersAwait() {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
        #expect(World.awaits)
    }

    /// With a fixed seed, since how short the program becomes depends on where the shrinking begins.
    @Test(
        "A mistake in the model is found, reduced to a few operations, and reproduced only with the mistake",
        .positiveControl, arguments: ModelWorld.Fault.allCases)
    func divergenceIsShrunk(_ fault: ModelWorld.Fault) throws {
        let (_, divergence) = try #require(
            ModelRun(seed: 84, operations: 20_000, fault: fault, attempts: many(800)).firstDivergence())

        #expect(divergence.program.count <= 120, "\(fault):\n\(divergence.program)")
        #expect(ModelRound.firstDivergence(of: divergence.program, fault: fault) != nil)
        #expect(ModelRound.firstDivergence(of: divergence.program) == nil)
    }
}
