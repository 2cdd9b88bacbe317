// The `add` family of a local set for observers that are called once: as that of the set, see there.

extension LocalObserverSet {
    /// The same notifications, for observers that are called at most once, and then removed.
    ///
    /// ```swift
    /// connection.opened.once.add { print("connected") }
    /// ```
    ///
    /// Every form of `add` may follow. An observer is removed as it is called: inside the call it is no longer counted, and its
    /// token is inactive.
    ///
    /// - Complexity: O(1).
    public var once: Once { Once(set: self) }

    /// A local set, for observers that are called at most once.
    public struct Once {
        @usableFromInline let set: LocalObserverSet

        /// Adds an observer without an owner, which is called once.
        ///
        /// - Parameters:
        ///   - observer: What to call.
        ///   - isolation: The caller's own, filled in by the compiler; it ties the set to the caller's actor.
        ///   - fileID: The file of the registration, for descriptions.
        ///   - line: The line of the registration, for descriptions.
        /// - Returns: A token that ends the registration.
        /// - Complexity: Amortised O(1).
        public func add(
            _ observer: @escaping (Parameters) -> Void,
            isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
        ) -> Token {
            set.appendOnce(site: Site(fileID: fileID, line: line)) { gates in OnceEntry(gates, observer) }
        }

        /// Adds an observer that is called once, with its owner, unless the owner goes before.
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
        ) -> Token {
            set.appendOnce(OwnedEntry(owner, observer), site: Site(fileID: fileID, line: line))
        }

        /// Adds a method of an owner, which is called once, unless the owner goes before.
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
        ) -> Token {
            add(owner, { owner, parameters in method(owner)(parameters) }, fileID: fileID, line: line)
        }

        /// Adds a method without parameters, or with several, of an owner, for `Void` or an unlabelled tuple; it is called once.
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
        ) -> Token where Parameters == (repeat each P) {
            add(owner, { owner, parameters in method(owner)(repeat each parameters) }, fileID: fileID, line: line)
        }
    }
}

extension LocalObserverSet.Once where Parameters == Void {
    /// Adds an observer of `Void` that is called once, with its owner alone, unless the owner goes before.
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
    ) -> LocalObserverSet<Void>.Token {
        add(owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
