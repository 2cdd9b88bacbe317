import Testing

/// Gives each test its own counter, and fails the test if a tracked instance is still alive at its end.
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
        // A job that has just ended on another thread may still be releasing what it held.
        await eventually { lifetimes.count == 0 }
        #expect(lifetimes.count == 0, "tracked instances are still alive after the test")
    }
}

extension Trait where Self == LifetimeTrait {
    /// Every `Tracked` that the test creates must be deallocated when the test ends.
    static var lifetimesChecked: Self { LifetimeTrait() }
}
