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
/// It may be used and released on any thread, inside an observer, too. What is guaranteed of `remove()` is true of every
/// registration that it ends (guarantees 4 and 9). It keeps no set, owner or observer alive. Tokens of registrations that
/// have ended in another way do not pile up in it.
///
/// The idea, a registration that ends with its holder, is that of the article "NSNotificationCenter, Swift and blocks".
public final class ObserverBag: Sendable {
    /// In the order of insertion.
    ///
    /// Registrations of some of them may have ended, and a token may be in it twice. When the array is full, the bag looks
    /// for both.
    private let tokens = Lock([ObserverToken]())

    /// Makes an empty bag.
    public init() {}

    /// Makes a bag that holds some tokens.
    ///
    /// - Parameter tokens: The tokens of registrations that are to end with the bag.
    public convenience init(_ tokens: ObserverToken...) {
        self.init()
        for token in tokens { insert(token) }
    }

    deinit { removeAll() }

    /// Lets a registration end when the bag is released.
    ///
    /// A token that is in the bag already is held once. A token may be in several bags; the first that is released ends
    /// its registration.
    ///
    /// - Parameter token: The registration's token.
    /// - Complexity: Amortised that of ``ObserverToken/isActive``.
    @inline(never)
    public func insert(_ token: ObserverToken) {
        let full = tokens.withLock { tokens in
            // This makes room, so that no other thread looks at the same time.
            defer { tokens.append(token) }
            return tokens.count == max(16, tokens.capacity) ? tokens : nil
        }
        guard let full else { return }
        // Outside the lock: this loads the owners, and may run their `deinit`.
        let ended = Set(full.lazy.filter { !$0.isActive })
        tokens.withLock { tokens in
            var seen = ended
            // This drops no last reference: `ended`, or the new array, still holds what is dropped.
            tokens = tokens.filter { seen.insert($0).inserted }
            tokens.reserveCapacity(2 * tokens.count)
        }
    }

    /// Ends all registrations that the bag holds, in the order of insertion.
    ///
    /// The bag may be used again.
    ///
    /// - Complexity: That of removing each.
    public func removeAll() {
        var removed: [ObserverToken] = []
        tokens.withLock { swap(&$0, &removed) }
        for token in removed { token.remove() }
    }

    /// The number of active tokens in the bag; the token of several registrations counts as one.
    ///
    /// - Complexity: *n* times that of ``ObserverToken/isActive``.
    public var count: Int {
        Set(tokens.withLock { $0 }.lazy.filter(\.isActive)).count
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
    public func store(in bag: ObserverBag) { bag.insert(self) }
}
