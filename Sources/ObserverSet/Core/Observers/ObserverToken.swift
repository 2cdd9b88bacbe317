import Synchronization

/// A value that stands for a registration, so that you can end it.
///
/// If you drop a token, its registration doesn't end. A token keeps neither the set nor the owner nor the observer
/// alive. When one of them is gone, `remove()` returns `false`.
///
/// You may copy, compare, hash and use a token on any thread. Two tokens are equal if they stand for the same
/// registration. A token never stands for a different registration later.
///
/// ```swift
/// let token = playlist.itemAdded.add { item in print(item.name) }
/// token.remove()      // true
/// token.remove()      // false: it was removed already
/// ```
public struct ObserverToken: Sendable {
    let issuer: TokenIssuer
    let id: UInt64
}

extension ObserverToken {
    /// Combines several tokens into one, which ends all of their registrations.
    ///
    /// Use it in a source that registers each observer with several other sources. The new token is active as long as
    /// one of the tokens is active. Its `remove()` returns `true` if one of them was still active. A combination of no
    /// tokens is inactive.
    ///
    /// - Complexity: O(*n*), where *n* is the number of parts. If one of the tokens is itself a combination, its parts
    ///   count, and not the token. `remove()` and `isActive` take as long as those of all parts together.
    public init(_ tokens: [ObserverToken]) {
        // A combination among the tokens is replaced by its parts, so that combinations are never nested.
        let isNested = tokens.contains { $0.issuer is CombinedIssuer }
        let parts = isNested ? tokens.flatMap { $0.issuer is CombinedIssuer ? $0.issuer.parts : [$0] } : tokens
        self.init(issuer: CombinedIssuer(parts), id: 0)
    }

    /// Ends the registration.
    ///
    /// You may call this method on any thread, and from inside any observer, including the token's own. From then on, a
    /// notification in progress skips the observer, unless its call was already decided, for example by another thread
    /// (guarantee 4; the page *Guarantees* lists these calls). An observer that is removed on its own actor is never
    /// called again.
    ///
    /// Pending values are not delivered, not even those that the set left when it was deallocated. If the observer
    /// awaits, they are released at once. If it runs on an actor or a queue, each of them is released when its turn
    /// comes.
    ///
    /// - Returns: `true` for exactly one caller; `false` if the registration had already ended, because it was removed,
    ///   or because its owner or its set is gone.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration. If the observer awaits, also
    ///   O(*m*), where *m* is the number of values that are pending for all its registrations.
    @discardableResult
    public func remove() -> Bool { issuer.remove(id, nil) }

    /// A Boolean value that indicates whether the registration is active, that is, it hasn't been removed, and its set
    /// and its owner still exist.
    ///
    /// - Complexity: O(log *n*).
    public var isActive: Bool { issuer.isActive(id) }

    /// Whether `remove()` would find nothing to end, to drop or to prevent.
    package var isSpent: Bool { issuer.isSpent(id) }

    /// Whether this token stands for `registration`, or for one that shares its state, and `remove()` would end it or
    /// drop its pending values; call this only for a registration that has a state.
    func standsFor(_ registration: Registration) -> Bool {
        var isFound = false
        issuer.visit(id) { found, _ in isFound = isFound || found?.stateAddress == registration.stateAddress }
        return isFound
    }

    /// The number of values that have been dropped because there was no room for them.
    ///
    /// Values can be dropped by an observer that awaits, and by the buffer of a stream that
    /// ``NotificationSource/makeStream(buffering:fileID:line:)`` has made.
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync(buffering: .newest(100)) { word in await history.append(word) }
    /// print("\(token.droppedCount) words were dropped")
    /// ```
    ///
    /// A stream has one buffer and one count, even if it observes merged sources. You can still read that count when
    /// the stream has ended. For an observer that awaits, the count stops at 4,294,967,295, and it is 0 when the
    /// registration has ended. If the observer is registered with several sources, this is the sum of its
    /// registrations' counts. For all other observers, it is 0. Values that a removal drops are not counted. The set's
    /// descriptions show the count, too.
    ///
    /// - Complexity: O(1) for a stream. Otherwise O(log *n*) for each registration.
    public var droppedCount: Int { issuer.counts(id).dropped }

