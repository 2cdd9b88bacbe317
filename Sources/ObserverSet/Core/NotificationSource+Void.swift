// The forms with an owner, for sources of `Void`: the closure need not name a parameter that is always `()`.

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and runs where it was formed.
    ///
    /// ```swift
    /// playlist.cleared.add(self) { view in view.clear() }
    /// ```
    ///
    /// See the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner, @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return register(
            owner, { owner, _ in call(owner) }, in: .of(observer.isolation, addedOn: isolation), fileID, line)
    }

    /// Adds an observer of `Void` that is isolated to the actor that owns it, which is all it is passed.
    ///
    /// ```swift
    /// playlist.cleared.add(history) { history in history.names = [] }
    /// ```
    ///
    /// See the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs; held weakly.
    ///   - observer: What to call with the actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: Actor>(
        _ owner: Owner, _ observer: @escaping @Sendable (isolated Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        add(owner, { (owner: isolated Owner, _: Void) in observer(owner) }, fileID: fileID, line: line)
    }

    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and runs on the notifying thread.
    ///
    /// See the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner; on any thread, and on several at once.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func addNonisolated<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ observer: @escaping @Sendable (Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addNonisolated(owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
