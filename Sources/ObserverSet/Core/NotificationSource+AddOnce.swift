import Synchronization

extension NotificationSource {
    /// Adds an observer that is called at most once, whatever the threads do, and then removed.
    ///
    /// Where it is called, and what it may do, is the same as with ``add(_:isolation:fileID:line:)``. It is removed as it is
    /// called: inside the call it is no longer counted, and its token is inactive, unless another thread's notification
    /// came before `addOnce` had returned. Either it is called or a call of `remove()` returns true, never both. (Its one call takes the set's lock for a moment, to remove it.)
    ///
    /// ```swift
    /// connection.opened.addOnce { print("connected") }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: What to call.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce(
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { once in
            Observer(
                { if once.fire() { call($0) } }, at: .of(observer.isolation, addedOn: isolation),
                site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds an observer that is called at most once, if its owner lives to see it.
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and the form of `add` with an owner.
    ///
    /// - Parameters:
    ///   - owner: Whom the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { once in
            Observer(
                owner, { if once.fire() { call($0, $1) } },
                at: .of(observer.isolation, addedOn: isolation, owner: owner), site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds an observer that is isolated to the actor that owns it, and is called at most once.
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and the form of `add` with an actor.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs; held weakly.
    ///   - observer: What to call with the actor.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: Actor>(
        _ owner: Owner,
        _ observer: @escaping @Sendable (isolated Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { once in
            Observer(
                owner, { if once.fire() { call($0, $1) } }, at: .of(owner, owner: owner),
                site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds a method of an owner as an observer that is called at most once, if its owner lives to see it.
    ///
    /// ```swift
    /// document.titleChanged.addOnce(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and `add(method:of:)`.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: Whose method it is; held weakly.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (Parameters) -> Void,
        of owner: Owner,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerOnce { once in
            Observer(
                owner, { if once.fire() { Isolation.removed(from: method($0))($1) } },
                at: .of(method(owner).isolation, owner: owner), site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds a method without parameters, or with several, of an owner as an observer of `Void` or of an unlabelled
    /// tuple, which is called at most once.
    ///
    /// Otherwise the same as the form for one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: Whose method it is; held weakly.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    public func addOnce<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (repeat each P) -> Void,
        of owner: Owner,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        registerOnce { once in
            Observer(
                owner, { if once.fire() { Isolation.removed(fromMethod: method($0))(repeat each $1) } },
                at: .of(method(owner).isolation, owner: owner), site: Site(fileID: fileID, line: line))
        }
    }

    /// Registers an observer whose every call asks `Once` for leave.
    func registerOnce(_ observer: (Once) -> Observer<Parameters>) -> ObserverToken {
        let once = Once()
        return once.arm(with: register(observer(once)))
    }
}

/// Lets one of all calls through, and ends the registration with it.
///
/// It stands between the token that is handed out and the registration's own, so that one state decides between a call
/// and `remove()`; and so that a value that was enqueued is delivered even if the set has died meanwhile.
final class Once: TokenIssuer, @unchecked Sendable {
    private enum State: Sendable {
        /// `register` has not returned yet.
        case registering
        case armed(ObserverToken)
        /// Called, or removed.
        case over
    }

    // The token keeps the registry, which keeps the observer, which keeps this: until it is over, or the set dies.
    private let state = Lock(State.registering)

    /// Stores the registration's token, and returns the one to hand out; ends the registration if it has been called
    /// already.
    func arm(with token: ObserverToken) -> ObserverToken {
        let isArmed = state.withLock { state in
            guard case .registering = state else { return false }
            state = .armed(token)
            return true
        }
        if !isArmed { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    /// Returns true for the one caller that is to make the call.
    func fire() -> Bool {
        switch finish() {
        case .registering:
            return true
        case .armed(let token):
            token.remove()
            return true
        case .over:
            return false
        }
    }

    override func remove(_ id: UInt64) -> Bool {
        guard case .armed(let token) = finish() else { return false }
        return token.remove()
    }

    override func isActive(_ id: UInt64) -> Bool {
        armedToken?.isActive ?? false
    }

    override func describe(_ id: UInt64) -> String? {
        armedToken.flatMap { token in token.issuer.describe(token.id) }
    }

    override func isOrStands(for issuer: TokenIssuer) -> Bool {
        self === issuer || armedToken?.issuer.isOrStands(for: issuer) ?? false
    }

    private var armedToken: ObserverToken? {
        state.withLock { state in
            if case .armed(let token) = state { token } else { nil }
        }
    }

    private func finish() -> State {
        state.withLock { state in
            let before = state
            state = .over
            return before
        }
    }
}
