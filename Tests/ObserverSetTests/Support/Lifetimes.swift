import Synchronization
import Testing

/// Counts the instances of `Tracked` that a test has made and not released.
final class Lifetimes: Sendable {
    @TaskLocal static var current = Lifetimes()

    private let alive = Atomic<Int>(0)
    private let made = Atomic<Int>(0)

    /// The number of tracked instances that are alive.
    var count: Int { alive.load(ordering: .acquiring) }
    /// The number of tracked instances that were ever made.
    var total: Int { made.load(ordering: .acquiring) }

    fileprivate func began() {
        alive.add(1, ordering: .acquiringAndReleasing)
        made.add(1, ordering: .relaxed)
    }

    fileprivate func ended() {
        alive.subtract(1, ordering: .acquiringAndReleasing)
    }
}

/// An owner, a capture or a parameter whose lifetime is counted, and whose end may do something.
///
/// On a thread that no task runs on, pass the test's own `Lifetimes`.
final class Tracked: Sendable {
    let value: Int
    private let lifetimes: Lifetimes
    private let atEnd: (@Sendable () -> Void)?
    private let canary = Atomic<Int>(0x600D)

    init(_ value: Int = 0, in lifetimes: Lifetimes = .current, atEnd: (@Sendable () -> Void)? = nil) {
        self.value = value
        self.lifetimes = lifetimes
        self.atEnd = atEnd
        lifetimes.began()
    }

    /// Whether this is a living object, and not the memory of a dead one.
    var isIntact: Bool { canary.load(ordering: .relaxed) == 0x600D }

    deinit {
        atEnd?()
        canary.store(0xDEAD, ordering: .relaxed)
        lifetimes.ended()
    }
}

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

/// Returns when `condition` holds, or after so many attempts that it may be taken never to.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async {
    for _ in 0..<1_000_000 {
        if condition() { return }
        await Task.yield()
    }
}
