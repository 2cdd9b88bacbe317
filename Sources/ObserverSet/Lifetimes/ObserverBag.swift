/// Ends the registrations whose tokens it holds when it is released.
///
/// For observers without an owner, and for those that should end before their owner does. Keep the bag in the object
/// that the observers belong to, and they end with that object. If the object has the set as well, declare the bag before
/// it: Swift releases properties in the order of their declaration, and a bag whose set is gone cancels no call that an
/// observer still awaits.
///
/// ```swift
/// final class Player: Sendable {
///     private let bag = ObserverBag()
///
///     init(_ playlist: Playlist, log: Log) {
///         playlist.cleared.addNonisolated { log.write("cleared") }.store(in: bag)
///     }
/// }
/// ```
///
/// It may be used and released on any thread, inside an observer, too. What is promised of `remove()` is true of every
/// registration that it ends (guarantees 4 and 9). It keeps no set, owner or observer alive. Tokens of registrations that
/// have ended in another way do not pile up in it.
///
/// The idea, a registration that ends with its holder, is that of the article "NSNotificationCenter, Swift and blocks".
public final class ObserverBag: Sendable {
    private struct Contents: Sendable {
        /// In the order of insertion.
        ///
        /// Registrations of some of them may have ended, and a token may be in it twice.
        var tokens: [ObserverToken] = []
        /// The number of tokens at which the bag looks for registrations that have ended.
        var limit = Contents.leastLimit

        static let leastLimit = 16
    }

    private let contents = Lock(Contents())

    /// Makes an empty bag.
    public init() {}

    /// Makes a bag that holds some tokens.
    ///
    /// - Parameter tokens: The tokens of registrations that are to end with the bag.
    public convenience init(_ tokens: ObserverToken...) {
        self.init()
        for token in tokens { insert(token) }
    }

    deinit {
        removeAll()
    }

    /// Lets a registration end when the bag is released.
    ///
    /// A token that is in the bag already is held once. A token may be in several bags; the first that is released ends
    /// its registration.
    ///
    /// - Parameter token: The registration's token.
    /// - Complexity: Amortised that of ``ObserverToken/isActive``.
    @inline(never)
    public func insert(_ token: ObserverToken) {
        let full: [ObserverToken]? = contents.withLock { contents in
            contents.tokens.append(token)
            guard contents.tokens.count >= contents.limit else { return nil }
            // Doubled now, so that no other thread looks at the same time.
            contents.limit = 2 * contents.tokens.count
            return contents.tokens
        }
        if let full { removeEnded(among: full) }
    }

    /// Ends all registrations that the bag holds, in the order of insertion.
    ///
    /// The bag may be used again.
    ///
    /// - Complexity: That of removing each.
    public func removeAll() {
        let removed = contents.withLock { contents in
            let removed = contents
            contents = Contents()
            return removed
        }
        for token in removed.tokens { token.remove() }
    }

    /// The number of active tokens in the bag; that of several registrations counts as one.
    ///
    /// - Complexity: *n* times that of ``ObserverToken/isActive``.
    public var count: Int {
        let tokens = contents.withLock { $0.tokens }
        return Set(tokens.lazy.filter(\.isActive)).count
    }

    /// Drops tokens of ended registrations, and duplicates; `tokens` is what the bag held a moment ago.
    ///
    /// Whether a registration has ended is asked outside the lock: that loads the owner, and may run its `deinit`.
    @inline(never)
    private func removeEnded(among tokens: [ObserverToken]) {
        let ended = Set(tokens.lazy.filter { !$0.isActive })
        contents.withLock { contents in
            var seen = ended
            // This drops no last reference: `tokens` still holds what is removed here.
            contents.tokens.removeAll { !seen.insert($0).inserted }
            contents.limit = max(Contents.leastLimit, 2 * contents.tokens.count)
        }
    }
}

extension ObserverToken {
    /// Lets the registration end when a bag is released.
    ///
    /// ```swift
    /// playlist.cleared.add { print("cleared") }.store(in: bag)
    /// ```
    ///
    /// - Parameter bag: The bag that holds the token.
    /// - Complexity: Amortised that of ``isActive``.
    public func store(in bag: ObserverBag) {
        bag.insert(self)
    }
}
