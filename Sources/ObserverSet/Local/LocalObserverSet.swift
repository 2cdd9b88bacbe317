import Synchronization

/// A typed event for code that stays in one isolation domain.
///
/// Parameters, owners and closures need not be `Sendable`, because the compiler makes sure that the set stays in its
/// domain. So a plain class can notify and observe in Swift 6 without any annotation.
///
/// ```swift
/// final class Playlist {
///     let itemAdded = LocalObserverSet<(name: String, index: Int)>()
///     let cleared = LocalObserverSet<Void>()
/// }
///
/// final class PlaylistView {
///     init(_ playlist: Playlist) {
///         playlist.itemAdded.add(self) { view, item in view.show("\(item.name) at \(item.index)") }
///         playlist.cleared.add(method: PlaylistView.clear, of: self)
///     }
///     func show(_ text: String) { print(text) }
///     func clear() { print("nothing to play") }
/// }
///
/// playlist.itemAdded.notify((name: "So What", index: 0))
/// ```
///
/// Every observer is called before `notify` returns. It may add and remove observers, call `notify`, and release the
/// set.
///
/// If an observer calls `notify` on the same set, that inner call returns at once. The outermost `notify` delivers the
/// inner value after all observers have received the outer one. So each observer receives all values in the order they
/// were sent, which is more than guarantee 6 of ``ObserverSet`` says. Of the other guarantees, 2 to 5, 8 to 10 and 12
/// hold, as far as they apply to one thread. If your observers belong to several actors, or if several threads use your
/// model, use an ``ObserverSet`` instead.
///
/// ## Its isolation domain
///
/// The set is not `Sendable`, but you may send it to another isolation domain if nothing in this domain refers to it
/// any more. Once an observer has been added on an actor, the set belongs to that actor for good, whatever the observer
/// captures. A token belongs to the same domain as its set.
@safe public final class LocalObserverSet<Parameters> {
    /// The observers; nil until the first one is added, because most sets in a model are never observed.
    private var registry: Registry?
    /// The values that observers have sent during a notification, and for each the id of the last observer to receive
    /// it.
    ///
    /// It is nil until there is such a value.
    private var queue: Queue<(parameters: Parameters, limit: UInt64)>?
    // The two Boolean values come after the queue, because there they fit into its padding.
    /// Whether a notification is in progress.
    private var isNotifying = false
    /// False only if there is nothing in `queue`.
    ///
    /// `notify` reads this instead of `queue` itself. In unspecialised code, reading `queue` would look up its type,
    /// which takes twice as long as a notification of one observer.
    private var mayHaveQueued = false

    /// Creates a set without observers.
    ///
    /// The set is one small object. Everything else is allocated when the first observer is added.
    public init() {}

    deinit {
        // No notification is in progress, because it would hold the set, so nothing is queued. If no token holds the
        // registry, it is deallocated here, which releases everything at once.
        if !isKnownUniquelyReferenced(&registry) { registry?.removeAll(droppingPending: true) }
    }

    @usableFromInline
    func append(_ observer: @escaping (Parameters) -> Void, isOnce: Bool, site: Site) -> Token {
        if isOnce { return append(OnceFunction(observer), isOnce: true, site: site) }
        return append(Callee(retaining: observer), nil, site)
    }

    @usableFromInline
    func append(_ target: consuming Target<Parameters>, isOnce: Bool, site: Site) -> Token {
        guard isOnce else { return append(Callee(retaining: consume target), nil, site) }
        let gate = OnceGate()
        return append(Callee(retaining: FurtherRegistration(target, gate, of: nil)), gate, site)
    }

    private func append(_ callee: Callee, _ gate: OnceGate?, _ site: Site) -> Token {
        if registry == nil { registry = Registry() }
        let registry = registry!
        let id = registry.append(callee, site: site)
        let token = ObserverToken(issuer: consume registry, id: id)
        return Token(token: gate?.arm(exchanging: token) ?? token)
    }
}

/// A local set must not be `Sendable`, because its observers would be called in the domain to which it is sent.
@available(*, unavailable, message: "a LocalObserverSet stays in one isolation domain; use ObserverSet across several")
extension LocalObserverSet: Sendable {}

// MARK: - Notifying

extension LocalObserverSet {
    /// Calls every observer, in the order they were added.
    ///
    /// If you call this method from inside an observer of the set, it returns at once. The outermost `notify` delivers
    /// the value when all observers have received the values before it. An observer that is added in the meantime
    /// doesn't receive the value, and ``removeAll()`` drops it. If an observer runs an event loop, the value is not
    /// delivered until that loop ends.
    ///
    /// - Parameter parameters: The value that the observers receive.
    /// - Complexity: O(*n*). Memory is allocated only for values that observers send, for observers that are methods in
    ///   a debug build, and for what is removed during the notification.
    public func notify(_ parameters: Parameters) {
        // The registry is not retained. The set holds it, and this line holds the set until the method returns.
        defer { _fixLifetime(self) }
        guard let registry = unsafe registry.map({ unsafe Unmanaged.passUnretained($0) }) else { return }
        // Relaxed, because the set stays in one isolation domain.
        let limit = unsafe registry._withUnsafeGuaranteedRef { $0.lastID.load(ordering: .relaxed) }
        guard limit != 0 else { return }
        if isNotifying { return enqueue(parameters, limit) }
        isNotifying = true
        unsafe deliver(parameters, registry, upTo: limit)
        if mayHaveQueued { unsafe deliverQueued(registry) }
        isNotifying = false
    }

