// expect: property cannot be declared public because its type uses an internal type
// What a library publishes needs a public import.

internal import ObserverSet

/// A type of a library.
public final class Player: Sendable {
    private let titles = ObserverSet<String>()
    /// What its clients observe.
    public var started: some NotificationSource<String> { titles }
}
