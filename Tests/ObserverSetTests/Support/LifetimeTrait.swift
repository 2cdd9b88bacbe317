import Testing

/// Gives each test a counter of its own, and fails it if a tracked instance is left at its end.
struct LifetimeTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        testCase == nil ? nil : self
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let lifetimes = Lifetimes()
        try await Lifetimes.$current.withValue(lifetimes) { try await function() }
        // A job that has just ended on another thread may still be letting go of what it held.
        await eventually { lifetimes.count == 0 }
        #expect(lifetimes.count == 0, "tracked instances outlived the test")
    }
}

extension Trait where Self == LifetimeTrait {
    /// Every `Tracked` that the test makes must be gone when it ends.
    static var lifetimesChecked: Self { LifetimeTrait() }
}
