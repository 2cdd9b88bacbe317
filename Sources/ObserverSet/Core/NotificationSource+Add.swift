// The `add` family, written once for every source. Each form makes an `Observer` and registers it.
//
// `@inlinable` pays here: where the client knows the source's type, it calls `register` without a look at witness
// tables. Apart from this, only what makes an observer is inlinable; nothing of the registry is.

extension NotificationSource {
    /// Adds an observer without an owner, which runs where it was formed.
    ///
    /// A closure literal belongs to the actor that its surroundings are isolated to, as with `Task { }`; elsewhere to
    /// none. What an actor's instance adds for itself runs on that actor too, whatever its closure captures, unless it is
    /// added inside another closure that does not capture the actor. If code of that actor notifies, or any code that
    /// runs on the main actor if it is that, the observer is called before `notify` returns. Otherwise it is called later,
    /// on the actor, in the order of the notifications. An observer that belongs to no actor is called on the notifying
    /// thread.
    ///
    /// An actor's instance that adds an observer is held weakly, unless the closure captures it, as a method of its own
    /// does, `add(hear)`. If a closure or function has no isolation of its own, and the actor that added it is gone, it is
    /// called on the notifying thread.
    ///
    /// The observer lives as long as the source does, or until its token is removed. Capture weakly what should not
    /// live that long, or use the form with an owner.
    ///
    /// ```swift
    /// let token = playlist.cleared.add { print("cleared") }
    /// ```
    ///
    /// For an observer that has something to await there is ``addAsync(buffering:_:isolation:fileID:line:)``. A `Task { }` in the
    /// closure would lose the order: the tasks of two notifications overlap, and either may be first.
    ///
    /// May be called on any thread. An observer added during a notification is first called by the next one (guarantee
    /// 3).
    ///
    /// - Parameters:
    ///   - observer: What to call.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration. Dropping it ends nothing.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func add(
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(Isolation.removed(from: observer), in: .of(observer.isolation, addedOn: isolation), fileID, line)
    }

    /// Adds an observer that lives as long as its owner, which it is passed, and runs where it was formed.
    ///
    /// The owner is held weakly, and strongly only for its own call: there is nothing to remove when it goes. Use the
    /// owner that is passed rather than capturing it, which would keep it alive.
    ///
    /// ```swift
    /// playlist.itemAdded.add(view) { view, item in view.insert(item.name, at: item.index) }
    /// ```
    ///
    /// For isolation, order and threads see ``add(_:isolation:fileID:line:)``. A call, or for a moment `count` and the
    /// like, may hold the last reference to the owner. Its `deinit` then runs on that thread.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(
            owner, Isolation.removed(from: observer), in: .of(observer.isolation, addedOn: isolation), fileID, line)
    }

    /// Adds a method of the main actor, which runs there, and lives as long as the owner whose method it is.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// A method that is named here, as in the example, costs what a closure costs, in an optimised build. In a debug build,
    /// or if it comes from a variable, Swift applies it to the owner anew for each call, and allocates for that.
    ///
    /// In language mode 5 the compiler warns that an unapplied method is not `Sendable`, unless the upcoming feature
    /// `InferSendableFromCaptures` is on.
    ///
    /// There is another form for methods that do not belong to the main actor. A tuple with labels matches a method that
    /// takes it as one parameter, and not one with a parameter for each; a closure sees the labels.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - actor: Tells this form from the one for other methods.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (Parameters) -> Void,
        of owner: Owner, isolation actor: MainActor.Type = MainActor.self,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        // A form of its own, since the compiler shares the code that converts unapplied methods to `@isolated(any)` between
        // those methods of a class that differ in nothing but the isolation. Also, that type's context would hide from the
        // optimizer which method it is.
        register(
            owner, Isolation.removed(from: { @MainActor owner, parameters in method(owner)(parameters) }),
            in: .of(MainActor.shared), fileID, line)
    }

    /// Adds a method of another global actor, which runs there, or a nonisolated one, which runs on the notifying thread.
    ///
    /// It lives as long as the owner whose method it is.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Log.write, of: log)          // func write(_ text: String), of a class on no actor
    /// ```
    ///
    /// The method is applied to the owner for each call, for which Swift allocates; a closure is faster.
    ///
    /// If a class has methods of the same type, of which some belong to a global actor of yours and some to none, name
    /// only one kind of them in a module, and use closures for the others: the compiler takes the isolation of the one for
    /// that of the other. If the global actor is not public, the compiler stops with "function has wrong linkage to be
    /// called from": use a closure.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (Parameters) -> Void,
        of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(
            owner, { owner, parameters in Isolation.removed(from: method(owner))(parameters) },
            in: .of(method(owner).isolation), fileID, line)
    }

    /// Adds a method of the main actor that has no parameter, or several, to a source of `Void` or of an unlabelled tuple.
    ///
    /// ```swift
    /// playlist.cleared.add(method: PlaylistView.clear, of: self)          // func clear()
    /// table.moved.add(method: TableView.moveRow, of: self)                // func moveRow(_ from: Int, _ to: Int)
    /// ```
    ///
    /// Isolation, order and cost are those of the form for a method with one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - actor: Tells this form from the one for other methods.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func add<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (repeat each P) -> Void,
        of owner: Owner, isolation actor: MainActor.Type = MainActor.self,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        register(
            owner,
            Isolation.removed(from: { @MainActor (owner: Owner, parameters: Parameters) in
                method(owner)(repeat each parameters)
            }),
            in: .of(MainActor.shared), fileID, line)
    }

    /// Adds any other method that has no parameter, or several, to a source of `Void` or of an unlabelled tuple.
    ///
    /// Isolation, order and cost are those of the form for a method with one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func add<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (repeat each P) -> Void,
        of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        register(
            owner, { owner, parameters in Isolation.removed(fromMethod: method(owner))(repeat each parameters) },
            in: .of(method(owner).isolation), fileID, line)
    }

    /// Adds an observer that is isolated to the actor that owns it.
    ///
    /// ```swift
    /// actor Index {
    ///     var words: Set<String> = []
    ///
    ///     func observe(_ document: Document) {
    ///         document.wordAdded.add(self) { index, word in index.words.insert(word) }
    ///     }
    /// }
    /// ```
    ///
    /// The actor is held weakly, but retained while values are pending for it. For an observer that has something to await
    /// there is ``addAsync(buffering:_:isolation:fileID:line:)``, with the same forms.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs.
    ///   - observer: What to call with the actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: Actor>(
        _ owner: Owner, _ observer: @escaping @Sendable (isolated Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, Isolation.removed(from: observer), in: .of(owner), fileID, line)
    }

    /// Adds an observer that runs on the notifying thread, whatever code it was formed in.
    ///
    /// Use it for a logger or a counter in code that belongs to an actor, where a closure given to `add` would belong
    /// to the actor, too. This is the fastest form: the closure needs no box for its isolation.
    ///
    /// ```swift
    /// _ = playlist.itemAdded.addNonisolated { item in log.debug("added \(item.name)") }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: What to call; on any thread, and on several at once.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func addNonisolated(
        _ observer: @escaping @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(observer, in: nil, fileID, line)
    }

    /// Adds an observer that lives as long as its owner, and runs on the notifying thread.
    ///
    /// See ``addNonisolated(_:fileID:line:)``, and the form of `add` with an owner.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner; on any thread, and on several at once.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func addNonisolated<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ observer: @escaping @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, observer, in: nil, fileID, line)
    }
}

// MARK: - Making observers

// Inlinable, so that the target's type is known where the client knows the types of the owner and the parameters.
// Otherwise the runtime would look it up for each observer.
extension NotificationSource {
    /// Registers a function without its isolation, which runs where that mailbox is drained; if it is nil, on the
    /// notifying thread.
    @inlinable
    func register(
        _ call: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox?, _ fileID: StaticString, _ line: UInt
    ) -> ObserverToken {
        let site = Site(fileID: fileID, line: line)
        guard let mailbox else { return register(Observer(call: call, site: site)) }
        return register(Observer(IsolatedFunction(call, in: mailbox), site: site))
    }

    /// Registers a function with an owner, which runs where that mailbox is drained; if it is nil, on the notifying thread.
    @inlinable
    func register<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ call: @escaping @Sendable (Owner, Parameters) -> Void, in mailbox: Mailbox?,
        _ fileID: StaticString, _ line: UInt
    ) -> ObserverToken {
        let site = Site(fileID: fileID, line: line)
        guard let mailbox else { return register(Observer(OwnedTarget(owner, call), site: site)) }
        return register(Observer(IsolatedOwnedTarget(owner, call, in: mailbox), site: site))
    }
}
