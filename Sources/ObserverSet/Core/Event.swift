/// Something that has happened, observed by its type.
///
/// An event publisher publishes them, and a notification center posts those that are bridged.
///
/// Any `Sendable` type can be an event. A structure with what observers need to know is the usual choice. There is
/// nothing to implement.
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
/// Two types are two events, even if they have the same name: local, private and nested types are distinct, and so is
/// each specialisation of a generic type.
///
/// In a module whose code lives on the main actor by default, a type that declares the conformance is nonisolated
/// without an annotation, since it may be used on any thread. A subclass of such a class must be marked `nonisolated`.
public protocol Event: Sendable {}

extension ObserverSet {
    /// The protocol `Event`, to be written with the module's name: `ObserverSet.Event`.
    ///
    /// The module and its main type share a name, so that Swift looks for `Event` in the type.
    public typealias Event = _Event
}

/// The protocol `Event`, where the name `Event` means the typealias above.
///
/// With Swift 6.3 that could be written `ObserverSet::Event`, in which `ObserverSet` is the module.
public typealias _Event = Event
