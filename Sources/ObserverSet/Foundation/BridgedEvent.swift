#if NotificationCenter
public import Foundation

/// An event that travels as a notification of Foundation's, so that code which knows only names and `userInfo` takes
/// part.
///
/// A plain structure needs no line of code. It goes by its own name, module included, and carries itself.
///
/// ```swift
/// struct ThemeChanged: BridgedEvent {
///     let isDark: Bool
/// }
///
/// center.observers(of: ThemeChanged.self).add(window) { window, event in window.isDark = event.isDark }
/// center.post(ThemeChanged(isDark: true))
/// ```
///
/// To speak with code that is not typed, say what that code says: the name, what stands in `userInfo`, and how to read
/// it.
///
/// ```swift
/// extension ThemeChanged {
///     static var notificationName: Notification.Name { Notification.Name("ThemeDidChange") }
///     var userInfo: [AnyHashable: Any]? { ["dark": isDark] }
///     init?(_ notification: Notification) {
///         guard let isDark = notification.userInfo?["dark"] as? Bool else { return nil }
///         self.init(isDark: isDark)
///     }
/// }
/// ```
///
/// The idea, typed notifications that old observers still hear, is that of the article "Harder, Better, Faster, Stronger
/// Notification".
public protocol BridgedEvent: Event {
    /// The name under which events of this type are posted.
    ///
    /// By default the type's own, its module and what it is nested in included. The automatic name of a type that is
    /// private, or local to a function, would change from one run of the program to the next: the program stops with a
    /// message that says so, at the first use of the name, and such a type must declare one.
    static var notificationName: Notification.Name { get }

    /// What is posted beside the name, for everyone to read.
    ///
    /// By default the event itself, under the key `"event"`.
    var userInfo: [AnyHashable: Any]? { get }

    /// Makes the event of a notification with its name; nil if that is of another shape.
    ///
    /// By default the event that stands in `userInfo` under the key `"event"`. Called on the posting thread, once for
    /// each observer.
    init?(_ notification: Notification)
}

extension BridgedEvent {
    /// The type's name, its module and what it is nested in included.
    public static var notificationName: Notification.Name {
        AutomaticName.of(Self.self)
    }

    /// The event itself, under the key `"event"`.
    public var userInfo: [AnyHashable: Any]? { ["event": self] }

    /// Takes the event that stands in `userInfo` under the key `"event"`; nil if there is none of this type.
    public init?(_ notification: Notification) {
        guard let event = notification.userInfo?["event"] as? Self else { return nil }
        self = event
    }
}

/// The names of types that declare none.
private enum AutomaticName {
    /// Those that have been asked for, since a type's name takes its time to be made.
    private static let known = Lock([ObjectIdentifier: Notification.Name]())

    static func of(_ type: any BridgedEvent.Type) -> Notification.Name {
        let key = ObjectIdentifier(type)
        if let name = known.withLock({ $0[key] }) { return name }
        let text = String(reflecting: type)
        // In place of what a private or local type is nested in stands an address.
        guard !text.contains("(unknown context at ") else {
            fatalError(
                "\(type) is private or local, and has no stable name: "
                    + "declare `static var notificationName: Notification.Name` in it")
        }
        let name = Notification.Name(text)
        known.withLock { $0[key] = name }
        return name
    }
}
#endif
