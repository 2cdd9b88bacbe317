import Foundation
import Testing

// A suite's declaration has its properties, and an extension has its tests. Each of the compiler's processes expands every
// `@Suite` of the module, and reads the whole declaration for that, which takes seconds if the tests are in it.

/// Gives each test its own counter, and fails the test if a tracked instance is still alive at its end.
///
/// It also limits the number of tests that run at once to the number of processors. Each test has threads of its own.
/// More tests would only keep each other's threads waiting, some of them in the middle of a race.
struct LifetimeTrait: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { testCase == nil ? nil : self }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Places.shared.take()
        defer { Places.shared.leave() }
        let lifetimes = Lifetimes()
        try await Lifetimes.$current.withValue(lifetimes) { try await function() }
        // A job that has just ended on another thread may still be releasing what it held.
        await eventually { lifetimes.count == 0 }
        expect(lifetimes.count, equals: 0, "tracked instances are still alive after the test")
    }
}

/// Limits how many tests run at once, and lets the other tests wait.
private final class Places: Sendable {
    static let shared = Places()

    private let state = Guarded(
        (free: ProcessInfo.processInfo.activeProcessorCount, waiting: [CheckedContinuation<Void, Never>]()))

    func take() async {
        await withCheckedContinuation { continuation in
            let mayRun = state.withLock { state in
                if state.free == 0 {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if mayRun { continuation.resume() }
        }
    }

    func leave() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}

extension Trait where Self == LifetimeTrait {
    /// Every `Tracked` that the test creates must be deallocated when the test ends.
    static var lifetimesChecked: Self { LifetimeTrait() }
}
