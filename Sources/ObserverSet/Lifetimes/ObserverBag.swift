/// Holds tokens, and ends their registrations when it is deallocated.
///
/// Use it for observers without an owner, and for observers that should end before their owner does. If you make the
/// bag a property of the object that the observers belong to, they end together with that object. If a set was
/// deallocated before, the bag still drops the values that it left pending, and cancels the calls of observers that
/// await.
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
/// You may use and release a bag on any thread, and inside an observer. It ends a registration by calling the token's
/// `remove()`, so guarantees 4 and 9 hold. A bag doesn't keep a set, an owner or an observer alive. If a registration
/// ends in another way, the bag discards its token sooner or later, so such tokens don't accumulate. If values that a
/// set left are pending, it does so only after these have been delivered.
///
/// The idea of a registration that ends with its holder comes from the article "NSNotificationCenter, Swift and
/// blocks".
public final class ObserverBag: Sendable {
    /// The tokens, in the order they were inserted.
    ///
    /// The array may hold a token twice, and tokens that are spent (see `isSpent`). When it is full, the bag removes
    /// both.
    private let tokens = Lock([ObserverToken]())

    /// Creates an empty bag.
    public init() {}

    /// Creates a bag that holds some tokens.
    ///
    /// - Parameter tokens: The tokens of the registrations that should end with the bag.
    public convenience init(_ tokens: ObserverToken...) {
        self.init()
        for token in tokens { insert(token) }
    }

    deinit { removeAll() }

    /// Adds a token, so that its registration ends when the bag is deallocated.
    ///
    /// Inserting a token twice has no further effect. A token may be in several bags. The first of them to be
    /// deallocated ends the registration.
    ///
    /// - Parameter token: The registration's token.
    /// - Complexity: Amortised, the same as ``ObserverToken/isActive``.
    @inline(never)
    public func insert(_ token: ObserverToken) {
        let full = tokens.withLock { tokens in
            // This enlarges a full array, so that no other thread finds it full and cleans up at the same time.
            defer { tokens.append(token) }
            return tokens.count == max(16, tokens.capacity) ? tokens : nil
        }
        guard let full else { return }
        // The tokens are asked outside the lock, because that loads the owners, and may run the `deinit` of one.
        let spent = Set(full.lazy.filter(\.isSpent))
        tokens.withLock { tokens in
            var seen = spent
            // No `TokenIssuer`'s last reference is dropped under the lock, because `spent` or the new array still holds
            // an equal token.
            tokens = tokens.filter { seen.insert($0).inserted }
            tokens.reserveCapacity(2 * tokens.count)
        }
    }

    /// Ends the registrations of all tokens in the bag, in the order the tokens were inserted, and empties the bag.
    ///
    /// You may use the bag again.
    ///
    /// - Complexity: The sum of what ``ObserverToken/remove()`` takes for each token.
    public func removeAll() {
        var removed: [ObserverToken] = []
        tokens.withLock { swap(&$0, &removed) }
        for token in removed { token.remove() }
    }

    /// The number of different tokens in the bag that are active.
    ///
    /// A token that stands for several registrations counts as one.
    ///
    /// - Complexity: *n* times that of ``ObserverToken/isActive``, where *n* is the number of tokens.
    public var count: Int { tokens.withLock { Set($0) }.count(where: \.isActive) }
}

extension ObserverToken {
    /// Puts the token into a bag, so that the registration ends when the bag is deallocated.
    ///
    /// ```swift
    /// playlist.cleared.add { print("cleared") }.store(in: bag)
    /// ```
    ///
    /// - Parameter bag: The bag that will hold the token.
    /// - Complexity: Amortised, the same as ``isActive``.
    public func store(in bag: ObserverBag) { bag.insert(self) }
}
