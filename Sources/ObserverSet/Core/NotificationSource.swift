/// Something that can be observed: a set, a group, a stream of events, a source of your own.
///
/// The whole `add` family is an extension of this protocol, written once. It is also the read-only side of a set: a
/// class that wants to keep `notify` to itself publishes its set as a source.
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
}
