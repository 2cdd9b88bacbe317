/// Something that can be observed: a set, a group, the events of a type, or a source that you write.
///
/// The whole `add` family is an extension of this protocol. The protocol is also the read-only side of a set. If a
/// class should hide `notify`, it publishes its set as a source, or a source that it makes with ``map(_:)``,
/// ``compactMap(_:)`` and ``filter(_:)``.
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

    /// Registers an observer.
    ///
    /// Use one of the `add` methods instead. They create the observer from a closure or a method.
    ///
    /// In a source of your own, register the observer before this method returns, and return the token of that
    /// registration. If you keep the observer and register it later, the token can't end anything, and an observer of
    /// ``once`` is called, but never removed.
    ///
    /// - Returns: A token that can end the registration.
    @discardableResult
    func register(_ observer: Observer<Parameters>) -> ObserverToken

    /// Waits until every value that was enqueued before the call has been delivered or dropped.
    ///
    /// Use it to make tests of observers on other actors and queues deterministic, and to end a program only after the
    /// calls of observers that await have returned. Unlike ``ObserverToken/removeAndWait()``, it does not wait for a
    /// call in place on another thread.
    ///
    /// ```swift
    /// document.rename("Kind of Blue")
    /// await document.titleChanged.settled()
    /// ```
    ///
    /// A source that is made of others waits for all of their observers, for one source after the other. If a source is
    /// notified before its turn comes, the method waits for that value, too. If a source does not keep the others
    /// alive, it returns at once when they are gone, although their pending values are still delivered.
    ///
    /// The method never returns while something keeps a pending value from being delivered: see
    /// ``ObserverSet/ObserverSet/settled()``.
    ///
    /// You may call this method in any task. In a cancelled task it returns at once. If a teardown must wait even then,
    /// wait in a task of its own, because that one isn't cancelled: `await Task { await source.settled() }.value`. For
    /// calls from inside an observer, see ``ObserverSet/ObserverSet/settled()``.
    ///
    /// - Complexity: O(*n*), where *n* is the number of observers. The time spent waiting is not included.
    func settled() async
}

extension ObserverSet {
    /// The type `Observer`, for code that writes it with the module's name: `ObserverSet.Observer<String>`.
    ///
    /// This alias is needed because the module and its main type share a name, so Swift looks for `Observer` in the
    /// type.
    public typealias Observer = _Observer
}

/// The type `Observer`, for the alias above, inside which the name `Observer` means the alias itself; see `_Event`.
public typealias _Observer = Observer

extension NotificationSource {
    /// Registers an observer that hands each value to a stream, and finishes the stream when its last registration
    /// ends.
    package func register(
        _ continuation: AsyncStream<Parameters>.Continuation, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        let dropped = DropCount()
        let token = register(Observer(StreamTarget(continuation, dropped), site: Site(fileID: fileID, line: line)))
        return ObserverToken([token, ObserverToken(issuer: dropped, id: 0)])
    }
}
