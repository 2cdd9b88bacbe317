// The `add` family of a local set.
//
// Each form takes the caller's isolation and does not use it. But a set that is passed into a call together with an
// actor's isolation becomes part of that actor's region, and the compiler refuses to send it elsewhere. Without the
// parameter some functions would lose their isolation on the way into the set, and the set could take them elsewhere
// and call them there: an unapplied method (`View.show`), a generic function, a parameter of type `@MainActor () ->
// Void`.
//
// The forms are `@inlinable`. The client knows the types, which the runtime would otherwise look up for each observer.
// And a method's adapter that is formed in the client is folded into a direct call; formed here, it would allocate in
// each call.

/// What observers of a local set are added to: the set, or its `once`.
///
/// Underscored, since it is no type for clients: it is public only so that the `add` family is written once.
public protocol _LocalSource<Parameters> {
    /// The type of the value that an observer receives.
    associatedtype Parameters
    /// The set itself.
    var _set: LocalObserverSet<Parameters> { get }
    /// Whether observers are called at most once.
    var _isOnce: Bool { get }
}

extension LocalObserverSet: _LocalSource {
    /// The set itself.
    @inlinable public var _set: LocalObserverSet { self }
    /// Observers are called any number of times.
    @inlinable public var _isOnce: Bool { false }
}

extension LocalObserverSet {
    /// Adds observers that are called at most once, and then removed.
    ///
    /// ```swift
    /// _ = connection.opened.once.add { print("connected") }
    /// ```
    ///
    /// Every form of `add` may follow. An observer is removed as it is called: inside the call it is no longer counted, and its
    /// token is inactive.
    ///
    /// - Complexity: O(1).
    public var once: Once { Once(_set: self) }

    /// A local set, for observers that are called at most once.
    public struct Once: _LocalSource {
        /// The set itself.
        public let _set: LocalObserverSet
        /// Observers are called at most once.
        @inlinable public var _isOnce: Bool { true }
    }
}

extension _LocalSource {
    /// Adds an observer without an owner.
    ///
    /// The observer lives as long as the set does, or until its token is removed. Capture weakly what should not live
    /// that long, or use the form with an owner.
    ///
    /// ```swift
    /// let token = playlist.cleared.add { print("cleared") }
    /// ```
    ///
    /// Added during a notification, it is first called by the next one.
    ///
    /// - Parameters:
    ///   - observer: What to call.
    ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration. Dropping it ends nothing.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func add(
        _ observer: @escaping (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        _set.append(observer, isOnce: _isOnce, site: Site(fileID: fileID, line: line))
    }

    /// Adds an observer that lives as long as its owner, which it is passed.
    ///
    /// The owner is held weakly, and strongly only for its own call: there is nothing to remove when it goes. Use the owner
    /// that is passed rather than capturing it, which would keep it alive.
    ///
    /// ```swift
    /// playlist.itemAdded.add(view) { view, item in view.insert(item.name, at: item.index) }
    /// ```
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; of any class.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject>(
        _ owner: Owner, _ observer: @escaping (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        _set.append(OwnedTarget(owner, observer), isOnce: _isOnce, site: Site(fileID: fileID, line: line))
    }

    /// Adds a method of an owner as an observer, which lives as long as the owner.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// For a method that belongs to another actor than the caller's, use the form with a closure: the compiler does not
    /// refuse it here. A tuple with labels does not match a method's parameters; a closure sees the labels.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject>(
        method: @escaping (Owner) -> (Parameters) -> Void, of owner: Owner,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        add(owner, { owner, parameters in method(owner)(parameters) }, fileID: fileID, line: line)
    }

    /// Adds a method without parameters, or with several, of an owner as an observer of `Void` or of an unlabelled tuple.
    ///
    /// ```swift
    /// playlist.cleared.add(method: PlaylistView.clear, of: self)          // func clear()
    /// table.moved.add(method: TableView.moveRow, of: self)                // func moveRow(_ from: Int, _ to: Int)
    /// ```
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
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
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed.
    ///
    /// See the form for sets with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; of any class.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func add<Owner: AnyObject>(
        _ owner: Owner, _ observer: @escaping (Owner) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> LocalObserverSet<Parameters>.Token {
        add(owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
