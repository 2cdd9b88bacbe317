extension NotificationSource {
    /// The same notifications, for observers that first receive a value: the current one, then each change.
    ///
    /// ```swift
    /// final class Counter {
    ///     private(set) var count = 0
    ///     let changed = ObserverSet<Int>()
    ///
    ///     func observe(_ view: View) { changed.starting(with: count).add(view) { view, count in view.show(count) } }
    /// }
    /// ```
    ///
    /// Each observer that is added here receives the value, and behind it what the source sends, in one order, wherever it runs.
    /// The others receive nothing. Every form of `add` may follow, and so may `values()`, `once` (which is called with this
    /// value), `map` and `filter`. If the observer belongs to the caller's actor, or to none, it is called before `add` returns;
    /// otherwise the value is posted.
    ///
    /// There is neither a gap nor a double if `starting(with:)` and `add` are called **together where the state is changed and
    /// notified**: in one step on the model's actor, or under the model's own lock. A source that is kept sends a value that may
    /// be out of date by then. Under a lock prefer observers on actors, `addAsync` and `values()`: one that is called in place
    /// runs under that lock.
    ///
    /// - Parameter value: What each observer receives first.
    /// - Returns: A source without state of its own, which holds this one and the value.
    /// - Complexity: O(1).
    public func starting(with value: Parameters) -> some NotificationSource<Parameters> {
        DerivedSource(of: self) { source, observer in
            // First, so that the observer receives what its call with the value notifies.
            let token = source.register(observer)
            switch observer.calleeForRegistration() {
            case .function(let call):
                LockCheck.assertNoLockIsHeld()
                call(value)
                return token
            case .entry(let entry):
                // The runtime is asked whether the caller is on the observer's actor, whatever the compiler knows.
                var context = NotifyContext(claiming: entry.mailbox?.identity ?? 0)
                _ = unsafe unsafeDowncast(entry, to: Entry<Parameters>.self).deliver(value, by: &context)
                return entry.mailbox == nil ? token : ObserverToken(token, first: entry)
            }
        }
    }
}
