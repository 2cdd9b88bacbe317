/// Several sources that you observe as one.
///
/// Use it for observers that need to know that something has happened, but not what. The members may have parameters of
/// different types, because an observer of the group doesn't receive them. To receive the values of several sources
/// with the same parameters, use ``NotificationSource/merge(with:)-7zshx``.
///
/// ```swift
/// let changed = ObserverGroup(playlist.itemAdded, playlist.cleared)
/// changed.add(view) { view in view.reload() }
/// ```
///
/// A group has all the `add` methods of a set. They register the observer with each member, and return one token for
/// all of these registrations: `remove()` ends every registration, and `isActive` is true while at least one is active.
/// When the observer's owner is deallocated, all registrations end. An observer that you add to
/// ``NotificationSource/once`` is called once, by the member that is first notified. Notifications from one thread
/// or one actor reach an observer on another actor or queue in the order they were sent (guarantee 7).
///
/// A member may itself be a group. If a source is in a group twice, directly or in an inner group, it calls the group's
/// observers twice. A group without members never calls an observer, and its tokens are inactive.
///
/// A group is a value that keeps its members alive. You don't have to keep the group, because the registrations don't
/// depend on it. A stream of its `values()` finishes when every member has ended its registration.
///
/// The idea of a group of notifications with one observer comes from the article "NSNotificationCenter, Swift and
/// blocks".
public struct ObserverGroup: NotificationSource {
    private let members: [any NotificationSource]

    /// Creates a group of sources, whose parameters may be of different types.
    ///
    /// - Parameter members: The sources, in the order in which observers are registered with them.
    public init<each Member: NotificationSource>(_ members: repeat each Member) {
        var list: [any NotificationSource] = []
        repeat list.append(each members)
        self.members = list
    }

    /// Creates a group of the sources in an array.
    ///
    /// - Parameter members: The sources, in the order in which observers are registered with them.
    public init(_ members: [any NotificationSource]) { self.members = members }

    /// Registers an observer with each member.
    ///
    /// Use one of the `add` methods instead. They create the observer from a closure or a method.
    ///
    /// - Complexity: The sum of the members' complexities.
    @discardableResult
    public func register(_ observer: Observer<Void>) -> ObserverToken {
        ObserverToken(members.map { $0.registerWithoutParameters(observer) })
    }

    /// Waits until every value that a member had enqueued before this call has been delivered or dropped.
    ///
    /// This method awaits ``NotificationSource/settled()`` on one member after the other. So it also waits for
    /// observers that were added to a member directly.
    public func settled() async { for member in members { await member.settled() } }
}

extension ObserverGroup: CustomDebugStringConvertible {
    /// The debug descriptions of the members, with a line for each of their observers.
    public var debugDescription: String { members.map { String(reflecting: $0) }.joined(separator: "\n") }
}

extension NotificationSource {
    /// Registers an observer that is called for each notification, but doesn't receive its value.
    fileprivate func registerWithoutParameters(_ observer: Observer<Void>) -> ObserverToken {
        register(observer.adapted { _ in () })
    }
}
