#if NotificationCenter
public import Foundation

/// An event that is posted as a notification, so that code that knows only names and `userInfo` can post and receive it.
///
/// A structure needs no code: the notification's name is that of the type, with its module, and `userInfo` holds the
/// event itself.
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
/// To exchange events with code that is not typed, declare the name, what `userInfo` contains, and how to read what such
/// code posts. Observers by type receive what you post as it is: `post` adds the event to `userInfo`.
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
/// The idea, typed notifications that old observers still receive, is that of the article "Harder, Better, Faster,
/// Stronger Notification".
public protocol BridgedEvent: Event {
    /// The name under which events of this type are posted.
    ///
    /// By default the type's name, with its module and the types that it is nested in. The automatic name of a type
    /// that is private, or local to a function, would change from one run of the program to the next. So such a type
    /// must declare a name. If it does not, the program stops with a message that says so when the name is first used.
    static var notificationName: Notification.Name { get }

    /// The values that are posted with the name.
    ///
    /// By default the event itself, under the key `"event"`. If there is nothing under that key, `post` adds the event.
    var userInfo: [AnyHashable: Any]? { get }

    /// Makes the event from a notification with its name, or returns nil if that has another form.
    ///
    /// By default the event in `userInfo` under the key `"event"`. Called on the posting thread, once for each observer,
    /// if such an event is not there.
    init?(_ notification: Notification)
}

extension BridgedEvent {
    /// The type's name, with its module and the types that it is nested in.
    public static var notificationName: Notification.Name {
        automaticNames.withLock { names in
            let key = ObjectIdentifier(Self.self)
            if let name = names[key] { return name }
            let name = String(reflecting: Self.self)
            // For a private or local type, the name has an address in the place of the enclosing context.
            guard !name.contains("(unknown context at ") else {
                fatalError(
                    "\(Self.self) is private or local, and has no stable name: "
                        + "declare `static var notificationName: Notification.Name` in it")
            }
            names[key] = Notification.Name(name)
            return Notification.Name(name)
        }
    }

    /// The event itself, under the key `"event"`.
    public var userInfo: [AnyHashable: Any]? { ["event": self] }

    /// Takes the event in `userInfo` under the key `"event"`; nil if there is none of this type.
    public init?(_ notification: Notification) {
        guard let event = Self.carried(by: notification) else { return nil }
        self = event
    }

    /// The event that is in `userInfo` itself, if one of this type is.
    static func carried(by notification: Notification) -> Self? {
        notification.userInfo?["event"] as? Self
    }
}

/// The names of types that do not declare one, which were made before: making the name of a type takes long.
private let automaticNames = Lock([ObjectIdentifier: Notification.Name]())
#endif