    /// The number of values that are pending for the observer, without the value of the call in progress.
    ///
    /// Use it to detect an observer that doesn't keep up:
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync { word in await history.append(word) }
    /// if token.pendingCount > 1_000 { token.remove() }
    /// ```
    ///
    /// It is 0 for an observer that is called in place, for a stream, and when the registration has ended. Only the
    /// values that a set left when it was deallocated still count, until they have been delivered or dropped. If the
    /// token stands for several registrations, it is the sum of their numbers. While other threads enqueue and deliver
    /// values, the number may be slightly out of date.
    ///
    /// - Complexity: O(log *n*) for each registration, to find it.
    public var pendingCount: Int { issuer.counts(id).pending }
}

extension ObserverToken: Hashable {
    /// Returns whether two tokens stand for the same registration.
    ///
    /// A combination of tokens equals only its own copies, and so does the token of an observer that is called once.
    public static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.issuer === right.issuer }

    /// Hashes the token's number, and the identity of the object that issued it, because each set numbers its own
    /// registrations.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(issuer))
        hasher.combine(id)
    }
}

extension ObserverToken: CustomStringConvertible {
    /// The token's number, followed by the descriptions of its active registrations, or by the word "inactive".
    public var description: String { "ObserverToken(#\(id), \(issuer.describe(id) ?? "inactive"))" }
}

