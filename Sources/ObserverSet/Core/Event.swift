/// Something that has happened, which observers find by its type.
///
/// An event publisher publishes events. A notification center posts those events that are bridged to it.
///
/// Any `Sendable` type can be an event, and there is nothing to implement. The usual choice is a structure that
/// contains what observers need to know.
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
/// Two types are two events, even if they have the same name. So local, private and nested types are distinct, and so
/// is each specialisation of a generic type.
///
/// In a module whose code belongs to the main actor by default, a type that declares this conformance is nonisolated
/// without an annotation, because an event may be used on any thread. If the type is a class, you must mark its
/// subclasses `nonisolated`.
public protocol Event: Sendable {}

extension ObserverSet {
    /// The protocol `Event`, for code that writes it with the module's name: `ObserverSet.Event`.
    ///
    /// This alias is needed because the module and its main type share a name, so Swift looks for `Event` in the type.
    public typealias Event = _Event
}

/// The protocol `Event`, for the alias above, inside which the name `Event` means the alias itself.
///
/// With Swift 6.3, the alias could be written as `ObserverSet::Event`, in which `ObserverSet` is the module.
public typealias _Event = Event
