import Synchronization

/// Lets one call of an observer through: the first, on whatever thread and from whatever source it comes.
///
/// It issues the token that is handed out, and holds the registration's own. So it alone decides between a call and
/// `remove()`.
final class OnceGate: TokenIssuer, @unchecked Sendable {
    /// The registration's own; nil until `register` has returned it.
    // A cycle: the token holds the registry, which holds the observer, which holds this. It lasts until the registration has
    // ended, or the set is released.
    private let token = Lock<ObserverToken?>(nil)
    private let hasPassed = Atomic(false)

    /// Whether the observer has been called, or is being removed.
    var isPassed: Bool { hasPassed.load(ordering: .acquiring) }

    /// True for the one caller who passes the gate.
    fileprivate func passFirst() -> Bool { !hasPassed.exchange(true, ordering: .acquiringAndReleasing) }

    /// Ends the registration, for a caller who has passed the gate.
    fileprivate func end() { token.withLock(\.self)?.remove() }

    /// Stores the registration's token, and returns the one to hand out; ends the registration if the call came before.
    func begin(_ token: ObserverToken) -> ObserverToken {
        self.token.withLock { $0 = token }
        // A caller who has passed, and came to the lock first, found no token there. What it did before is seen from here on.
        if isPassed { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        guard let token = token.withLock(\.self) else { return false }
        // Not if the set has been released: the values that it enqueued are still delivered.
        let isMine = token.isActive && passFirst()
        // In any case: when this returns, later notifications must not find the observer, and a call may be going on. Whether
        // this caller or another one ends the registration does not matter: the gate has decided.
        _ = token.issuer.remove(token.id, removal)
        return isMine
    }

    override var parts: [ObserverToken] { isPassed ? [] : [token.withLock(\.self)].compactMap(\.self) }
}

extension [OnceGate] {
    /// Ends the registrations for a call; true for the one caller who may make it.
    ///
    /// Also after the set's release, when `remove()` returns false: what is enqueued then is delivered, once. All gates are
    /// passed before any registration ends: where `once` is behind `once`, the end of the one passes the gate of the other.
    func pass() -> Bool {
        // The last one is nearest to the set. If it has been passed, the others may still let another source's value through.
        guard reversed().allSatisfy({ $0.passFirst() }) else { return false }
        for gate in self { gate.end() }
        return true
    }
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
