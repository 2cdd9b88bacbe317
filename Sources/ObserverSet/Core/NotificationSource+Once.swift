extension NotificationSource {
    /// A source of the same notifications, whose observers are called at most once and then removed.
    ///
    /// ```swift
    /// _ = connection.opened.once.add { print("connected") }
    /// document.titleChanged.once.add(self) { window, title in window.show(title) }
    /// _ = document.titleChanged.once.addAsync { title in await history.append(title) }
    /// ```
    ///
    /// Every form of `add` may follow. The observer runs where it would run without `once`. Either the observer is
    /// called, or a call of its token's `remove()` returns true, but never both, however many threads notify.
    ///
    /// The observer is removed just before its call. So inside the call, it is no longer counted, and its token is
    /// inactive. There are two exceptions: the notification came before `add` had returned, or another thread is
    /// removing the observer at that moment. The removal takes the set's lock for a moment, and may release what other
    /// removed observers captured. If it was the last observer of a set with a producer, the producer is told between
    /// the removal and the call, unless another thread tells it. If the producer calls the token's `remove()`, that
    /// returns true, and the observer isn't called. An observer that awaits is removed when its call begins. That call
    /// is not cancelled, and `settled()` waits for it.
    ///
    /// If an observer observes a group or merged sources, it is called once in all: `ObserverGroup(opened,
    /// failed).once`. If `map`, `compactMap` or `filter` comes before or after `once`, the observer waits for the first
    /// value that is not skipped.
    ///
    /// - Complexity: O(1).
    @inlinable
    public var once: some NotificationSource<Parameters> {
        AdaptedSource(base: self) { observer, base in
            let gate = OnceGate()
            return gate.arm(exchanging: base.register(observer.gated(by: gate)))
        }
    }
}
