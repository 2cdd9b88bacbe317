/// A registration that its own observer may end, even before `register` has returned its token.
///
/// It issues the token that is handed out, and holds the registration's own. So its state alone decides between a call
/// that ends the registration and `remove()`.
package final class SelfEndingRegistration: TokenIssuer, @unchecked Sendable {
    private enum State: Sendable {
        /// `register` has not returned yet.
        case beginning
        case begun(ObserverToken)
        /// Somebody has called `remove()`; a call that comes before the observer is removed takes precedence.
        case removing(ObserverToken)
        /// With the registration's token, unless that is not known yet: a caller may have to wait for its call.
        case ended(ObserverToken?)
    }

    // A cycle: the token holds the registry, which holds the observer, which holds this. It lasts until this
    // registration has ended, or the set is released.
    private let state = Lock(State.beginning)

    package override init() {}

    /// Stores the registration's token, and returns the one to hand out; removes the observer if it has ended already.
    @discardableResult
    package func begin(_ token: ObserverToken) -> ObserverToken {
        let isOver = state.withLock { state in
            if case .beginning = state {
                state = .begun(token)
                return false
            }
            state = .ended(token)
            return true
        }
        if isOver { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    /// Ends it; true for the one caller who did.
    ///
    /// Also after the set's release, when `remove()` returns false: what is enqueued then is delivered, once.
    @discardableResult
    package func end() -> Bool {
        let last = state.withLock { state in
            let last = state
            switch last {
            case .beginning: state = .ended(nil)
            case .begun(let token), .removing(let token): state = .ended(token)
            case .ended: break
            }
            return last
        }
        switch last {
        case .beginning, .removing:
            return true
        case .begun(let token):
            token.remove()
            return true
        case .ended:
            return false
        }
    }

    /// Whether the source still has the observer; nil before `begin`, and after the registration has ended here.
    package var isInSource: Bool? {
        guard let token else { return nil }
        if token.isActive { return true }
        // Asked again: if it has ended here meanwhile, the source did not end it.
        return self.token.map { _ in false }
    }

    override func remove(_ id: UInt64) -> Bool { remove(by: { token in token.remove() }) }

    override func remove(_ id: UInt64, _ removal: Removal) -> Bool {
        if remove(by: { token in token.issuer.remove(token.id, removal) }) { return true }
        let ended = state.withLock { state -> ObserverToken? in
            if case .ended(let token) = state { token } else { nil }
        }
        // A call may have ended it, and be going on.
        if let ended { _ = ended.issuer.remove(ended.id, removal) }
        return false
    }

    private func remove(by removeObserver: (ObserverToken) -> Bool) -> Bool {
        let known = state.withLock { state -> ObserverToken? in
            switch state {
            // Also if somebody is at it already: when this returns, later notifications must not find the observer.
            case .begun(let token), .removing(let token):
                state = .removing(token)
                return token
            case .beginning, .ended:
                return nil
            }
        }
        // False if the set has been released. The registration then stays as it is, since the values that it enqueued are
        // still delivered.
        guard let known, removeObserver(known) else { return false }
        return state.withLock { state in
            guard case .removing(let token) = state else { return false }
            state = .ended(token)
            return true
        }
    }

    override func close(_ id: UInt64) {
        if let token { token.issuer.close(token.id) }
    }

    override func isActive(_ id: UInt64) -> Bool { token?.isActive ?? false }

    override func describe(_ id: UInt64) -> String? { token.flatMap { $0.issuer.describe($0.id) } }

    override func droppedCount(_ id: UInt64) -> Int { token?.droppedCount ?? 0 }

    override func issuesTokens(for issuer: TokenIssuer) -> Bool {
        token?.issuer.issuesTokens(for: issuer) ?? false
    }

    /// The registration's own, also while somebody removes it: until that is done, notifications find the observer.
    private var token: ObserverToken? {
        state.withLock { state in
            switch state {
            case .begun(let token), .removing(let token): token
            case .beginning, .ended: nil
            }
        }
    }
}
