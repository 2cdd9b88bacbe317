import Foundation
import Testing

/// How much the tests do, as the environment variable `OBSERVERSET_EFFORT` says.
enum Effort: String {
    /// What one runs after each change, in seconds: the default, and what mutants and broken variants are judged by.
    case quick
    /// Twenty times as many repetitions, in minutes.
    case ci
    /// As many as it takes for what is rare, in hours.
    case long

    static let current: Effort = {
        guard let text = ProcessInfo.processInfo.environment["OBSERVERSET_EFFORT"] else { return .quick }
        guard let effort = Effort(rawValue: text) else {
            fatalError("OBSERVERSET_EFFORT is quick, ci or long, and not \(text)")
        }
        return effort
    }()
}

/// How often a test does something: so many times, a twentieth of that where the effort is quick, and `long` times where it
/// is long.
func many(_ count: Int, long: Int? = nil) -> Int {
    switch Effort.current {
    case .quick: count / 20
    case .ci: count
    case .long: long ?? count
    }
}

extension Trait where Self == TimeLimitTrait {
    /// Ends what hangs, and nothing else.
    ///
    /// A test's time includes what it waits for others, so that this is many times what a whole suite takes on a slow and busy
    /// machine, under a sanitizer.
    static var againstHanging: Self { .timeLimit(.minutes(Effort.current == .long ? 1_200 : 120)) }
}

extension Trait where Self == ConditionTrait {
    /// Leaves out what looks at the process's memory where that would show nothing.
    static var measuringMemory: Self {
        .disabled(if: AllocatedMemory.isSanitized, "A sanitizer keeps freed memory back")
    }

    /// Leaves out, under a sanitizer, what shows that a check of the tests notices mistakes: it would show nothing else there.
    static var positiveControl: Self {
        .disabled(if: AllocatedMemory.isSanitized, "The check is the same under a sanitizer")
    }
}
