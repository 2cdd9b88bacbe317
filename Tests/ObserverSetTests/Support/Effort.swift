import Foundation
import Testing

/// How much work the tests do, set by the environment variable `OBSERVERSET_EFFORT`.
enum Effort: String {
    /// A run of seconds, for use after each change.
    ///
    /// It is the default, and also what mutants are judged by.
    case quick
    /// Twenty times as many repetitions; takes minutes.
    case ci
    /// As many repetitions as it takes to find rare faults; takes hours.
    case long

    static let current: Effort = {
        guard let text = ProcessInfo.processInfo.environment["OBSERVERSET_EFFORT"] else { return .quick }
        guard let effort = Effort(rawValue: text) else {
            fatalError("OBSERVERSET_EFFORT is quick, ci or long, and not \(text)")
        }
        return effort
    }()
}

/// The number of repetitions: `count` with the effort `ci`, a twentieth of that with `quick`, and `long` (by default
/// `count`) with the effort `long`.
func many(_ count: Int, long: Int? = nil) -> Int {
    switch Effort.current {
    case .quick: count / 20
    case .ci: count
    case .long: long ?? count
    }
}

extension Trait where Self == TimeLimitTrait {
    /// Ends tests that hang, and no others.
    ///
    /// A test's time includes the time that it waits for other tests. So the limit is many times what the whole suite
    /// takes on a slow and busy machine under a sanitizer.
    static var againstHanging: Self { .timeLimit(.minutes(Effort.current == .long ? 1_200 : 120)) }
}

extension Trait where Self == ConditionTrait {
    /// Disables a test that measures the process's memory where the result would mean nothing.
    static var measuringMemory: Self {
        .disabled(if: AllocatedMemory.isSanitized, "A sanitizer keeps freed memory back")
    }

    /// Disables, under a sanitizer, a test which shows that one of the suite's own checks detects mistakes.
    ///
    /// There it would show nothing more.
    static var positiveControl: Self {
        .disabled(if: AllocatedMemory.isSanitized, "The check is the same under a sanitizer")
    }
}
