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
        AdaptedSource(base: self) { observer, base in
            let observer = observer.unclaimed()
            // The observer is registered first, so that it receives what its call with the value notifies.
            let token = base.register(observer)
            // The source has claimed the observer's registration, or one that shares its state; what ends that one drops
            // the value, too. If the source has registered nothing, the token has to end this registration by itself.
            let registration = observer.registration
            let isInNoSet = registration?.claim() == true
            let mailbox = registration?.observer.mailbox
            // The runtime is asked whether the caller is on the observer's actor, whatever the compiler knows.
            var notifier = Notifier(claiming: mailbox?.identity ?? 0)
            observer.send(value, by: &notifier)
            guard isInNoSet, mailbox != nil else { return token }
            return ObserverToken([token, ObserverToken(issuer: FirstValueIssuer(registration), id: 0)])
        }
    }
}

/// A part of the token of an observer that no set has registered, but for which its first value may be pending.
private final class FirstValueIssuer: TokenIssuer, @unchecked Sendable {
    /// Its mailbox holds it as long as the value is pending.
    private weak let registration: Registration?

    init(_ registration: Registration?) { self.registration = registration }

    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        registration?.markRemoved()
        registration?.cancel()
        if let mailbox = registration?.observer.mailbox { removal?.mailboxes.append(mailbox) }
        return false
    }

    override func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) { body(registration, nil) }
}
