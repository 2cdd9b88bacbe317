extension NotificationSource {
    /// Returns a source that sends the values of this source and of others.
    ///
    /// Use it for observers that handle the values of several sources in the same way. The sources, which are the
    /// members of the new source, must have the same parameters. If they don't, convert them with
    /// ``NotificationSource/map(_:)``. If the observers don't need the values, use an ``ObserverGroup``, whose members
    /// may have different parameters.
    ///
    /// ```swift
    /// let named = document.titleChanged.merge(with: playlist.itemAdded.map { $0.name })
    /// named.add(view) { view, name in view.show(name) }
    /// ```
    ///
    /// An observer is registered with each member, with this source first, and has one token for all of these
    /// registrations. When its owner is deallocated, all registrations end. An observer that you add to
    /// ``NotificationSource/once`` is called once, by the member that is first notified. Notifications from one thread
    /// or one actor reach an observer on another actor or queue in the order they were sent (guarantee 7). If a source
    /// is a member twice, it calls the observers twice.
    ///
    /// The result is a value that keeps its members alive. You don't have to keep it, because the registrations don't
    /// depend on it. A stream of its `values()` finishes when every member has ended its registration.
    ///
    /// - Parameter others: The other sources, in the order in which observers are registered with them.
    /// - Returns: A source without state of its own.
    /// - Complexity: O(*n*) in the number of members. Adding an observer takes the sum of what it takes with each
    ///   member.
    @inlinable
    public func merge(with others: any NotificationSource<Parameters>...) -> some NotificationSource<Parameters> {
        merge(with: others)
    }

    /// Returns a source that sends the values of this source and of the sources in an array.
    ///
    /// ```swift
    /// let documents = [Document(), Document()]
    /// let renamed = document.titleChanged.merge(with: documents.map { $0.titleChanged })
    /// ```
    ///
    /// Everything that ``NotificationSource/merge(with:)-7zshx`` says holds here, too.
    ///
    /// - Parameter others: The other sources, in the order in which observers are registered with them.
    /// - Returns: A source without state of its own.
    /// - Complexity: O(*n*) in the number of members. Adding an observer takes the sum of what it takes with each
    ///   member.
    @inlinable
    public func merge(with others: [any NotificationSource<Parameters>]) -> some NotificationSource<Parameters> {
        MergedSource(members: ((self as Any) as? MergedSource<Parameters>).map { $0.members + others } ?? [self as any NotificationSource<Parameters>] + others)
    }
}

/// A source that registers every observer with each of its members.
///
/// It is inlinable for the reason that `NotificationSource+Map.swift` gives.
@frozen @usableFromInline
struct MergedSource<Parameters: Sendable>: NotificationSource, CustomDebugStringConvertible {
    @usableFromInline let members: [any NotificationSource<Parameters>]

    @inlinable
    init(members: [any NotificationSource<Parameters>]) { self.members = members }

    @inlinable
    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        ObserverToken(members.map { $0.register(observer) })
    }
    @usableFromInline
    func settled() async { for member in members { await member.settled() } }
    @usableFromInline
    var debugDescription: String { members.map { String(reflecting: $0) }.joined(separator: "\n") }
}
