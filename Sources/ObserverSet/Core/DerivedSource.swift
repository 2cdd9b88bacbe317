/// A source that a layer makes from its own sets: it registers observers with those sets, and hides everything else
/// about them.
///
/// It is `package`, not internal, because layers (folders beside `Core`, see `Registry`) make such sources.
package struct DerivedSource<Parameters: Sendable>: NotificationSource, CustomDebugStringConvertible {
    private let pass: @Sendable (Observer<Parameters>) -> ObserverToken
    private let settle: @Sendable () async -> Void
    private let describe: @Sendable () -> String

    package init(
        register: @escaping @Sendable (Observer<Parameters>) -> ObserverToken,
        settled: @escaping @Sendable () async -> Void, description: @escaping @Sendable () -> String
    ) {
        pass = register
        settle = settled
        describe = description
    }

    package func register(_ observer: Observer<Parameters>) -> ObserverToken { pass(observer) }
    package func settled() async { await settle() }
    package var debugDescription: String { describe() }
}
