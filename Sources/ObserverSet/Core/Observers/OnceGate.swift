import Synchronization

/// Lets only one call of an observer through: the first one, on whatever thread and from whatever source it comes.
///
/// The gate issues the token that the user gets, and keeps the registration's own token. Therefore the gate alone
/// decides whether a call or `remove()` comes first.
///
/// A call takes two steps. It passes the gate, which ends the registration, and then it begins. In between, the set's
/// producer may be told that nobody observes the set any longer, and what the producer runs may remove the observer.
/// So the call and a removal compete for the second step, and only the one that comes first takes effect.
///
/// If `once` is applied to a source that is itself made by `once`, a call must pass several gates (see
/// `Registration.passGates`).
@usableFromInline
final class OnceGate: TokenIssuer, @unchecked Sendable {
    private static var passed: UInt8 { 1 }
    private static var armed: UInt8 { 2 }
    private static var decided: UInt8 { 4 }

    /// Three bits: whether the gate has been passed, whether it is armed, that is, whether it has its token, and
    /// whether it is decided that a call or a removal came first.
    ///
    /// A call may pass the gate on one thread while `add` arms it on another. Each sets its bit with a
    /// read-modify-write of this one word. So the later of the two sees the other's bit, and ends the registration.
    /// These operations acquire and release, so that whoever sees the `armed` bit also sees the token.
    private let state = Atomic<UInt8>(0)
    /// The registration's own token; written once, before the `armed` bit is set, and read only by code that has seen
    /// that bit.
    // This makes a cycle: the token holds the registry, which holds the registration, which holds the gate. The cycle
    // lasts until the registration has ended or the set has been deallocated.
    private nonisolated(unsafe) var storedToken: ObserverToken?

    @usableFromInline
    override init() {}

    /// Whether the gate has been passed, by the observer's call or by `remove()`.
    var isPassed: Bool { state.load(ordering: .acquiring) & Self.passed != 0 }

    private var token: ObserverToken? { state.load(ordering: .acquiring) & Self.armed != 0 ? unsafe storedToken : nil }

    /// Passes the gate; returns true for exactly one caller, which must then call `endRegistrationAndBeginCall()`.
    func pass() -> Bool { set(Self.passed) & Self.passed == 0 }

    /// Ends the registration if the gate is armed, and otherwise leaves that to `arm`; then begins the call, and
    /// returns false if a removal came first.
    func endRegistrationAndBeginCall() -> Bool {
        token?.remove()
        return set(Self.decided) & Self.decided == 0
    }

    /// Sets bits, and returns the bits that were set before.
    private func set(_ bits: UInt8) -> UInt8 { state.bitwiseOr(bits, ordering: .acquiringAndReleasing).oldValue }

    /// Stores the registration's own token, and returns the token for the user.
    ///
    /// If the gate has been passed already, this ends the registration.
    @usableFromInline
    func arm(exchanging token: ObserverToken) -> ObserverToken {
        unsafe storedToken = token
        if set(Self.armed) & Self.passed != 0 { token.remove() }
        return ObserverToken(issuer: self, id: token.id)
    }

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        guard let token else { return false }
        // The removal passes the gate, too, so that no call can. But if the set has been deallocated, there is no call
        // to prevent, and this returns false. The removal below drops the values that the set left pending.
        let isMine = mayBeCalled(id) && set(Self.passed | Self.decided) & Self.decided == 0
        // The registration is ended in any case. When this method returns, later notifications must not find the
        // observer, and a caller that waits must learn of a call in progress. Whether this or another caller ends the
        // registration doesn't matter, because the gate has decided who gets `true`.
        _ = token.issuer.remove(token.id, removal)
        return isMine
    }

    override var standsForRegistrations: Bool { true }

    override func mayBeCalled(_ id: UInt64) -> Bool {
        guard state.load(ordering: .acquiring) & Self.decided == 0, let token else { return false }
        return isPassed || token.issuer.mayBeCalled(token.id)
    }

    // Until a call has begun, a removal can prevent it.
    override func isSpent(_ id: UInt64) -> Bool {
        state.load(ordering: .acquiring) & (Self.passed | Self.decided) != Self.passed && super.isSpent(id)
    }

    // The gate is asked even when it has been passed, because a set's `remove(_:)` may come before the call has begun.
    override func tokensStandForOneRegistration(madeBy issuer: TokenIssuer) -> Bool {
        token?.issuer.tokensStandForOneRegistration(madeBy: issuer) == true
    }

    override var parts: [ObserverToken] { isPassed ? [] : [token].compactMap(\.self) }
}
