import Synchronization

extension NotificationSource {
    /// Adds an observer that is called at most once, whatever the threads do, and then removed.
    ///
    /// Where it is called, and what it may do, is the same as with ``add(_:fileID:line:)``. It is removed as it is
    /// called: inside the call it is no longer counted, and its token is inactive. Either it is called or a call of
    /// `remove()` returns true, never both. (Its one call takes the set's lock for a moment, to remove it.)
    ///
    /// ```swift
    /// connection.opened.addOnce { print("connected") }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: What to call.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce(
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let once = Once()
        let call = Isolation.removed(from: observer)
        return once.arm(
            with: register(
                Observer(
                    isolatedTo: observer.isolation, call: { if once.fire() { call($0) } },
                    site: Site(fileID: fileID, line: line))))
    }

    /// Adds an observer that is called at most once, if its owner lives to see it.
    ///
    /// See ``addOnce(_:fileID:line:)``, and the form of `add` with an owner.
    ///
    /// - Parameters:
    ///   - owner: Whom the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let once = Once()
        let call = Isolation.removed(from: observer)
        return once.arm(
            with: register(
                Observer(
                    owner: owner, isolatedTo: observer.isolation, call: { if once.fire() { call($0, $1) } },
                    site: Site(fileID: fileID, line: line))))
    }
}

/// Lets one of all calls through, and ends the registration with it.
private final class Once: Sendable {
    private enum State: Sendable {
        /// Not called yet, and `register` has not returned yet.
        case registering
        case armed(ObserverToken)
        case fired
    }

    // The token keeps the registry, which keeps the observer, which keeps this: until it fires, is removed, or the set
    // dies.
    private let state = Lock(State.registering)

    /// Stores the token for `fire()` to use; ends the registration if another thread was faster.
    func arm(with token: ObserverToken) -> ObserverToken {
        let hasFired = state.withLock { state in
            guard case .registering = state else { return true }
            state = .armed(token)
            return false
        }
        if hasFired { token.remove() }
        return token
    }

    /// Returns true for one caller, provided that nobody has removed the registration.
    func fire() -> Bool {
        let before = state.withLock { state in
            let before = state
            state = .fired
            return before
        }
        return switch before {
        case .registering: true
        case .armed(let token): token.remove()
        case .fired: false
        }
    }
}
