import Synchronization

/// Names one registration, so that it can be ended.
///
/// Dropping a token removes nothing. It keeps neither the set nor the owner nor the observer alive; when they are gone,
/// `remove()` returns `false`. It may be copied, compared, hashed and used on any thread; two tokens are equal if they
/// name the same registration. A token never comes to name another one.
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
    /// For sources that register an observer in more than one place. The token is active while any of them is;
    /// `remove()` returns true if any of them still was. If a set is released while `remove()` runs, its values that wait may be
    /// dropped even if this returns false. A combination of no tokens is inactive.
    ///
    /// - Complexity: O(*n*), where *n* is the number of parts; `remove()` and `isActive` cost the sum of theirs. The parts of
    ///   a combination among the tokens are parts of this one.
    public init(_ tokens: [ObserverToken]) {
        // In place of a combination its parts, so that no combination is deep.
        let isNested = tokens.contains { $0.issuer is CombinedIssuer }
        let parts = isNested ? tokens.flatMap { $0.issuer is CombinedIssuer ? $0.issuer.parts : [$0] } : tokens
        self.init(issuer: CombinedIssuer(parts), id: 0)
    }

    /// Ends the registration.
    ///
    /// May be called on any thread, and from inside any observer, the token's own included. A notification in progress
    /// skips the observer from now on. A call that another thread has already decided on may still run (guarantee 4). An
    /// observer that is removed on its own actor is never called again. Pending values are not delivered: an observer that
    /// awaits releases them at once, one on an actor or a queue when their turn comes.
    ///
    /// - Returns: true for exactly one caller; false if the registration had ended before: removed, or its owner or its set
    ///   gone.
    /// - Complexity: amortised O(1), plus at most O(log *n*) to find the registration; if the observer awaits, also O(*m*), where
    ///   *m* is the number of values pending for it, for its other registrations, too.
    @discardableResult
    public func remove() -> Bool { issuer.remove(id, nil) }

    /// Whether the registration has not ended: it is not removed, and neither its set nor its owner is gone.
    ///
    /// - Complexity: O(log *n*).
    public var isActive: Bool { issuer.isActive(id) }

    /// How many values have been dropped because there was no room for them: by an observer that awaits, or by the buffer of
    /// a stream that ``NotificationSource/makeStream(buffering:fileID:line:)`` has made.
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync(buffering: .newest(100)) { word in await history.append(word) }
    /// print("\(token.droppedCount) words were dropped")
    /// ```
    ///
    /// The number of a stream is that of its one buffer, also behind merged sources, and can still be read when the stream has
    /// ended. That of an observer that awaits is 0 when its registration has ended, and stops at 4,294,967,295; for its
    /// registrations with several sources it is the sum. For all other observers it is 0. Values that a removal drops are not
    /// counted. The descriptions of the set show the number, too.
    ///
    /// - Complexity: O(1) for a stream; otherwise O(log *n*) for each registration.
    public var droppedCount: Int { issuer.counts(id).dropped }

    /// How many values are pending for the observer, without the value of the call in progress.
    ///
    /// Use it to find an observer that does not keep up, and to act on it:
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync { word in await history.append(word) }
    /// if token.pendingCount > 1_000 { token.remove() }
    /// ```
    ///
    /// It is 0 for an observer that is called in place, for a stream, and when the registration has ended. For the token of
    /// several registrations it is their sum. While values are posted and delivered on other threads, it may be out of date by
    /// some.
    ///
    /// - Complexity: O(log *n*) to find the registration; for several, the sum of the parts'.
    public var pendingCount: Int { issuer.counts(id).pending }
}

extension ObserverToken: Hashable {
    /// Whether both are the same token.
    ///
    /// A combination of tokens equals only itself, and so does the token of an observer that is called once.
    public static func == (left: Self, right: Self) -> Bool { left.id == right.id && left.issuer === right.issuer }

