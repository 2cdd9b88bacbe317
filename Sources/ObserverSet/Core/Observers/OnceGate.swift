import Synchronization

/// Lets one call of an observer through: the first one, on whatever thread and from whatever source it comes.
///
/// The gate issues the token that is handed out, and has the registration's own token. So it alone decides between a call and
/// `remove()`.
///
/// Where `once` is behind `once`, a call has several gates to pass: see `Registration.passGates`.
@usableFromInline
final class OnceGate: TokenIssuer, @unchecked Sendable {
    private static var passed: UInt8 { 1 }
    private static var armed: UInt8 { 2 }

    /// Whether the gate has been passed, and whether it has its token.
    ///
    /// Both bits are set by read-modify-writes of this one word. So of a caller who passes and one who stores the token, the
    /// later one sees the other's bit, and ends the registration. They acquire and release, so that whoever sees the second
    /// bit sees the token.
    private let state = Atomic<UInt8>(0)
    /// The registration's own token; written once, before the bit for it is set, and read only by who has seen that bit.
    // This makes a cycle: the token holds the registry, which holds the observer, which holds the gate. It lasts until the
    // registration has ended, or the set is released.
    private nonisolated(unsafe) var storedToken: ObserverToken?

    @usableFromInline
    override init() {}

    /// Whether the observer has been called, or is being removed.
    var isPassed: Bool { state.load(ordering: .acquiring) & Self.passed != 0 }

    private var token: ObserverToken? { state.load(ordering: .acquiring) & Self.armed != 0 ? unsafe storedToken : nil }

    /// Returns true for the one caller who passes the gate.
    func pass() -> Bool {
        state.bitwiseOr(Self.passed, ordering: .acquiringAndReleasing).oldValue & Self.passed == 0
    }

    /// Ends the registration, for a caller who has passed the gate.
    func end() { token?.remove() }

    /// Stores the registration's token, and returns the one to hand out; ends the registration if the call has come before.
    @usableFromInline
    func arm(with token: ObserverToken) -> ObserverToken {
        unsafe storedToken = token
        if state.bitwiseOr(Self.armed, ordering: .acquiringAndReleasing).oldValue & Self.passed != 0 { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        guard let token else { return false }
        // The gate is not passed if the set has been released: the values that it has enqueued are still delivered.
        let isMine = token.isActive && pass()
        // The registration ends in any case: when this returns, later notifications must not find the observer, and a call
        // may be in progress. It does not matter whether this caller or another one ends it, because the gate has decided.
        _ = token.issuer.remove(token.id, removal)
        return isMine
    }

    override var parts: [ObserverToken] { isPassed ? [] : [token].compactMap(\.self) }
}
