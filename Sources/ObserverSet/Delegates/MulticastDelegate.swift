/// Calls any number of delegates, which it holds weakly.
///
/// Use it if your observers implement a protocol instead of adding closures. The delegates' type may be a protocol or a
/// class. You don't have to remove a delegate before it is deallocated.
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
/// Every delegate is called on the thread that calls `notify`, before `notify` returns. If the protocol is marked
/// `@MainActor`, the compiler requires that you call the delegates on the main actor. In a library, mark the protocol
/// `@MainActor`, or let it inherit from `Sendable`. Otherwise a client's class such as
/// `@MainActor final class Row: @MainActor DownloadDelegate` may be called off the main actor, and the compiler may not
/// warn about it.
///
/// If the delegates' type is `Sendable`, so is the multicast, and you may use it on several threads at once. Otherwise
/// it stays in one isolation domain, together with its delegates.
///
/// The idea comes from the article "Implementing the observer pattern in Swift".
///
/// ## Guarantees
///
/// These guarantees of ``ObserverSet/ObserverSet`` hold for the delegates of a multicast, too:
///
/// - No user code runs under a lock. Delegates are called in the order they were added. A delegate that is added during
///   a notification is first called by the next one. A delegate that is removed during a notification is not called any
///   more, except if another thread has already decided to call it (guarantees 1 to 4).
/// - Delegates are held weakly, and strongly only during their own call. A delegate that is being deallocated is not
///   called, listed or counted (guarantee 5).
/// - An inner notification completes before the outer one continues (guarantee 6).
/// - The memory for delegates that were removed or deallocated doesn't accumulate (guarantee 8). Removing a delegate
///   twice is harmless (guarantee 9). The multicast may be deallocated at any time, even during its own notification
///   (guarantee 10).
/// - `notify` takes no lock, allocates nothing, and never waits for a delegate that is being added or removed
///   (guarantee 11). After the last delegate it may take the lock for a moment, if the lock is free, to clean up after
///   delegates that were removed or deallocated.
/// - `notify` takes time O(*n*). `add` and `remove` take amortised O(1), plus at most O(log *n*) to find the
///   registration (guarantee 12).
///
/// ### Limits
///
/// - A token doesn't look at its delegate, because the delegate may belong to another isolation domain. So a
///   deallocated delegate's token stays active until the multicast notices that the delegate is gone: when you next
///   notify or inspect the multicast, or after many more delegates have been added.
@safe public final class MulticastDelegate<Delegate> {
    private let registry = Registry()

    /// Creates a multicast without delegates.
    public init() {}

    deinit {
        // Tokens may keep the registry alive, so its registrations must be ended here.
        registry.removeAll(droppingPending: true)
    }
}

/// `Sendable` is unchecked. That is sound, because the registry may be used on any thread, and because a delegate is
/// handed out only as a value of the `Sendable` type `Delegate`.
extension MulticastDelegate: @unchecked Sendable where Delegate: Sendable {}

// MARK: - Notifying

extension MulticastDelegate {
    /// Calls every delegate, in the order they were added.
    ///
    /// ```swift
    /// delegates.notify { $0.downloadDidProgress(0.5) }
    /// try delegates.notify { try $0.downloadWillWrite(to: file) }
    /// ```
    ///
    /// If a delegate throws, the others are still called. After the last call, this method throws the first error, and
    /// drops all others. If you need every error, catch them in `body`.
    ///
    /// You may call this method from inside a delegate. If a delegate's last other reference goes away during its call,
    /// the delegate's `deinit` runs here, right after the call.
    ///
    /// - Parameter body: A closure that calls the delegate it receives. It runs in the caller's isolation, before this
    ///   method returns.
    /// - Throws: The first error that `body` has thrown.
    /// - Complexity: O(*n*).
    @inlinable
    public func notify<Failure: Error>(_ body: (Delegate) throws(Failure) -> Void) throws(Failure) {
        // This method is inlinable, so that the client's compiler can inline `body` into the loop.
        var failure: Failure?
        var traversal = traversal()
        while let (object, bits) = unsafe traversal.nextObject() {
            do throws(Failure) {
                try unsafe UnownedDelegate.lend(object, bits, body)
            } catch {
                if failure == nil { failure = error }
            }
            // `lend` doesn't retain the object, and this may be the only reference to it.
            _fixLifetime(object)
        }
        end(traversal)
        if let failure { throw failure }
    }

    /// Begins a traversal of the delegates, which the multicast must outlive.
    @usableFromInline
    func traversal() -> Traversal { registry.traversal() }

    /// Ends a traversal.
    ///
    /// It is a method of the multicast for one reason: because the caller must call it, the caller holds the multicast,
    /// and thereby the registry, until the traversal has ended.
    @usableFromInline
    func end(_ traversal: consuming Traversal) {}
}

// MARK: - Adding and removing

extension MulticastDelegate {
    /// Adds a delegate, which the multicast holds weakly.
    ///
    /// If the delegate has been added already, it keeps its place in the order, and this method returns the token of
    /// its registration again. Delegates are told apart by identity, so two objects that are equal by `==` are two
    /// delegates.
    ///
    /// If `delegate` is not a class instance, it can't be held weakly, and the program stops with the message "A
    /// delegate must be a class instance". The compiler rules that out if the protocol inherits from `AnyObject`.
    ///
    /// - Parameters:
    ///   - delegate: The object to call.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration from any thread. Dropping the token ends nothing.
    /// - Complexity: Amortised O(1), plus O(log *n*) if the delegate has been added already.
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
    /// You may call this method from inside any delegate, including the one that you remove. If the delegate's own
    /// `deinit` calls it, the registration counts as ended already, and the method returns `false`. In either case, the
    /// delegate is never called again.
    ///
    /// - Returns: `true` if the delegate was registered. If several threads remove it at once, exactly one of them gets
    ///   `true`.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ delegate: Delegate) -> Bool {
        guard let object = object(of: delegate) else { return false }
        return registry.remove(object)
    }

    /// Ends the registration that a token names, if the registration belongs to this multicast.
    ///
    /// - Returns: `true` for exactly one caller. `false` if the token belongs to another multicast, or if the
    ///   registration has already ended.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ token: ObserverToken) -> Bool { registry.remove(token) }

    /// Removes all delegates.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() { registry.removeAll(droppingPending: true) }

    /// A delegate's reference as an object, or nil if the delegate is not a class instance.
    private func object(of delegate: Delegate) -> AnyObject? {
        // A cast to `AnyObject` alone would prove nothing, because it succeeds for any value by putting it into a box.
        guard type(of: delegate as Any) is AnyObject.Type else { return nil }
        // An `any Error` is a box already. The cast in generic code would put it into another box, but a cast from
        // `any Error` unwraps it.
        if Delegate.self == (any Error).self, let error = delegate as? any Error { return error as AnyObject }
        return delegate as AnyObject
    }
}

// MARK: - Inspecting

extension MulticastDelegate {
    /// The delegates that are alive, in the order they were added.
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

    /// A Boolean value that indicates whether no delegate is alive.
    ///
    /// - Complexity: O(*n*).
    public var isEmpty: Bool { count == 0 }
}

// MARK: - Descriptions

extension MulticastDelegate: CustomStringConvertible, CustomDebugStringConvertible {
    /// The type and the number of the delegates.
    public var description: String { describe(count: count) }

    /// The description, followed by a line for each delegate with its class and the line of code that added it.
    ///
    /// Equal lines are printed once, with a count. At most fifty lines are printed.
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
