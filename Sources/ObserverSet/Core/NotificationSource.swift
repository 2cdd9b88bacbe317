/// Something that can be observed: a set, a group, a stream of events, a source of your own.
///
/// The whole `add` family is an extension of this protocol, written once. It is also the read-only side of a set: a
/// class that wants to keep `notify` to itself publishes its set as a source, or what it makes of it with ``map(_:)``,
/// ``compactMap(_:)`` and ``filter(_:)``.
///
/// ```swift
/// final class Document: Sendable {
///     private let titleObservers = ObserverSet<String>()
///     var titleChanged: some NotificationSource<String> { titleObservers }
/// }
/// ```
public protocol NotificationSource<Parameters>: Sendable {
    /// What an observer is told: one value, a tuple, or `Void`.
    associatedtype Parameters: Sendable

    /// Registers an observer. Use the `add` family, which makes the observer from a closure or a method.
    ///
    /// - Returns: a token that ends the registration.
    @discardableResult
    func register(_ observer: Observer<Parameters>) -> ObserverToken

    /// Waits until every value that was enqueued before the call has been delivered or dropped.
    ///
    /// It makes tests of observers on other actors and queues deterministic, and ends a program cleanly whose observers
    /// await: their calls have returned. Synchronous observers need no waiting.
    ///
    /// ```swift
    /// document.rename("Kind of Blue")
    /// await document.titleChanged.settled()
    /// ```
    ///
    /// A source that stands on others waits for those, one after the other, and so for all observers that were added to
    /// them, whichever way. One that does not keep those whom it passes its observers to returns at once when they are
    /// gone; the values that they have enqueued are delivered all the same.
    ///
    /// May be called on any thread and in any task, a cancelled one, too. See ``ObserverSet/ObserverSet/settled()`` for
    /// calls from inside an observer.
    ///
    /// - Complexity: O(*n*) in the number of observers, besides the waiting.
    func settled() async
}
