extension NotificationSource {
    /// A source whose observers first receive a value, and then these notifications: the current state, then each
    /// change.
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
    /// Each observer that you add to this source receives the value, and then what the source sends, in order, wherever
    /// the observer runs. Other observers of the set receive nothing. If the observer belongs to the caller's actor, or
    /// to no actor, it is called with the value before `add` returns. Otherwise, the value is enqueued. Every form of
    /// `add` may follow, and so may `values()`, `map`, `filter`, and `once`, whose observer is called with this value.
    ///
    /// Two kinds of values may come before this one: those that another thread sends while the observer is being added,
    /// and those that the source itself sends because an observer is added, such as the value of another
    /// `starting(with:)` before this one.
    ///
    /// While the value is pending, whatever ends the observer's registration drops it, except the end of the source
    /// itself: what a set leaves when it is deallocated is still delivered. If this source merges several sources, that
    /// is the registration with the first of them.
    ///
    /// No change is missed or delivered twice if you call `starting(with:)` and `add` **together where the state is
    /// changed and notified**: in one step on the model's actor, or under the model's own lock. If you keep the source
    /// and add an observer later, its value may be out of date by then. So `await model.levels.add(view) { … }` may
    /// lose changes if you call it from another actor than the model's. Let the model's actor add the observer instead,
    /// or a function with a parameter `model: isolated Model`. Under a lock, prefer observers on actors, `addAsync` and
    /// `values()`, because an observer that is called in place would run under that lock.
    ///
    /// - Parameter value: The value that each observer receives first.
    /// - Returns: A source that holds this one and the value.
    /// - Complexity: O(1).
    public func starting(with value: Parameters) -> some NotificationSource<Parameters> {
        AdaptedSource(base: self) { observer, base in
            let observer = observer.unclaimedOrAnother()
            // The observer is registered before it receives the value. So it also receives what its own call with the
            // value notifies.
            let token = base.register(observer)
            // The source has claimed the observer's registration, or one that shares its state, so whatever ends that
            // registration also drops the value. If the source has registered nothing, the claim here succeeds. Then
            // the registration still receives the value, and the returned token must end the registration.
            let registration = observer.registration
            _ = registration?.claim()
            let mailbox = registration?.innermost.mailbox
            // The notifier claims to be on the observer's actor, so that the runtime is asked, whatever the compiler
            // knows.
            var notifier = Notifier(on: mailbox?.actorAddress ?? 0)
            // A value that the source itself has sent may have ended the registration. But a token that has never stood
            // for one isn't active either, and then the value is sent.
            if token.isActive || !token.issuer.standsForRegistrations { observer.send(value, by: &notifier) }
            // The token doesn't stand for the registration if the source has registered nothing, or if a `map`, or a
            // producer that was told of the registration, has released the set before the value was enqueued.
            guard let registration, mailbox != nil, !token.standsFor(registration) else { return token }
            return ObserverToken([token, ObserverToken(issuer: UnregisteredIssuer(registration), id: 0)])
        }
    }
}
