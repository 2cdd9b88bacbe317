/// Something that can be observed: a set, a group, the events of a type, or a source that you write.
///
/// The whole `add` family is an extension of this protocol. It is also the read-only side of a set: a class that wants
/// to hide `notify` publishes its set as a source, or a source that it makes with ``map(_:)``, ``compactMap(_:)`` and
/// ``filter(_:)``.
///
/// ```swift
/// final class Document: Sendable {
///     private let titleObservers = ObserverSet<String>()
///     var titleChanged: some NotificationSource<String> { titleObservers }
/// }
/// ```
public protocol NotificationSource<Parameters>: Sendable {
    /// The type of the value that an observer receives: one value, a tuple, or `Void`.
    associatedtype Parameters: Sendable

    /// Registers an observer. Use the `add` family, which makes the observer from a closure or a method.
    ///
    /// - Returns: a token that ends the registration.
    @discardableResult
    func register(_ observer: Observer<Parameters>) -> ObserverToken

    /// Waits until every value that was enqueued before the call has been delivered or dropped.
    ///
    /// It makes tests of observers on other actors and queues deterministic, and lets a program end cleanly after the
    /// calls of observers that await have returned. Unlike ``ObserverToken/removeAndWait()``, it does not
    /// wait for a call in place on another thread.
    ///
    /// ```swift
    /// document.rename("Kind of Blue")
    /// await document.titleChanged.settled()
    /// ```
    ///
    /// A source that is made of others waits for those, one after the other, and so for all of their observers. While
    /// it waits for one, the next may be notified, and it then waits for that, too. A source that does not keep the
    /// others alive returns at once when they are gone, although their pending values are still delivered.
    ///
    /// May be called in any task. In a cancelled task it returns at once. If a teardown must wait even then, wait in a
    /// task of its own, because that one isn't cancelled: `await Task { await source.settled() }.value`. See
    /// ``ObserverSet/ObserverSet/settled()`` for calls from inside an observer.
    ///
    /// - Complexity: O(*n*) in the number of observers, besides the waiting.
    func settled() async
}

extension ObserverSet {
    /// The type `Observer`, to be written with the module's name: `ObserverSet.Observer<String>`.
    ///
    /// The module and its main type share a name, so that Swift looks for `Observer` in the type.
    public typealias Observer = _Observer
}

/// The type `Observer`, where the name `Observer` means the typealias above; see `_Event`.
public typealias _Observer = Observer

extension NotificationSource {
    /// Registers an observer that hands each value to a stream, and finishes the stream when its last registration ends.
    package func register(
        _ continuation: AsyncStream<Parameters>.Continuation, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        let dropped = DropCount()
        let token = register(Observer(StreamTarget(continuation, dropped), site: Site(fileID: fileID, line: line)))
        return ObserverToken([token, ObserverToken(issuer: dropped, id: 0)])
    }
}
