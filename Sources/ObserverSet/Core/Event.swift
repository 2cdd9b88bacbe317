/// Something that has happened, told by its type.
///
/// An event publisher publishes them, and a notification center posts those that are bridged.
///
/// Any type whose values may cross threads can be one; a structure with what observers want to know is the usual
/// choice. There is nothing to implement.
///
/// ```swift
/// struct OrderPlaced: Event {
///     let number: Int
///     let total: Double
/// }
///
/// struct Changed<Value: Sendable>: Event {
///     let old, new: Value
/// }
/// ```
///
/// Two types are two events, whatever they are called: local, private and nested types and each specialisation of a
/// generic one are told apart.
///
/// In a module whose code lives on the main actor by default, a type that states the conformance is nonisolated without
/// an annotation, since it may be used on any thread; a subclass of such a class has to be marked `nonisolated`.
public protocol Event: Sendable {}

extension ObserverSet {
    /// The same protocol, for those who write the module's name before it: `ObserverSet.Event`.
    ///
    /// The module and its main type share a name, so that Swift looks for `Event` in the type.
    public typealias Event = ObserverSet::Event
}
