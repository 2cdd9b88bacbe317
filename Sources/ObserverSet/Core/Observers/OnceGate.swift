/// Lets one call of an observer through: the first, on whatever thread and from whatever source it comes.
///
/// It issues the token that is handed out, and holds the registration's own. So it alone decides between a call and
/// `remove()`.
final class OnceGate: TokenIssuer, @unchecked Sendable {
    private struct State: Sendable {
        /// The registration's own; nil until `register` has returned it.
        var token: ObserverToken?
        var isPassed = false

        /// True for the one caller who passes the gate.
        mutating func pass() -> Bool {
            defer { isPassed = true }
            return !isPassed
        }
    }

    // A cycle: the token holds the registry, which holds the observer, which holds this. It lasts until the registration has
    // ended, or the set is released.
    private let state = Lock(State())

    /// Whether the observer has been called, or is being removed.
    var isPassed: Bool { state.withLock { $0.isPassed } }

    /// Ends the registration for a call; true for the one caller who may make it.
    ///
    /// Also after the set's release, when `remove()` returns false: what is enqueued then is delivered, once.
    func pass() -> Bool {
        let (isMine, token) = state.withLock { state in (state.pass(), state.token) }
        if isMine { token?.remove() }
        return isMine
    }

    /// Stores the registration's token, and returns the one to hand out; ends the registration if the call came before.
    func begin(_ token: ObserverToken) -> ObserverToken {
        let isPassed = state.withLock { state in
            state.token = token
            return state.isPassed
        }
        if isPassed { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        guard let token = state.withLock({ $0.token }) else { return false }
        // Not if the set has been released: the values that it enqueued are still delivered.
        let isMine = token.isActive && state.withLock { $0.pass() }
        // In any case: when this returns, later notifications must not find the observer, and a call may be going on. Whether
        // this caller or another one ends the registration does not matter: the gate has decided.
        _ = token.issuer.remove(token.id, removal)
        return isMine
    }

    override var parts: [ObserverToken] { state.withLock { $0.isPassed ? [] : [$0.token].compactMap(\.self) } }
}

extension [OnceGate] {
    /// Whether a call passes them all.
    func pass() -> Bool { allSatisfy { $0.pass() } }
}

/// An observer that is called once, on the notifying thread.
final class OnceEntry<Parameters>: Entry<Parameters>, @unchecked Sendable {
    private let gates: [OnceGate]
    private let entry: Entry<Parameters>?
    private let function: ((Parameters) -> Void)?

    /// An observer that is either a function or an entry.
    init(_ gates: [OnceGate], _ function: ((Parameters) -> Void)?, _ entry: Entry<Parameters>? = nil) {
        self.gates = gates
        self.entry = entry
        self.function = function
    }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        guard gates.pass() else { return true }
        function?(parameters)
        return entry?.deliver(parameters, by: &context) ?? true
    }

    /// For one more registration the entry itself has the gates, which it passes where it makes its call.
    override func forRegistration(_ more: [OnceGate]) -> Entry<Parameters> {
        entry?.forRegistration(gates + more) ?? OnceEntry(gates + more, function)
    }

    override var base: AnyEntry? { entry }
}
