import Synchronization

/// A typed notification for code that stays in one isolation domain.
///
/// Parameters, owners and closures need not be `Sendable`, and the compiler makes sure that the set stays in its
/// domain. A plain class can notify and observe in Swift 6 without an annotation.
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
/// Every observer is called before `notify` returns, and may do anything: add, remove, notify, release the set. Of the
/// guarantees of ``ObserverSet`` it keeps 2 to 5, 8 to 10 and 12, as far as they apply to one thread, and a stronger one than
/// 6: each observer receives all values in the order in which they were notified. For that, a value that is notified inside a
/// notification of the same set is delivered when the outer value has reached everybody: by the outermost `notify`, after the
/// inner one has returned. If observers belong to several actors, or several threads use the model, use ``ObserverSet``.
///
/// ## Its isolation domain
///
/// It is not `Sendable`, but may be sent to another domain if nothing in this one refers to it. When an observer has been
/// added on an actor, the set belongs to that actor for good, whatever the observer captures. A token belongs to the domain
/// of its set.
@safe public final class LocalObserverSet<Parameters> {
    /// Made when the first observer is added, since most sets of a model are never observed.
    private var registry: Registry?
    /// The values that were notified inside a notification, and the ids up to which they go; nil until there are some.
    private var queue: Queue<(parameters: Parameters, limit: UInt64)>?
    // Behind the queue, where there is room for them.
    /// Whether a notification is under way.
    private var isNotifying = false
    /// Whether there is anything in `queue`, which is looked at only then: unspecialised code looks up its type, which takes
    /// twice as long as a notification of one observer.
    private var isAnythingQueued = false

    /// Makes a set without observers.
    ///
    /// It is one small object; the rest is allocated when the first observer is added.
    public init() {}

    deinit {
        // No notification is under way, since a notification holds the set. If no token holds the registry, it is
        // deallocated here, which releases everything at once.
        if !isKnownUniquelyReferenced(&registry) { registry?.removeAll(dropping: true) }
    }

    @usableFromInline
    func append(_ observer: @escaping (Parameters) -> Void, isOnce: Bool, site: Site) -> Token {
        if isOnce { return append(FunctionTarget(observer), isOnce: true, site: site) }
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
        if let gate { return Token(token: gate.arm(with: token)) }
        return Token(token: token)
    }
}

/// An observer of a set that is sent to another isolation domain would be called there.
@available(*, unavailable, message: "a LocalObserverSet stays in one isolation domain; use ObserverSet across several")
extension LocalObserverSet: Sendable {}

// MARK: - Notifying

extension LocalObserverSet {
    /// Calls every observer, in the order in which they were added.
    ///
    /// May be called from inside an observer. Then it returns at once, and the value is delivered by the outermost `notify`
    /// of this set, when the values before it have reached everybody. An observer that is added meanwhile does not receive it.
    /// ``removeAll()`` drops it. An event loop inside an observer holds it back until the loop ends.
    ///
    /// - Parameter parameters: The value that the observers receive.
    /// - Complexity: O(*n*). Allocates nothing, except for a value that is notified inside an observer, methods in a debug
    ///   build, and what is removed meanwhile.
    public func notify(_ parameters: Parameters) {
        // Not retained: the set holds its registry, and is held until this returns.
        defer { _fixLifetime(self) }
        guard let registry = unsafe registry.map({ unsafe Unmanaged.passUnretained($0) }) else { return }
        // Relaxed: the set stays in one isolation domain.
        let limit = unsafe registry._withUnsafeGuaranteedRef { $0.lastID.load(ordering: .relaxed) }
        guard limit != 0 else { return }
        if isNotifying { return enqueue(parameters, limit) }
        isNotifying = true
        unsafe deliver(parameters, registry, upTo: limit)
        if isAnythingQueued { unsafe deliverQueued(registry) }
        isNotifying = false
    }

