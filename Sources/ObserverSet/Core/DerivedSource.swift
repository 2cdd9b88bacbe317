/// A source that is made of others: it passes observers on to them, in another form.
///
/// `package`, not internal: the layers have such sources, too.
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

    /// A source that passes observers on to one other source.
    init<Source: NotificationSource>(
        of source: Source, register: @escaping @Sendable (Source, Observer<Parameters>) -> ObserverToken
    ) {
        self.init(
            register: { register(source, $0) }, settled: { await source.settled() },
            description: { "adapted from \(String(reflecting: source))" })
    }

    package func register(_ observer: Observer<Parameters>) -> ObserverToken { pass(observer) }
    package func settled() async { await settle() }
    package var debugDescription: String { describe() }
}
