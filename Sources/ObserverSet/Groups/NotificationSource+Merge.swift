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
        MergedSource(self, others)
    }
}

/// A source that registers every observer with each of its members.
///
/// It is inlinable for the reason that `NotificationSource+Map.swift` gives.
@frozen @usableFromInline
struct MergedSource<Parameters: Sendable>: NotificationSource, CustomDebugStringConvertible {
    // The first member isn't in the array, so that the array of the others is usually the caller's own.
    @usableFromInline let first: any NotificationSource<Parameters>
    @usableFromInline let others: [any NotificationSource<Parameters>]

    // Members that are merged sources themselves are replaced by their members. Otherwise, a source that is merged with
    // another one in a loop would be nested as deeply as the loop is long, and adding an observer to it would overflow
    // the stack.
    @inlinable
    init<First: NotificationSource<Parameters>>(_ first: First, _ others: [any NotificationSource<Parameters>]) {
        let others =
            others.contains(where: { type(of: $0) == Self.self })
            ? others.flatMap { ($0 as? Self)?.members ?? [$0] } : others
        if First.self == Self.self {
            let merged = first as! Self
            (self.first, self.others) = (merged.first, merged.others + others)
        } else {
            (self.first, self.others) = (first, others)
        }
    }

    @usableFromInline
    var members: [any NotificationSource<Parameters>] { [first] + others }

    @inlinable
    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        // This is a loop, because the standard library's `map` would use three times as much stack where sources that
        // are merged and converted in turn are nested.
        var tokens: [ObserverToken] = []
        tokens.reserveCapacity(1 + others.count)
        tokens.append(first.register(observer))
        for other in others { tokens.append(other.register(observer)) }
        return ObserverToken(tokens)
    }
    @usableFromInline
    func settled() async { for member in members { await member.settled() } }
    @usableFromInline
    var debugDescription: String { members.map { String(reflecting: $0) }.joined(separator: "\n") }
}
