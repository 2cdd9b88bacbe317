// Sources that send another source's values in another form, or only some of them. They only adapt the observers that
// they pass on to that source. Operators that take time or keep state belong to asynchronous sequences.
//
// They are `@inlinable`, because a client that knows the types then makes such a source and adds an observer to it in a third
// of the time: the runtime need not look up generic types for each registration.

extension NotificationSource {
    /// A source that transforms the value of each notification.
    ///
    /// For a class that publishes a part of what its set sends, for the members of a merged source, and for observers
    /// that take another type. The transform may be a key path.
    ///
    /// ```swift
    /// final class Editor: Sendable {
    ///     private let observers = ObserverSet<(title: String, length: Int)>()
    ///     var titleChanged: some NotificationSource<String> { observers.map(\.title) }
    /// }
    /// ```
    ///
    /// The transform is called on the notifying thread, once for each observer that is reached, so the notifier waits for
    /// it. It may be called on several threads at once. Observers are registered with this source, among its other
    /// observers: this source decides where they run, their order, owners and tokens.
    ///
    /// The result holds this source, and so keeps a set alive. Registrations do not depend on it, nor do streams of its
    /// `values()`.
    ///
    /// - Parameter transform: Makes the value that observers receive.
    /// - Returns: A source without state.
    /// - Complexity: O(1), and for each notification and observer what the transform takes.
    @inlinable
    public func map<Output: Sendable>(
        _ transform: @escaping @Sendable (Parameters) -> Output
    ) -> some NotificationSource<Output> {
        compactMap { parameters in .some(transform(parameters)) }
    }

    /// A source that transforms the value of each notification, and skips those for which the result is nil.
    ///
    /// ```swift
    /// document.titleChanged.compactMap { title in Int(title) }.add(view) { view, year in view.show(year) }
    /// ```
    ///
    /// For threads, order and lifetimes see ``NotificationSource/map(_:)``. An observer that is called once waits for the
    /// first notification that is not skipped.
    ///
    /// - Parameter transform: Makes the value that observers receive, or nil if they are not to be called.
    /// - Returns: A source without state.
    /// - Complexity: O(1), and for each notification and observer what the transform takes.
    @inlinable
    public func compactMap<Output: Sendable>(
        _ transform: @escaping @Sendable (Parameters) -> Output?
    ) -> some NotificationSource<Output> {
        AdaptedSource(base: self) { observer, base in base.register(observer.adapted(transform)) }
    }

    /// A source that sends only those notifications that satisfy a condition.
    ///
    /// ```swift
    /// publisher.observers(of: OrderPlaced.self).filter { order in order.total > 100 }.add(view) { view, order in
    ///     view.show(order.number)
    /// }
    /// ```
    ///
    /// For threads, order and lifetimes see ``NotificationSource/map(_:)``. An observer that is called once waits for the
    /// first notification that is not skipped.
    ///
    /// - Parameter isIncluded: Whether observers are to be called.
    /// - Returns: A source without state.
    /// - Complexity: O(1), and for each notification and observer what the condition takes.
    @inlinable
    public func filter(
        _ isIncluded: @escaping @Sendable (Parameters) -> Bool
    ) -> some NotificationSource<Parameters> {
        compactMap { parameters in isIncluded(parameters) ? parameters : nil }
    }
}

/// A source that changes the observers that are added to it, and passes them on to another source.
@frozen @usableFromInline
struct AdaptedSource<Base: NotificationSource, Parameters: Sendable>: NotificationSource, CustomDebugStringConvertible {
    @usableFromInline let base: Base
    @usableFromInline let pass: @Sendable (Observer<Parameters>, Base) -> ObserverToken

    @inlinable
    init(base: Base, pass: @escaping @Sendable (Observer<Parameters>, Base) -> ObserverToken) {
        self.base = base
        self.pass = pass
    }

    @inlinable
    func register(_ observer: Observer<Parameters>) -> ObserverToken { pass(observer, base) }
    @usableFromInline
    func settled() async { await base.settled() }
    @usableFromInline
    var debugDescription: String { "adapted from \(String(reflecting: base))" }
}
