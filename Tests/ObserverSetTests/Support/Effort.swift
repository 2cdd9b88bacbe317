import Foundation
import Testing

/// How much work the tests do, set by the environment variable `OBSERVERSET_EFFORT`.
enum Effort: String {
    /// A run that takes seconds, for use after each change; this is the default.
    case quick
    /// Twenty times as many repetitions, which take minutes.
    case ci
    /// So many repetitions that rare faults are found, which takes hours.
    case long

    static let current: Effort = {
        guard let text = ProcessInfo.processInfo.environment["OBSERVERSET_EFFORT"] else { return .quick }
        guard let effort = Effort(rawValue: text) else {
            fatalError("OBSERVERSET_EFFORT is quick, ci or long, and not \(text)")
        }
        return effort
    }()
}

/// Returns how often a test should repeat something.
///
/// That is `count` with the effort `ci`, a twentieth of `count` with `quick`, and the argument `long` with `long`. If
/// the argument `long` is left out, it is `count` in the last case, too.
func many(_ count: Int, long: Int? = nil) -> Int {
    switch Effort.current {
    case .quick: count / 20
    case .ci: count
    case .long: long ?? count
    }
}

extension Trait where Self == TimeLimitTrait {
    /// A time limit that ends only tests that hang.
    ///
    /// A test's time includes the time that it waits for other tests. So the limit is many times as long as the whole
    /// suite takes on a slow and busy machine under a sanitizer.
    static var againstHanging: Self { .timeLimit(.minutes(Effort.current == .long ? 1_200 : 120)) }
}

extension Trait where Self == ConditionTrait {
    /// Disables a test that measures the process's memory, where a sanitizer would distort the result.
    static var measuringMemory: Self {
        .disabled(if: AllocatedMemory.isSanitized, "A sanitizer keeps freed memory back")
    }

    /// Disables, under a sanitizer, a test which shows that one of the suite's own checks detects mistakes.
    ///
    /// The check is the same under a sanitizer, so the test would show nothing that it doesn't show in other builds.
    static var positiveControl: Self {
        .disabled(if: AllocatedMemory.isSanitized, "The check is the same under a sanitizer")
    }
}
