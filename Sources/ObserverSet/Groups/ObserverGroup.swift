/// Several sources, observed as one.
///
/// For whoever wants to know that something happened, and not what: the members may tell parameters of any types, and
/// an observer of the group is told none. What several sources of the same parameters tell is passed on by
/// ``NotificationSource/merge(with:)-(NotificationSource<Parameters>...)``.
///
/// ```swift
/// let changed = ObserverGroup(playlist.itemAdded, playlist.cleared)
/// changed.add(view) { view in view.reload() }
/// ```
///
/// An observer is registered with each member, and one token stands for all: `remove()` ends every registration,
/// `isActive` is true while any lives. The whole `add` family is there, and does what it does on a set. An owner's death
/// ends all of them; `addOnce` is called once, whichever member is first. An observer that runs elsewhere has one mailbox
/// for all members, so that it sees what one thread notifies in order across them (promise 7).
///
/// A member may be a group. A source that is named twice, directly or by way of another group, is observed twice, and
/// tells its observers twice. A group of none never tells anything, and its tokens are inactive.
///
/// The group is a value: it holds its members as long as it is held, and registrations do not depend on it.
///
/// The idea, a group of notifications with one observer, is that of the article "NSNotificationCenter, Swift and blocks".
public struct ObserverGroup: NotificationSource {
    private let members: [any NotificationSource]

    /// Makes a group of sources, whatever they tell.
    ///
    /// - Parameter members: The sources, in the order in which observers are to be registered with them.
    public init<each Member: NotificationSource>(_ members: repeat each Member) {
        var list: [any NotificationSource] = []
        repeat list.append(each members)
        self.members = list
    }

    /// Makes a group of as many sources as a list holds.
    ///
    /// - Parameter members: The sources, in the order in which observers are to be registered with them.
    public init(_ members: [any NotificationSource]) {
        self.members = members
    }

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
    /// See ``NotificationSource/settled()``. It waits for the members' own observers as well.
    public func settled() async {
        for member in members { await member.settled() }
    }
}

extension NotificationSource {
    /// Registers an observer that is not told the parameters.
    fileprivate func registerWithoutParameters(_ observer: Observer<Void>) -> ObserverToken {
        register(observer.adapted { (_: Parameters) in () })
    }
}
