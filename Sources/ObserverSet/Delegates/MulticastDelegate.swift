/// Delegates of one object: any number, weakly held, called one after the other.
///
/// For observers that implement a protocol rather than add closures. The delegates' type may be a protocol or a class.
/// Nothing has to be removed when a delegate is released.
///
/// ```swift
/// protocol DownloadDelegate: AnyObject {
///     func downloadDidProgress(_ fraction: Double)
/// }
///
/// final class Download {
///     let delegates = MulticastDelegate<any DownloadDelegate>()
///
///     func receive(_ fraction: Double) {
///         delegates.notify { $0.downloadDidProgress(fraction) }
///     }
/// }
///
/// download.delegates.add(progressBar)
/// ```
///
/// All calls are synchronous, on the caller's thread. If the protocol is isolated to the main actor, the compiler
/// requires that its delegates are notified on the main actor. In a library, isolate the protocol so, or let it inherit
/// from `Sendable`: otherwise a client's main-actor class, as in `@MainActor final class Row: @MainActor DownloadDelegate`,
/// may be called off the main actor, and the compiler need not say so.
///
/// A multicast is `Sendable` if its delegates' type is, and may then be used on any number of threads at once.
/// Otherwise it stays in one isolation domain, as its delegates do.
///
/// The idea is that of the article "Implementing the observer pattern in Swift".
///
/// ## Guarantees
///
/// Of the guarantees of ``ObserverSet/ObserverSet``, for delegates in place of observers and owners:
///
/// - No user code runs under a lock. Delegates are called in the order in which they were added. One that is added
///   during a notification is first called by the next one; one that is removed during it is not called any more
///   (guarantees 1 to 4).
/// - Delegates are held weakly, and strongly only for their own call. One that is being deallocated is not called,
///   listed or counted (guarantee 5).
/// - Nested notifications are depth first (guarantee 6). What belongs to a delegate that was removed or has died does not
///   pile up (guarantee 8). Removal is idempotent (guarantee 9). The multicast may be released at any time (guarantee 10).
/// - `notify` takes no lock, allocates nothing and never waits for a delegate being added or removed (guarantee 11).
///   After the last delegate it may take the lock for a moment if it is free, to remove those that it found dead.
/// - `notify` takes time O(*n*), `add` and `remove` take amortised O(1), plus at most O(log *n*) to find the registration
///   (guarantee 12).
///
/// ### Limits
///
/// - A token does not look at the delegate, which may belong to another isolation domain. So the token of a dead
///   delegate stays active until the multicast has noticed the death, in the next `notify`, `count` or `delegates`, or
///   when many delegates are added.
@safe public final class MulticastDelegate<Delegate> {
    private let registry = Registry()

    /// Makes a multicast without delegates.
    public init() {}

    deinit {
        // Tokens may still hold the registry.
        registry.removeAll(dropping: true)
    }
}

/// The registry may be used on any thread, and a delegate is handed out only as the `Sendable` type as which it was
/// added.
extension MulticastDelegate: @unchecked Sendable where Delegate: Sendable {}

// MARK: - Notifying

extension MulticastDelegate {
    /// Calls every delegate, in the order in which they were added.
    ///
    /// ```swift
    /// delegates.notify { $0.downloadDidProgress(0.5) }
    /// try delegates.notify { try $0.downloadWillWrite(to: file) }
    /// ```
    ///
    /// If one delegate throws, the others are still called, and the first error is thrown after the last call. Errors
    /// after the first are dropped; catch them in `body` if you need each.
    ///
    /// May be called from inside a delegate. The last reference to a delegate may be the one held for its call; its
    /// `deinit` then runs here, after the call.
    ///
    /// - Parameter body: What to do with each delegate; called in the caller's isolation, before this returns.
    /// - Throws: The first error that `body` has thrown.
    /// - Complexity: O(*n*).
    @inlinable
    public func notify<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
        // Inlinable, so that only the client's own code is between a target and the delegate's method.
        var failure: Failure?
        var traversal = traversal()
        while let (object, bits) = unsafe traversal.nextObject() {
            do throws(Failure) {
                try unsafe UnownedDelegate.lend(object, bits, body)
            } catch {
                if failure == nil { failure = error }
            }
            // `lend` does not retain the object: this may be the only reference to it.
            _fixLifetime(object)
        }
        end(traversal)
        if let failure { throw failure }
    }

    /// A traversal of the delegates; the multicast must outlive it.
    @usableFromInline
    func traversal() -> Traversal { registry.traversal() }

    /// Ends a traversal.
    ///
    /// A method of the multicast, so that the caller holds the multicast, and thereby the registry, until the traversal
    /// has ended.
    @usableFromInline
    func end(_ traversal: consuming Traversal) {}
}

