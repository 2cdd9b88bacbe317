extension NotificationSource {
    /// A source that sends the values of this one and of others.
    ///
    /// For observers that handle values of several sources in the same way. The members have the same parameters;
    /// ``NotificationSource/map(_:)`` can make them the same. If the values do not matter, use an ``ObserverGroup``,
    /// whose members may have any parameters.
    ///
    /// ```swift
    /// let named = document.titleChanged.merge(with: playlist.itemAdded.map(\.name))
    /// named.add(view) { view, name in view.show(name) }
    /// ```
    ///
    /// An observer is registered with each member, this one first, and has one token for all. As with a group, an owner's
    /// death ends all registrations, an observer of ``NotificationSource/once`` is called once, whichever member is first,
    /// and notifications from one thread reach an observer on another actor or queue in the order they were sent (guarantee
    /// 7). A source that is named twice is observed twice.
    ///
    /// The result is a value that holds its members. Registrations do not depend on it. A stream of its `values()` finishes
    /// when all members have ended it.
    ///
    /// - Parameter others: The other sources, in the order in which observers are to be registered with them.
    /// - Returns: A source without state.
    /// - Complexity: O(*n*) in the number of members; adding is the sum of what it costs with each.
    @inlinable
    public func merge(with others: any NotificationSource<Parameters>...) -> some NotificationSource<Parameters> {
        merge(with: others)
    }

    /// A source that sends the values of this one and of the sources in an array.
    ///
    /// ```swift
    /// let documents = [Document(), Document()]
    /// let renamed = document.titleChanged.merge(with: documents.map(\.titleChanged))
    /// ```
    ///
    /// See ``NotificationSource/merge(with:)-7zshx``.
    ///
    /// - Parameter others: The other sources, in the order in which observers are to be registered with them.
    /// - Returns: A source without state.
    /// - Complexity: O(*n*) in the number of members; adding is the sum of what it costs with each.
    @inlinable
    public func merge(with others: [any NotificationSource<Parameters>]) -> some NotificationSource<Parameters> {
        MergedSource(base: self, others: others)
    }
}

/// A source and others with the same parameters, each of which gets every observer.
///
/// It is inlinable for the reason that `NotificationSource+Map.swift` gives.
@frozen @usableFromInline
struct MergedSource<Base: NotificationSource>: NotificationSource, CustomDebugStringConvertible {
    @usableFromInline let base: Base
    @usableFromInline let others: [any NotificationSource<Base.Parameters>]

    @inlinable
    init(base: Base, others: [any NotificationSource<Base.Parameters>]) {
        self.base = base
        self.others = others
    }

    @inlinable
    func register(_ observer: Observer<Base.Parameters>) -> ObserverToken {
        var tokens: [ObserverToken] = []
        tokens.reserveCapacity(1 + others.count)
        tokens.append(base.register(observer))
        for other in others { tokens.append(other.register(observer)) }
        return ObserverToken(tokens)
    }
    @usableFromInline
    func settled() async {
        await base.settled()
        for other in others { await other.settled() }
    }
    @usableFromInline
    var debugDescription: String {
        ([String(reflecting: base)] + others.map { String(reflecting: $0) }).joined(separator: "\n")
    }
}
