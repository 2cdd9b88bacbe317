/// Several sources, observed as one.
///
/// For observers that need to know that something has happened, and not what. The members may have parameters of any
/// types, and an observer of the group receives none of them. To receive the values of several sources with the same
/// parameters, use ``NotificationSource/merge(with:)-7zshx``.
///
/// ```swift
/// let changed = ObserverGroup(playlist.itemAdded, playlist.cleared)
/// changed.add(view) { view in view.reload() }
/// ```
///
/// An observer is registered with each member, and has one token for all: `remove()` ends every registration, and
/// `isActive` is true while any is active. The whole `add` family can be used, as on a set. An owner's death ends all
/// registrations. An observer of ``NotificationSource/once`` is called once, whichever member is first. Notifications from
/// one thread reach an observer on another actor or queue in the order they were sent (guarantee 7).
///
/// A member may be a group. A source that is named twice, directly or in another group, is observed twice, and calls
/// its observers twice. A group without members never calls an observer, and its tokens are inactive.
///
/// The group is a value that holds its members. Registrations do not depend on it. A stream of its `values()` finishes
/// when all members have ended it.
///
/// The idea, a group of notifications with one observer, is that of the article "NSNotificationCenter, Swift and blocks".
public struct ObserverGroup: NotificationSource {
    private let members: [any NotificationSource]

    /// Makes a group of sources with any parameters.
    ///
    /// - Parameter members: The sources, in the order in which observers are to be registered with them.
    public init<each Member: NotificationSource>(_ members: repeat each Member) {
        var list: [any NotificationSource] = []
        repeat list.append(each members)
        self.members = list
    }

    /// Makes a group of the sources in an array.
    ///
    /// - Parameter members: The sources, in the order in which observers are to be registered with them.
    public init(_ members: [any NotificationSource]) { self.members = members }

    /// Registers an observer with each member.
    ///
    /// Use the `add` family, which makes the observer from a closure or a method.
    ///
    /// - Complexity: The sum of what it costs with each member.
    @discardableResult
    public func register(_ observer: Observer<Void>) -> ObserverToken {
        ObserverToken(members.map { $0.registerWithoutParameters(observer) })
    }

    /// Waits until every value that any member had enqueued before the call has been delivered or dropped.
    ///
    /// See ``NotificationSource/settled()``. It waits for the members' own observers as well, one member after the other.
    public func settled() async { for member in members { await member.settled() } }
}

extension ObserverGroup: CustomDebugStringConvertible {
    /// The descriptions of its members, with a line for each of their observers.
    public var debugDescription: String { members.map { String(reflecting: $0) }.joined(separator: "\n") }
}

extension NotificationSource {
    fileprivate func registerWithoutParameters(_ observer: Observer<Void>) -> ObserverToken {
        register(observer.adapted { _ in () })
    }
}