    @inline(never)
    private func enqueue(_ parameters: Parameters, _ limit: UInt64) {
        if queue == nil { queue = Queue() }
        queue!.append((parameters, limit))
        mayHaveQueued = true
    }

    @inline(never)
    private func deliverQueued(_ registry: Unmanaged<Registry>) {
        // The count is read anew each time, because an observer may call `removeAll()`, which takes the queue.
        while (queue?.count ?? 0) > 0 {
            let (parameters, limit) = queue!.removeFirst()
            unsafe deliver(parameters, registry, upTo: limit)
        }
        mayHaveQueued = false
    }

    @inline(never)
    private func deliver(_ parameters: Parameters, _ registry: Unmanaged<Registry>, upTo limit: UInt64) {
        // The notifier's actor doesn't matter, because all observers of a local set are called in place.
        var notifier = Notifier(on: 0)
        var traversal = unsafe Traversal(registry, upTo: limit)
        var isPlain = false
        while let slot = unsafe traversal.next(&isPlain) {
            if _fastPath(isPlain) {
                unsafe BorrowedFunction.at(slot).pointee(parameters)
            } else {
                unsafe slot.pointee.send(parameters, by: &notifier)
            }
        }
        traversal.metDead = notifier.metDead
    }

    /// Calls every observer of a set whose parameters are `Void` or an unlabelled tuple, without a second pair of
    /// parentheses.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// table.moved.notify(2, 5)        // let moved = LocalObserverSet<(Int, Int)>()
    /// ```
    ///
    /// - Parameter parameters: The elements of the tuple; none for `Void`.
    /// - Complexity: O(*n*).
    @_disfavoredOverload
    public func notify<each P>(_ parameters: repeat each P) where Parameters == (repeat each P) {
        notify((repeat each parameters))
    }
}

// MARK: - Removing and counting

extension LocalObserverSet {
    /// Ends the registration that a token names, if the registration belongs to this set.
    ///
    /// - Returns: `false` if the token belongs to another set, or if the registration has already ended.
    /// - Complexity: Amortised O(1), plus O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ token: Token) -> Bool { registry?.remove(token.token) ?? false }

    /// Ends all registrations of an owner.
    ///
    /// - Returns: The number of registrations that were ended.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int { registry?.removeAll(ownedBy: owner) ?? 0 }

    /// Ends all registrations, and drops the values that observers have sent and that are not delivered yet.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        // The dropped values are released last, because that may run user code, which must find the set empty.
        let dropped = queue.take()
        registry?.removeAll(droppingPending: true)
        withExtendedLifetime(dropped) {}
    }

    /// The number of observers, without those whose owner has been deallocated.
    ///
    /// - Complexity: O(*n*).
    public var count: Int { registry?.count ?? 0 }

    /// A Boolean value that indicates whether the set has no live observers.
    ///
    /// Observers whose owner has been deallocated don't count.
    ///
    /// - Complexity: O(*n*), where *n* is the number of dead owners before the first living observer.
    public var isEmpty: Bool { registry?.isEmpty ?? true }
}

// MARK: - Tokens

extension LocalObserverSet {
    /// Names one registration of a local set, so that you can end it.
    ///
    /// Dropping a token ends nothing. A token keeps neither the set nor the owner nor the observer alive. When one of
    /// them is gone, ``remove()`` returns `false`. Two tokens are equal if they name the same registration.
    ///
    /// ```swift
    /// let token = playlist.itemAdded.add { item in print(item.name) }
    /// token.remove()      // true
    /// token.remove()      // false: it was removed already
    /// ```
    public struct Token {
        let token: ObserverToken

        /// Ends the registration.
        ///
        /// You may call this method from inside any observer, including the token's own. Afterwards, a notification in
        /// progress skips the observer.
        ///
        /// - Returns: `false` if the registration has already ended, because it was removed, or because its owner or
        ///   its set is gone.
        /// - Complexity: Amortised O(1), plus O(log *n*) to find the registration.
        @discardableResult
        public func remove() -> Bool { token.remove() }

        /// A Boolean value that indicates whether the registration has not ended.
        ///
        /// It is false once the registration has been removed, or once its owner or its set is gone.
        ///
        /// - Complexity: O(log *n*).
        public var isActive: Bool { token.isActive }
    }
}

/// A token must not be `Sendable`, because it would remove the observer in the domain to which it is sent.
@available(*, unavailable, message: "the token of a LocalObserverSet stays in the set's isolation domain")
extension LocalObserverSet.Token: Sendable {}

extension LocalObserverSet.Token: Hashable, CustomStringConvertible {
    /// The token's number in its set, and the line of code that added the observer, or the word "inactive".
    public var description: String {
        "LocalObserverSet<\(Parameters.self)>.Token(#\(token.id), \(token.issuer.describe(token.id) ?? "inactive"))"
    }
}

// MARK: - Descriptions

extension LocalObserverSet: CustomStringConvertible, CustomDebugStringConvertible {
    /// The type of the parameters and the number of observers.
    public var description: String { describe(count: count) }

    /// The description, followed by a line for each observer with its owner's type and the line of code that added it.
    ///
    /// Equal lines are printed once, with a count. At most fifty lines are printed.
    public var debugDescription: String {
        let listing = registry?.listing ?? Listing()
        return listing.text(under: describe(count: listing.count))
    }

    private func describe(count: Int) -> String {
        "LocalObserverSet<\(Parameters.self)>(\(Listing.count(count, "observer")))"
    }
}