    @inline(never)
    private func enqueue(_ parameters: Parameters, _ limit: UInt64) {
        if queue == nil { queue = Queue() }
        queue!.append((parameters, limit))
        isAnythingQueued = true
    }

    @inline(never)
    private func deliverQueued(_ registry: Unmanaged<Registry>) {
        // An observer may remove all.
        while (queue?.count ?? 0) > 0 {
            let (parameters, limit) = queue!.removeFirst()
            unsafe deliver(parameters, registry, upTo: limit)
        }
        isAnythingQueued = false
    }

    @inline(never)
    private func deliver(_ parameters: Parameters, _ registry: Unmanaged<Registry>, upTo limit: UInt64) {
        // Nobody asks who notifies: all observers are called here.
        var notifier = Notifier(on: 0)
        var traversal = unsafe Traversal(registry, upTo: limit)
        var isPlain = false
        while let slot = unsafe traversal.next(&isPlain) {
            if _fastPath(isPlain) {
                unsafe BorrowedFunction.at(slot).pointee(parameters)
            } else if unsafe slot.pointee.send(parameters, by: &notifier) == .foundDead {
                traversal.metDead = true
            }
        }
    }

    /// Calls every observer of a `Void` notification, or of one with an unlabelled tuple, without a second pair of
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
    /// Ends a registration, if it is one of this set's.
    ///
    /// - Returns: False for a token of another set, or of a registration that has ended.
    /// - Complexity: Amortised O(1), plus O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ token: Token) -> Bool { registry?.remove(token.token) ?? false }

    /// Ends all registrations of an owner.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int { registry?.removeAll(ownedBy: owner) ?? 0 }

    /// Ends all registrations, and drops the values that were notified inside a notification and have not been delivered.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        // Released when the queue is empty already: that runs user code.
        let dropped = queue.take()
        registry?.removeAll(dropping: true)
        withExtendedLifetime(dropped) {}
    }

    /// The number of observers whose owner, if they have one, is alive.
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
    /// Names one registration of a local set, so that it can be ended.
    ///
    /// Dropping a token removes nothing. It keeps neither the set nor the owner nor the observer alive, and returns
    /// `false` when they are gone. Two tokens are equal if they name the same registration.
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
        /// May be called from inside any observer, the token's own included. A notification in progress skips the
        /// observer from now on.
        ///
        /// - Returns: False if the registration had ended before: removed, or its owner or its set gone.
        /// - Complexity: Amortised O(1), plus O(log *n*) to find the registration.
        @discardableResult
        public func remove() -> Bool { token.remove() }

        /// Whether the registration has not ended: it is not removed, and neither its set nor its owner is gone.
        ///
        /// - Complexity: O(log *n*).
        public var isActive: Bool { token.isActive }
    }
}

/// A token that is sent to another isolation domain would remove the observer there.
@available(*, unavailable, message: "the token of a LocalObserverSet stays in the set's isolation domain")
extension LocalObserverSet.Token: Sendable {}

extension LocalObserverSet.Token: Hashable, CustomStringConvertible {
    /// The token's number in its set, and where its observer was registered or that it is no longer active.
    public var description: String {
        "LocalObserverSet<\(Parameters.self)>.Token(#\(token.id), \(token.issuer.describe(token.id) ?? "inactive"))"
    }
}

// MARK: - Descriptions

extension LocalObserverSet: CustomStringConvertible, CustomDebugStringConvertible {
    /// The parameters' type and the number of observers.
    public var description: String { describe(count: count) }

    /// The description and a line for each observer: its owner's type, and the line that registered it.
    ///
    /// Equal lines are printed once, with their number, and at most fifty.
    public var debugDescription: String {
        let listing = registry?.listing ?? Listing()
        return listing.text(under: describe(count: listing.count))
    }

    private func describe(count: Int) -> String {
        "LocalObserverSet<\(Parameters.self)>(\(Listing.count(count, "observer")))"
    }
}
