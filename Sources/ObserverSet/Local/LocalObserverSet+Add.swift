// The `add` methods of a local set.
//
// Each method takes the caller's isolation, but doesn't use it. The parameter is there for the compiler: if a set is
// passed into a call together with an actor's isolation, the set becomes part of that actor's region, and the compiler
// rejects code that sends it elsewhere. Without the parameter, some functions would lose their isolation when they are
// added. Code could then send the set to another domain, and call them there. This concerns unapplied methods
// (`View.show`), generic functions, and parameters of type `@MainActor () -> Void`.
//
// The methods are `@inlinable` for two reasons. A client knows the types, which the runtime would otherwise look up for
// each observer. And the closure that applies a method to its owner becomes a direct call if it is formed in the
// client. If it were formed here, each of its calls would allocate memory.

/// Something to which you add observers of a local set: the set itself, or its `once`.
///
/// It has an underscore, because clients shouldn't use it. It is public only so that the `add` methods are written
/// once.
public protocol _LocalSource<Parameters> {
    /// The type of the value that an observer receives.
    associatedtype Parameters
    /// The set itself.
    var _set: LocalObserverSet<Parameters> { get }
    /// Whether observers are removed after their first call.
    var _isOnce: Bool { get }
}

extension LocalObserverSet: _LocalSource {
    /// The set itself.
    @inlinable public var _set: LocalObserverSet { self }
    /// False, because observers are called any number of times.
    @inlinable public var _isOnce: Bool { false }
}

extension LocalObserverSet {
    /// A view of the set, to which you add observers that are called at most once, and then removed.
    ///
    /// ```swift
    /// _ = connection.opened.once.add { print("connected") }
    /// ```
    ///
    /// It has all the `add` methods. An observer is removed just before its call, so during the call it is no longer
    /// counted, and its token is inactive.
    ///
    /// - Complexity: O(1).
    public var once: Once { Once(_set: self) }

    /// A local set whose `add` methods add observers that are called at most once.
    public struct Once: _LocalSource {
        /// The set itself.
        public let _set: LocalObserverSet
        /// True, because observers are removed after their first call.
        @inlinable public var _isOnce: Bool { true }
    }
}

extension _LocalSource {
    /// Adds an observer without an owner.
    ///
    /// The set keeps the observer until you remove its token, or until the set is deallocated. If an object shouldn't
    /// live that long, capture it weakly, or pass it as the owner instead.
    ///
    /// ```swift
    /// let token = playlist.cleared.add { print("cleared") }
    /// ```
    ///
    /// If you add an observer during a notification, it is first called by the next one (guarantee 3).
    ///
    /// - Parameters:
    ///   - observer: The function to call.
    ///   - isolation: The caller's isolation, which the compiler fills in, and to which it ties the set.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration. Dropping the token ends nothing.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func add(
        _ observer: @escaping (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        _set.append(observer, isOnce: _isOnce, site: Site(fileID: fileID, line: line))
    }

    /// Adds an observer that lives as long as its owner, and receives the owner as its first argument.
    ///
    /// The set holds the owner weakly, and strongly only during the observer's call, so you don't have to remove the
    /// observer. In the closure, use the argument instead of capturing the owner, because a capture would keep the
    /// owner alive.
    ///
    /// ```swift
    /// playlist.itemAdded.add(view) { view, item in view.insert(item.name, at: item.index) }
    /// ```
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, of any class.
    ///   - observer: The function to call with the owner.
    ///   - isolation: The caller's isolation, which the compiler fills in, and to which it ties the set.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration before the owner is deallocated.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject>(
        _ owner: Owner, _ observer: @escaping (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        _set.append(
            OwnedTarget(owner, Isolation.ownerErased(observer)), isOnce: _isOnce,
            site: Site(fileID: fileID, line: line))
    }

    /// Adds an owner's method as an observer that lives as long as the owner.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// Don't add a method that belongs to another actor than the calling code: the compiler doesn't reject it here, but
    /// the set would call it off its actor. Use the form with a closure for such a method, because the compiler checks
    /// the closure. Also use a closure if the set's parameters are a tuple with labels, which doesn't match a method
    /// with several parameters.
    ///
    /// - Parameters:
    ///   - method: The unapplied method, such as `Window.setTitle`.
    ///   - owner: The object whose method is called. It is held weakly.
    ///   - isolation: The caller's isolation, which the compiler fills in, and to which it ties the set.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration before the owner is deallocated.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject>(
        method: @escaping (Owner) -> (Parameters) -> Void, of owner: Owner,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        add(owner, { owner, parameters in method(owner)(parameters) }, fileID: fileID, line: line)
    }

    /// Adds an owner's method without parameters, or with several, as an observer of `Void` or of an unlabelled tuple.
    ///
    /// ```swift
    /// playlist.cleared.add(method: PlaylistView.clear, of: self)          // func clear()
    /// table.moved.add(method: TableView.moveRow, of: self)                // func moveRow(_ from: Int, _ to: Int)
    /// ```
    ///
    /// - Parameters:
    ///   - method: The unapplied method, such as `PlaylistView.clear`.
    ///   - owner: The object whose method is called. It is held weakly.
    ///   - isolation: The caller's isolation, which the compiler fills in, and to which it ties the set.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration before the owner is deallocated.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func add<Owner: AnyObject, each P>(
        method: @escaping (Owner) -> (repeat each P) -> Void, of owner: Owner,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token where Parameters == (repeat each P) {
        add(owner, { owner, parameters in method(owner)(repeat each parameters) }, fileID: fileID, line: line)
    }
}

extension _LocalSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, and receives only the owner.
    ///
    /// In every other respect, it is like the form for sets with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, of any class.
    ///   - observer: The function to call with the owner.
    ///   - isolation: The caller's isolation, which the compiler fills in, and to which it ties the set.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token, with which you can end the registration before the owner is deallocated.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func add<Owner: AnyObject>(
        _ owner: Owner, _ observer: @escaping (Owner) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        add(owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