// MARK: - Adding and removing

extension MulticastDelegate {
    /// Adds a delegate, which is held weakly.
    ///
    /// A delegate that has been added already keeps its place, and the token of its registration is returned again. Two
    /// objects that are equal by `==` are still two delegates.
    ///
    /// The program stops if `delegate` is not a class instance, since only these can be held weakly: "A delegate must
    /// be a class instance". If the protocol inherits from `AnyObject`, the compiler rules that out.
    ///
    /// - Parameters:
    ///   - delegate: The object to call.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration, and may do so anywhere. Dropping it ends nothing.
    /// - Complexity: Amortised O(1), plus O(log *n*) if the delegate is there already.
    @discardableResult
    public func add(_ delegate: Delegate, fileID: StaticString = #fileID, line: UInt = #line) -> ObserverToken {
        guard let object = object(of: delegate) else {
            fatalError(
                """
                A delegate must be a class instance, since MulticastDelegate<\(Delegate.self)> holds it weakly; \
                \(type(of: delegate as Any)) is none. Have the protocol inherit from AnyObject.
                """, file: fileID, line: line)
        }
        return unsafe registry.add(object, site: Site(fileID: fileID, line: line)) {
            unsafe UnownedDelegate.bits(of: delegate, object)
        }
    }

    /// Removes a delegate.
    ///
    /// May be called from inside any delegate, itself included. In the delegate's own `deinit` it finds that the
    /// registration has ended already, and returns false. The delegate is never called again in any case.
    ///
    /// - Returns: True if it was there; if several threads remove it at once, for exactly one of them.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ delegate: Delegate) -> Bool {
        guard let object = object(of: delegate) else { return false }
        return registry.remove(object)
    }

    /// Ends a registration, if it is one of this multicast's.
    ///
    /// - Returns: True for exactly one caller; false for a token of another multicast, or of a registration that has
    ///   ended.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ token: ObserverToken) -> Bool { registry.remove(token) }

    /// Removes all delegates.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() { registry.removeAll(dropping: true) }

    /// The object that a delegate is; nil if it is not a class instance.
    private func object(of delegate: Delegate) -> AnyObject? {
        // The cast to `AnyObject` alone proves nothing: it succeeds for any value, by putting it into a box.
        guard type(of: delegate as Any) is AnyObject.Type else { return nil }
        // In generic code the cast would put an error's box into another box; a cast from `any Error` does not.
        if Delegate.self == (any Error).self, let error = delegate as? any Error { return error as AnyObject }
        return delegate as AnyObject
    }
}

// MARK: - Inspecting

extension MulticastDelegate {
    /// The delegates that are alive, in the order in which they were added.
    ///
    /// - Complexity: O(*n*).
    public var delegates: [Delegate] {
        var delegates: [Delegate] = []
        notify { delegates.append($0) }
        return delegates
    }

    /// The number of delegates that are alive.
    ///
    /// - Complexity: O(*n*).
    public var count: Int {
        var count = 0
        notify { _ in count += 1 }
        return count
    }

    /// Whether no delegate is alive.
    ///
    /// - Complexity: O(*n*).
    public var isEmpty: Bool { count == 0 }
}

// MARK: - Descriptions

extension MulticastDelegate: CustomStringConvertible, CustomDebugStringConvertible {
    /// The delegates' type, and their number.
    public var description: String { describe(count: count) }

    /// The description, and a line for each delegate: its class, and the line that added it.
    ///
    /// Equal lines are printed once, with their number, and at most fifty.
    public var debugDescription: String {
        var listing = Listing()
        var traversal = traversal()
        while let (object, _) = unsafe traversal.nextObject() {
            listing.append("\(type(of: object)), registered at \(traversal.site)")
        }
        end(traversal)
        return listing.text(under: describe(count: listing.count))
    }

    private func describe(count: Int) -> String {
        "MulticastDelegate<\(Delegate.self)>(\(Listing.count(count, "delegate")))"
    }
}