/// Issues tokens, and does the work of a token's methods.
///
/// Its subclasses are `Registry`, `CombinedIssuer` for a token that combines several, and `OnceGate` for a registration
/// that may end before it has been made. `UnregisteredIssuer` stands for a registration that is in no set, and
/// `DropCount` belongs to a token besides its registrations.
///
/// It has no type parameter, so that tokens don't depend on the type of the parameters. It is `package`, not internal,
/// because `Registry` inherits from it.
@usableFromInline
package class TokenIssuer: @unchecked Sendable {
    init() {}

    /// Ends a registration; returns true for the one caller who has ended it.
    ///
    /// If `removal` isn't nil, this records in it what the caller must then wait for, even if the registration had
    /// ended before.
    func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool { false }

    /// The tokens that a token of this issuer stands for; empty for a registry, and for a gate that has been passed.
    var parts: [ObserverToken] { [] }

    /// Calls `body` for each registration that a token stands for, those of `parts` included, unless `remove()` would
    /// find nothing to end or to drop there.
    ///
    /// `body` receives the registration, which is nil for a plain function, and the data for its description, which are
    /// nil if no set has it. The registration must not escape from `body`, because nothing may hold it when
    /// `removeAndWait()` returns.
    final func visit(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {
        visitOwn(id, body)
        for token in parts { token.issuer.visit(token.id, body) }
    }

    /// The same for the issuer's own registrations, without those of `parts`.
    func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {}

    /// The number of values that are pending, and the number that were dropped, for all registrations that a token
    /// stands for.
    func counts(_ id: UInt64) -> (pending: Int, dropped: Int) {
        var sum: (pending: Int, dropped: Int) = (0, 0)
        func add(_ more: (pending: Int, dropped: Int)) {
            sum = (sum.pending + more.pending, sum.dropped + more.dropped)
        }
        visitOwn(id) { registration, info in
            if let counts = registration?.counts { add((counts.pending, info == nil ? 0 : counts.dropped)) }
        }
        for token in parts { add(token.issuer.counts(token.id)) }
        return sum
    }

    /// The data for a registration's description: whether its set's observers may run in different isolation domains,
    /// and the line that registered it.
    typealias RegistrationInfo = (describesIsolation: Bool, site: Site)

    /// The mailboxes in which a call for an ended registration may still be in progress.
    ///
    /// Read this only when no traversal can reach that registration any longer.
    var busyMailboxes: [Mailbox] { [] }

    /// A registration's description, for example `View, on MainActor, registered at Player/View.swift:12`; nil if the
    /// owner is dead.
    static func describe(_ registration: Registration?, _ info: RegistrationInfo) -> String? {
        guard let owner = registration.map(\.innermost.ownerDescription) ?? "closure" else { return nil }
        let placement = registration.map { $0.innermost.placeDescription(of: $0) }
        let isolation = info.describesIsolation ? ", \(placement ?? "nonisolated")" : ""
        return "\(owner)\(isolation), registered at \(info.site)"
    }

    /// Whether tokens of this issuer stand for registrations in sets, ended ones included.
    var standsForRegistrations: Bool { parts.contains { $0.issuer.standsForRegistrations } }

    /// Whether a token of this issuer stands for exactly one registration, which was made by `issuer`.
    func tokensStandForOneRegistration(madeBy issuer: TokenIssuer) -> Bool {
        // The parts are read only once, because the registration may end in the meantime.
        let parts = parts.filter { !($0.issuer is DropCount) }
        return self === issuer || parts.count == 1 && parts[0].issuer.tokensStandForOneRegistration(madeBy: issuer)
    }

    final func isActive(_ id: UInt64) -> Bool {
        // `info` is nil for a registration that no set has any longer, but for which a value is pending.
        var isActive = false
        visit(id) { _, info in isActive = isActive || info != nil }
        return isActive
    }

    /// Whether a removal could still prevent a call: a registration is active, or a call has passed a gate, and has not
    /// begun yet.
    func mayBeCalled(_ id: UInt64) -> Bool {
        var isActive = false
        visitOwn(id) { _, info in isActive = info != nil }
        return isActive || parts.contains { $0.issuer.mayBeCalled($0.id) }
    }

    /// Whether a removal would find nothing to end or to drop.
    func isSpent(_ id: UInt64) -> Bool {
        var isSpent = true
        visitOwn(id) { _, _ in isSpent = false }
        return isSpent && parts.allSatisfy { $0.issuer.isSpent($0.id) }
    }

    /// The registrations in the form in which their sets' descriptions show them; nil if none is active any longer.
    final func describe(_ id: UInt64) -> String? {
        var lines: [String] = []
        visit(id) { registration, info in
            if let line = info.flatMap({ Self.describe(registration, $0) }) { lines.append(line) }
        }
        return lines.isEmpty ? nil : lines.joined(separator: ", ")
    }
}

/// The issuer of a token that combines several tokens.
private final class CombinedIssuer: TokenIssuer, @unchecked Sendable {
    private let tokens: [ObserverToken]
    private let hasBeenRemoved = Atomic<Bool>(false)

    init(_ tokens: [ObserverToken]) { self.tokens = tokens }

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        // All are marked first, because they may be registrations of one observer that awaits. Otherwise, removing one
        // would cancel its call, and the observer would then be called with the next value of another.
        visit(id) { registration, _ in registration?.markRemoved() }
        // All are removed before this returns. If two callers have each removed some of them, only one gets `true`.
        var isAny = false
        for token in tokens where token.issuer.remove(token.id, removal) { isAny = true }
        return isAny && !hasBeenRemoved.exchange(true, ordering: .relaxed)
    }

    override var parts: [ObserverToken] { tokens }
}

/// Stands for a registration that is in no set, and for which values may be pending: its set has ended, or no set has
/// registered it, and it has received only the value of `starting(with:)`.
///
/// Such a registration isn't active, but removing it drops its values.
final class UnregisteredIssuer: TokenIssuer, @unchecked Sendable {
    /// The owner of the registration's state, which is held weakly.
    ///
    /// While a value is pending, its job in the mailbox holds this object, but perhaps not the set's registration:
    /// `starting(with:)` sends its value to the observer that was added, and a `map` before it makes another
    /// registration. When nothing is pending any more, there is nothing to drop.
    private weak let registration: Registration?

    init(_ registration: Registration?) { self.registration = registration?.stateOwner }

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        registration?.markRemoved()
        registration?.cancel()
        if let mailbox = registration?.innermost.mailbox { removal?.mailboxes.append(mailbox) }
        return false
    }

    override func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {
        // Until its values have been dropped, the registration's state says that it is registered, because no set is
        // left that could end it.
        if let registration, registration.isRegistered { body(registration, nil) }
    }
}