    /// Hashes what issued it and its number there: each set numbers its registrations.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(issuer))
        hasher.combine(id)
    }
}

extension ObserverToken: CustomStringConvertible {
    /// The token's number, and where its observer was registered or that it is no longer active.
    public var description: String { "ObserverToken(#\(id), \(issuer.describe(id) ?? "inactive"))" }
}

/// Carries out a token's functions: a registry, a combination of tokens, a registration that may end before it is made, or
/// what belongs to a token beside its registrations.
///
/// It has no type parameter, so that tokens do not depend on the type of the parameters.
///
/// `package`, not internal, since `Registry` inherits from it.
@usableFromInline
package class TokenIssuer: @unchecked Sendable {
    init() {}

    /// Ends a registration; true for the caller who did.
    ///
    /// A removal lets the caller wait for what is then still under way, also if the registration had ended before.
    func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool { false }

    /// The tokens that a token of this issuer stands for, if it has not ended; none for a registry's.
    var parts: [ObserverToken] { [] }

    /// Calls `body` for each registration that a token names and that has not ended, itself, unless it is that of a plain function, and its
    /// place in a registry.
    ///
    /// It must not escape from `body`: after a removal that is waited for, nothing holds it.
    final func visit(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {
        visitOwn(id, body)
        for token in parts { token.issuer.visit(token.id, body) }
    }

    /// The same for a registration that is not that of a part.
    func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {}

    /// How many values are pending, and how many were dropped, for the registrations that a token names.
    func counts(_ id: UInt64) -> (pending: Int, dropped: Int) {
        var sum: (pending: Int, dropped: Int) = (0, 0)
        func add(_ more: (pending: Int, dropped: Int)) {
            sum = (sum.pending + more.pending, sum.dropped + more.dropped)
        }
        visitOwn(id) { registration, _ in if let registration { add(registration.counts) } }
        for token in parts { add(token.issuer.counts(token.id)) }
        return sum
    }

    /// Whether a registration is in a set of several isolation domains, and the line that made it.
    typealias RegistrationInfo = (describesIsolation: Bool, site: Site)

    /// Where a call of an ended registration may still be running; asked when no traversal can reach its observer.
    var busyMailboxes: [Mailbox] { [] }

    /// For example `View, on MainActor, registered at Player/View.swift:12`; nil if the owner is dead.
    static func describe(_ registration: Registration?, _ info: RegistrationInfo) -> String? {
        guard let owner = registration.map(\.observer.ownerDescription) ?? "closure" else { return nil }
        let placement = registration.map { $0.observer.placeDescription(of: $0) }
        let isolation = info.describesIsolation ? ", \(placement ?? "nonisolated")" : ""
        return "\(owner)\(isolation), registered at \(info.site)"
    }

    /// Whether tokens of this issuer name one registration, and that is of the other issuer.
    final func issuesTokens(for issuer: TokenIssuer) -> Bool {
        // Read once, since the registration may end meanwhile.
        let parts = parts.filter { !($0.issuer is DropCount) }
        return self === issuer || parts.count == 1 && parts[0].issuer.issuesTokens(for: issuer)
    }

    final func isActive(_ id: UInt64) -> Bool {
        var isActive = false
        visit(id) { _, info in isActive = isActive || info != nil }
        return isActive
    }

    /// The registrations as their sets' descriptions show them; nil if none is active any longer.
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
        // First, since they may be registrations of one observer: its call for one is cancelled when that is removed, and what
        // is pending for another must not be delivered next.
        visit(id) { registration, _ in registration?.markRemoved() }
        // All are removed before any caller returns. If two callers have each removed some, only one gets true.
        var isAny = false
        for token in tokens where token.issuer.remove(token.id, removal) { isAny = true }
        return isAny && !hasBeenRemoved.exchange(true, ordering: .relaxed)
    }

    override var parts: [ObserverToken] { tokens }
}
