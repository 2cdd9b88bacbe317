import Foundation
import Testing

/// The whole synchronous behaviour, against a model that is too simple to be wrong.
@Suite("A sequential model", .againstHanging)
struct ModelTests {
    /// OBSERVERSET_MODEL_OPERATIONS asks for more, OBSERVERSET_SEED for the same again.
    private static let operations = number("OBSERVERSET_MODEL_OPERATIONS").map(Int.init(clamping:)) ?? many(1_000_000)
    private static let seed = number("OBSERVERSET_SEED") ?? .random(in: 0...UInt64.max)

    private static func number(_ variable: String) -> UInt64? {
        ProcessInfo.processInfo.environment[variable].flatMap(UInt64.init)
    }

    @Test(
        "Random operations do what the contract says, nested ones and those in `deinit` too")
    func operationsAgree() {
        print("The model runs \(Self.operations) operations with OBSERVERSET_SEED=\(Self.seed)")

        if let (seed, divergence) = ModelRun(seed: Self.seed, operations: Self.operations).firstDivergence() {
            Issue.record("OBSERVERSET_SEED=\(seed)\n\(divergence.report)")
        }
    }

    @Test("A mistake in the model is noticed", arguments: ModelWorld.Fault.allCases)
    func faultIsNoticed(_ fault: ModelWorld.Fault) {
        let found = ModelRun(seed: Self.seed, operations: 1_000_000, fault: fault).firstDivergence()

        #expect(found != nil, "\(fault) went unnoticed with OBSERVERSET_SEED=\(Self.seed)")
    }

    /// By one seed, since how short it becomes depends on where it begins.
    @Test(
        "What diverges is shown in a few operations, which do so again, and only because of the mistake",
        arguments: ModelWorld.Fault.allCases)
    func divergenceIsShrunk(_ fault: ModelWorld.Fault) throws {
        let (_, divergence) = try #require(ModelRun(seed: 1, operations: 50_000, fault: fault).firstDivergence())

        #expect(divergence.program.count <= 12, "\(fault):\n\(divergence.program)")
        #expect(ModelRound.firstDivergence(of: divergence.program, fault: fault) != nil)
        #expect(ModelRound.firstDivergence(of: divergence.program) == nil)
    }
}
