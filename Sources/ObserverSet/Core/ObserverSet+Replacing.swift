extension ObserverSet {
    /// The same notifications, for observers of which each owner has one: adding another replaces the one before.
    ///
    /// For a store whose clients may subscribe again, and which does not know them:
    ///
    /// ```swift
    /// document.titleChanged.replacing.add(view) { view, title in view.setTitle(title) }
    /// document.titleChanged.replacing.add(view) { view, title in view.show(title) }  // the only one from now on
    /// document.titleChanged.token(replaceableBy: view)?.remove()
    /// ```
    ///
    /// Every form of `add` may follow. When it returns, the owner's last registration has ended as by
    /// ``ObserverToken/remove()``, and the new one comes behind all others. A notification that another thread makes
    /// meanwhile reaches the old observer, the new one, or neither; never both. If several threads replace an owner's
    /// observer at the same time, one is left. The function of ``init(whenObserved:)`` is not called in between.
    ///
    /// What waits for the old observer is not delivered, so a client that needs it reads the state when it subscribes. A
    /// call of an observer that awaits is cancelled, and may still be running when the first one of the new observer
    /// begins.
    ///
    /// Only what was added behind `replacing` to this set is replaced; the owner may have other observers. One without an owner is
    /// added as usual. A class may publish the result, and `map`, `filter` and `once` may follow. It holds the set.
    ///
    /// - Complexity: O(1). Replacing takes amortised O(1), plus at most O(log *n*) to find the old entry.
    @inlinable
    public var replacing: some NotificationSource<Parameters> { Replacing(set: self) }

    /// The token of an owner's observer that the next one behind ``replacing`` would replace; nil if it has none.
    ///
    /// ```swift
    /// let isSubscribed = document.titleChanged.token(replaceableBy: view) != nil
    /// ```
    ///
    /// May be called on any thread. In the owner's own `deinit` it is nil. If the observer is called only once, behind
    /// ``NotificationSource/once``, its call may still begin while another thread removes this token; the one that `add`
    /// returned says which came first.
    ///
    /// - Parameter owner: The object that the observer belongs to.
    /// - Returns: The token; it is active, unless another thread ends the registration.
    /// - Complexity: O(log *n*).
    public func token(replaceableBy owner: AnyObject) -> ObserverToken? { registry?.token(replaceableBy: owner) }

    @usableFromInline
    func registerReplacing(_ observer: consuming Observer<Parameters>) -> ObserverToken {
        // The caller of `add` holds the owner; a dead one is never called.
        let owner = observer.entry?.owner
        return register(observer, replacingThatOf: owner)
    }
}

/// A set that replaces the observers of owners.
///
/// Known to clients, so that `add` need not look up at run time which type `replacing` returns.
@frozen @usableFromInline
struct Replacing<Parameters: Sendable>: NotificationSource {
    @usableFromInline let set: ObserverSet<Parameters>

    @inlinable
    init(set: ObserverSet<Parameters>) {
        self.set = set
    }

    @inlinable
    func register(_ observer: Observer<Parameters>) -> ObserverToken { set.registerReplacing(observer) }

    @usableFromInline
    func settled() async { await set.settled() }
}

extension Replacing: DerivedSource {
    func remaking() -> @Sendable () -> Self? { { [weak set] in set.map { Replacing(set: $0) } } }
}
