// These sources send another source's values in another form, or only some of them. They have no state, and only adapt
// the observers that they pass on to that source. Operators that take time or keep state belong to asynchronous
// sequences.
//
// The code is `@inlinable`, because a client that knows the types then makes such a source and adds an observer to it
// in a third of the time: the runtime need not look up generic types for each registration.

extension NotificationSource {
    /// A source that transforms the value of each notification.
    ///
    /// Use it in a class that publishes only a part of what its set sends, for the members of a merged source, and for
    /// observers that take another type. In Swift 6 mode, the transform may be a key path, such as `\.title`. In code
    /// on the main actor by default, and in language mode 5, write a closure, because a key path to a property of the
    /// main actor isn't `Sendable`, and a function's name may lose its isolation without a warning.
    ///
    /// ```swift
    /// final class Editor: Sendable {
    ///     private let observers = ObserverSet<(title: String, length: Int)>()
    ///     var titleChanged: some NotificationSource<String> { observers.map { $0.title } }
    /// }
    /// ```
    ///
    /// The transform is called on the notifying thread, once for each observer that is reached. So the notifier waits
    /// for it. Several threads may call it at once. Observers are registered with this source, among its other
    /// observers. So the same rules hold for all of them: where they run, their order, their owners and their tokens.
    ///
    /// The result holds this source, and so it keeps a set alive. Registrations do not depend on the result, nor do the
    /// streams that its `values()` returns.
    ///
    /// - Parameter transform: Makes the value that observers receive.
    /// - Returns: A source without state.
    /// - Complexity: O(1). For each notification and observer, also what the transform takes.
    @inlinable
    public func map<Output: Sendable>(
        _ transform: @escaping @Sendable (Parameters) -> Output
    ) -> some NotificationSource<Output> {
        compactMap { parameters in .some(transform(parameters)) }
    }

    /// A source that transforms the value of each notification, and skips notifications for which the result is nil.
    ///
    /// ```swift
    /// document.titleChanged.compactMap { title in Int(title) }.add(view) { view, year in view.show(year) }
    /// ```
    ///
    /// For threads, order and lifetimes, see ``NotificationSource/map(_:)``. An observer that is called once waits for
    /// the first notification that is not skipped.
    ///
    /// - Parameter transform: Makes the value that observers receive, or returns nil if they should not be called.
    /// - Returns: A source without state.
    /// - Complexity: O(1). For each notification and observer, also what the transform takes.
    @inlinable
    public func compactMap<Output: Sendable>(
        _ transform: @escaping @Sendable (Parameters) -> Output?
    ) -> some NotificationSource<Output> {
        AdaptedSource(base: self) { observer, base in base.register(observer.adapted(transform)) }
    }

    /// A source that sends only the notifications that satisfy a condition.
    ///
    /// ```swift
    /// publisher.observers(of: OrderPlaced.self).filter { order in order.total > 100 }.add(view) { view, order in
    ///     view.show(order.number)
    /// }
    /// ```
    ///
    /// For threads, order and lifetimes, see ``NotificationSource/map(_:)``. An observer that is called once waits for
    /// the first notification that is not skipped.
    ///
    /// - Parameter isIncluded: Returns whether observers should be called.
    /// - Returns: A source without state.
    /// - Complexity: O(1). For each notification and observer, also what the condition takes.
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
