extension NotificationSource {
    /// A source whose observers first receive a value, and then these notifications: the current state, then each change.
    ///
    /// ```swift
    /// @MainActor final class Counter {
    ///     private(set) var count = 0
    ///     let changed = ObserverSet<Int>()
    ///
    ///     func observe(_ view: View) { changed.starting(with: count).add(view) { view, count in view.show(count) } }
    /// }
    /// ```
    ///
    /// Each observer that is added here receives the value, and then what the source sends, in order, wherever it runs; what
    /// another thread sends while the observer is being added may come before the value. Other observers receive nothing.
    /// What the source itself sends because an observer is added, such as the value of another `starting(with:)` in front of
    /// this one, comes before. Every form of `add` may follow, and so may `values()`, `once` (which is called with this
    /// value), `map` and `filter`. If the observer belongs to the caller's actor, or to none, it is called before `add`
    /// returns; otherwise the value is posted.
    ///
    /// There is neither a gap nor a double if `starting(with:)` and `add` are called **together where the state is changed and
    /// notified**: in one step on the model's actor, or under the model's own lock. A source that is kept sends a value that may
    /// be out of date by then. `await model.levels.add(view) { … }`, from another actor than the model's, may lose changes: let
    /// the model's actor add the observer, or a function with a parameter `model: isolated Model`. Under a lock prefer
    /// observers on actors, `addAsync` and `values()`: one that is called in place runs under that lock.
    ///
    /// - Parameter value: What each observer receives first.
    /// - Returns: A source that holds this one and the value.
    /// - Complexity: O(1).
    public func starting(with value: Parameters) -> some NotificationSource<Parameters> {
        DerivedSource(of: self) { source, observer in
            // The registration claims this entry, so that what ends it drops the value, too.
            let observer = observer.forRegistration()
            // First, so that the observer receives what its call with the value notifies.
            let token = source.register(observer)
            // Behind `once` or nowhere, the source has registered another entry or none: then the token ends this one.
            let isApart = observer.entry?.claim() ?? false
            let mailbox = observer.entry?.mailbox
            // The runtime is asked whether the caller is on the observer's actor, whatever the compiler knows.
            var context = NotifyContext(claiming: mailbox?.identity ?? 0)
            _ = observer.deliver(value, by: &context)
            return mailbox != nil && isApart ? ObserverToken(token, first: observer.entry?.posted) : token
        }
    }
}
