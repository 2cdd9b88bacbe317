// These are the forms of `add` and `addNonisolated` with an owner for sources of `Void`, whose closures need not name a
// parameter that is always `()`. The forms for queues and `addAsync` are beside their general ones.

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and that runs on its
    /// closure's actor.
    ///
    /// ```swift
    /// playlist.cleared.add(self) { view in view.clear() }
    /// ```
    ///
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner, @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return register(
            owner, Isolation.ownerErased { (owner: Owner, _: Void) in call(owner) },
            in: .of(observer.isolation, elseOn: isolation), Site(fileID: fileID, line: line))
    }

    /// Adds an observer of `Void` that is isolated to the actor that owns it, which is all it is passed.
    ///
    /// ```swift
    /// playlist.cleared.add(history) { history in history.names = [] }
    /// ```
    ///
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs, which is held weakly.
    ///   - observer: The function to call with the actor.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: Actor>(
        _ owner: Owner, _ observer: @escaping @Sendable (isolated Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        add(owner, { (owner: isolated Owner, _: Void) in observer(owner) }, fileID: fileID, line: line)
    }

    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and runs on the notifying
    /// thread.
    ///
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner, on any thread, and perhaps on several at once.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
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
