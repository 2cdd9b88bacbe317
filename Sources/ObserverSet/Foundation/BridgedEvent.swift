#if NotificationCenter
public import Foundation

/// An event that is posted as a Foundation notification.
///
/// Code that knows only notifications' names and `userInfo` can post and receive such an event, too. A structure needs
/// no code for the conformance: the notification's name is the type's name with its module, and `userInfo` holds the
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
/// To exchange events with code that doesn't know the type, declare the notification's name, the contents of
/// `userInfo`, and an initialiser that reads what such code posts. If you post an event yourself, observers of the type
/// still receive this very event, because `NotificationCenter.post(_:object:)` adds it to `userInfo`.
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
/// The idea of typed notifications that old observers still receive comes from the article "Harder, Better, Faster,
/// Stronger Notification".
public protocol BridgedEvent: Event {
    /// The name under which events of this type are posted.
    ///
    /// By default, this is the type's name, with its module and the types that it is nested in. If the type is private,
    /// or local to a function, declare a name, because its automatic name would change from one run of the program to
    /// the next. Otherwise the program stops when the name is first used, with the message "… is private or local, and
    /// has no stable name".
    static var notificationName: Notification.Name { get }

    /// The values that are posted together with the name.
    ///
    /// By default, this is the event itself, under the key `"event"`. If your dictionary has nothing under that key,
    /// `NotificationCenter.post(_:object:)` adds the event there.
    var userInfo: [AnyHashable: Any]? { get }

    /// Creates the event from a notification with its name, or returns nil if the notification has another form.
    ///
    /// By default, it returns the event that `userInfo` holds under the key `"event"`. The library looks for such an
    /// event first, and calls this initialiser only if there is none. It does so on the posting thread, once for each
    /// observer. A subclass should declare its own name. If it inherits one together with this initialiser, its
    /// observers receive an object that is made from the superclass's notification.
    init?(_ notification: Notification)
}

extension BridgedEvent {
    /// The type's name, with its module and the types that it is nested in.
    public static var notificationName: Notification.Name {
        automaticNames.withLock { names in
            let key = ObjectIdentifier(Self.self)
            if let name = names[key] { return name }
            let name = String(reflecting: Self.self)
            // For a private or local type, the name contains an address instead of the enclosing context's name.
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

    /// Takes the event from `userInfo`, or returns nil if there is no event of this type under the key `"event"`.
    public init?(_ notification: Notification) {
        guard let event = Self.carried(by: notification) else { return nil }
        self = event
    }

    /// The event that `userInfo` holds under the key `"event"`, if it is of this type.
    static func carried(by notification: Notification) -> Self? {
        // If `Self` is an optional type, a missing value can be cast to it, too.
        notification.userInfo?["event"].flatMap { $0 as? Self }
    }
}

/// The automatic names that have been made so far, which are kept because making one takes long.
private let automaticNames = Lock([ObjectIdentifier: Notification.Name]())
#endif
