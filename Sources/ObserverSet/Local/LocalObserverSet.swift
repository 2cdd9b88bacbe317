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
/// 6: each observer receives all values in the order in which they were notified, those of nested notifications, too. There
/// is no lock, and no atomic operations of its own except loads and stores. If observers belong to several actors, or several
/// threads use the model, use ``ObserverSet``.
///
/// ## Its isolation domain
///
/// It is not `Sendable`. Like any such object it may be sent to another domain if nothing in this one refers to it.
/// When an observer has been added on an actor, the set belongs to that actor for good, whatever the observer captures.
/// A token belongs to the domain of its set.
@safe public final class LocalObserverSet<Parameters> {
    /// Made when the first observer is added, since most sets of a model are never observed.
    private var registry: LocalRegistry?

    /// Makes a set without observers.
    ///
    /// It is one small object; the rest is allocated when the first observer is added.
    public init() {}

    deinit {
        // No notification is under way, since a notification holds the set. If no token holds the registry, it is
        // deallocated here, which releases everything at once.
        if !isKnownUniquelyReferenced(&registry) { registry?.removeAll() }
    }

    @usableFromInline
    func append(_ entry: AnyEntry, site: Site, isOnce: Bool = false) -> Token {
        append(Callee(retaining: entry), site: site, isOnce: isOnce)
    }

    func append(_ callee: Callee, site: Site, isOnce: Bool = false) -> Token {
        let registry = registry ?? LocalRegistry()
        self.registry = registry
        return Token(registry: registry, id: registry.append(callee, site: site, isOnce: isOnce))
    }
}

/// An observer of a set that is sent to another isolation domain would be called there.
@available(*, unavailable, message: "a LocalObserverSet stays in one isolation domain; use ObserverSet across several")
extension LocalObserverSet: Sendable {}

// MARK: - Notifying

extension LocalObserverSet {
    /// Calls every observer, in the order in which they were added.
    ///
    /// May be called from inside an observer. Then the outer value first reaches the observers that it has not reached yet.
    /// After that all of them receive the inner value, and only then does this return.
    ///
    /// - Parameter parameters: The value that the observers receive.
    /// - Complexity: O(*n*). Allocates nothing, but for methods in a debug build and what is removed meanwhile.
    public func notify(_ parameters: Parameters) {
        #if DEBUG
        // Without the frames of the closures below, notifications can nest deeper.
        guard let registry else { return }
        var copy = parameters
        var pass = unsafe LocalRegistry.Pass(in: registry)
        unsafe registry.notify(parameters, at: &copy, &pass)
        #else
        // Not retained: the set holds its registry, and is held until this returns.
        defer { extendLifetime(self) }
        guard let registry = unsafe registry.map({ unsafe Unmanaged.passUnretained($0) }) else { return }
        unsafe withUnsafePointer(to: parameters) { pointer in
            unsafe registry._withUnsafeGuaranteedRef { unsafe $0.notify(parameters, at: pointer) }
        }
        #endif
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
    /// - Complexity: Amortised O(1), plus O(log *n*) to find the entry.
    @discardableResult
    public func remove(_ token: Token) -> Bool {
        token.registry === registry && token.remove()
    }

    /// Ends all registrations of an owner.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int {
        registry?.removeAll(ownedBy: owner) ?? 0
    }

    /// Ends all registrations.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        registry?.removeAll()
    }

    /// The number of observers whose owner, if they have one, is alive.
    ///
    /// - Complexity: O(*n*).
    public var count: Int {
        registry?.count ?? 0
    }

    /// A Boolean value that indicates whether the set has no live observers.
    ///
    /// Observers whose owner has been deallocated don't count.
    ///
    /// - Complexity: O(*n*).
    public var isEmpty: Bool {
        count == 0
    }
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
        let registry: LocalRegistry
        let id: UInt64

        /// Ends the registration.
        ///
        /// May be called from inside any observer, the token's own included. A notification in progress skips the
        /// observer from now on.
        ///
        /// - Returns: False if the registration had ended before: removed, or its owner or its set gone.
        /// - Complexity: Amortised O(1), plus O(log *n*) to find the entry.
        @discardableResult
        public func remove() -> Bool {
            registry.end(id)
        }

        /// Whether the registration has not ended: it is not removed, and neither its set nor its owner is gone.
        ///
        /// - Complexity: O(log *n*).
        public var isActive: Bool {
            registry.isActive(id)
        }
    }
}

/// A token that is sent to another isolation domain would remove the observer there.
@available(*, unavailable, message: "the token of a LocalObserverSet stays in the set's isolation domain")
extension LocalObserverSet.Token: Sendable {}

extension LocalObserverSet.Token: Hashable {
    /// Whether both name the same registration.
    public static func == (left: Self, right: Self) -> Bool {
        left.registry === right.registry && left.id == right.id
    }

    /// Hashes the set's identity and the registration's number.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(registry))
        hasher.combine(id)
    }
}

extension LocalObserverSet.Token: CustomStringConvertible {
    /// The token's number in its set, and where its observer was registered or that it is no longer active.
    public var description: String {
        "LocalObserverSet<\(Parameters.self)>.Token(#\(id), \(registry.description(of: id) ?? "inactive"))"
    }
}

// MARK: - Descriptions

extension LocalObserverSet: CustomStringConvertible, CustomDebugStringConvertible {
    /// The parameters' type and the number of observers.
    public var description: String {
        describe(count: count)
    }

    /// The description and a line for each observer: its owner's type, and the line that registered it.
    ///
    /// Equal lines are printed once, with their number, and at most fifty.
    public var debugDescription: String {
        let listing = listing
        return listing.text(under: describe(count: listing.count))
    }

    private var listing: Listing { registry?.listing ?? Listing() }

    private func describe(count: Int) -> String {
        "LocalObserverSet<\(Parameters.self)>(\(Listing.count(count, "observer")))"
    }
}
