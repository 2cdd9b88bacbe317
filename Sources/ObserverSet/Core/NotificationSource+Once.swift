extension NotificationSource {
    /// A source of these notifications whose observers are called at most once, and then removed.
    ///
    /// ```swift
    /// _ = connection.opened.once.add { print("connected") }
    /// document.titleChanged.once.add(self) { window, title in window.show(title) }
    /// _ = document.titleChanged.once.addAsync { title in await history.append(title) }
    /// ```
    ///
    /// Every form of `add` may follow. The observer runs where it would run otherwise. Either it is called or a call of
    /// its token's `remove()` returns true, never both, however many threads notify.
    ///
    /// It is removed just before its call, for which the set's lock is taken for a moment. What other removed observers
    /// captured may be released then. So inside the call it is no longer counted, and its token is inactive. (There are
    /// two exceptions: the notification came before `add` had returned, or another thread is removing it at that moment.)
    /// An observer that awaits is removed when its call begins. That call is not cancelled, and `settled()` waits for it.
    ///
    /// An observer of a group, or of merged sources, is called once in all: `ObserverGroup(opened, failed).once`. If `map`,
    /// `compactMap` or `filter` follows, or precedes, the observer waits for the first value that is not skipped.
    ///
    /// - Complexity: O(1).
    @inlinable
    public var once: some NotificationSource<Parameters> {
        AdaptedSource(base: self) { observer, base in
            let gate = OnceGate()
            return gate.arm(with: base.register(observer.gated(by: gate)))
        }
    }
}
