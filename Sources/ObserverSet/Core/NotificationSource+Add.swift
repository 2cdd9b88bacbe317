// The `add` family, which is written once for all sources. Each form makes an `Observer` and registers it.
//
// These methods are `@inlinable`, because a client that knows the source's type then calls `register` without witness
// tables. Apart from that, only the code that makes an observer is inlinable, and nothing of the registry is.

extension NotificationSource {
    /// Adds an observer without an owner, which runs on the actor that its closure belongs to.
    ///
    /// A closure or function that has isolation of its own, such as `@MainActor`, runs on that actor. Any other runs on
    /// the actor whose code calls this method, the main actor included, whatever it captures. In nonisolated code, it
    /// belongs to no actor. (An exception is an observer that is added inside another closure, which doesn't capture
    /// the actor.)
    ///
    /// The same holds for a function's name. So in main-actor code, `add(log.write)` does what
    /// `add { log.write($0) }` does: `write` is called on the main actor, and later if the notification comes from
    /// elsewhere, so its values pile up while the main actor is busy. For the notifying thread, write
    /// `addNonisolated(log.write)`.
    ///
    /// If the actor's code calls `notify`, the observer is called before `notify` returns, with the exceptions that
    /// ``ObserverSet/ObserverSet/notify(_:isolation:)-(Parameters,_)`` lists. For an observer on the main actor, that
    /// holds for any code that runs there. Otherwise, the observer is called later, on the actor, in the order of the
    /// notifications. An observer that belongs to no actor is called on the notifying thread.
    ///
    /// An actor that adds an observer is held weakly, unless the closure captures it. A method of the actor, as in
    /// `add(hear)`, does capture it. If a closure or function has no isolation of its own, and the actor that added it
    /// is gone, it is called on the notifying thread, still one value after another: what a nested notification sends,
    /// or one on another thread, is enqueued behind the call in progress. (If another actor has been given the memory
    /// of the one that is gone, that actor's own notifications call the function in place.)
    ///
    /// The observer lives as long as the source, or until you remove it with its token. If something that it uses
    /// should not live that long, capture that weakly, or use the form with an owner.
    ///
    /// ```swift
    /// let token = playlist.cleared.add { print("cleared") }
    /// ```
    ///
    /// If the observer has something to await, use ``addAsync(buffering:_:isolation:fileID:line:)``. With a `Task { }`
    /// in the closure, the order would be lost, because the tasks of two notifications overlap, and either may run
    /// first.
    ///
    /// You may call this method on any thread. An observer that is added during a notification is first called by the
    /// next one (guarantee 3).
    ///
    /// - Parameters:
    ///   - observer: The function to call.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration. If you drop the token, nothing ends.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func add(
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(observer, elseOn: isolation, Site(fileID: fileID, line: line))
    }

    /// Adds an observer that lives as long as its owner, which it is passed, and that runs on the actor that its
    /// closure belongs to.
    ///
    /// The owner is held weakly, and strongly only during a call. So you don't have to remove anything when the owner
    /// goes away. In the closure, use the owner that is passed. If you capture it instead, the closure keeps it alive.
    ///
    /// ```swift
    /// playlist.itemAdded.add(view) { view, item in view.insert(item.name, at: item.index) }
    /// ```
    ///
    /// For isolation, order and threads, see ``add(_:isolation:fileID:line:)``. During a call, and for a moment also in
    /// `count` and the like, the library may hold the last reference to the owner. The owner's `deinit` then runs on
    /// that thread.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, Isolation.ownerErased(observer), elseOn: isolation, Site(fileID: fileID, line: line))
    }

    /// Adds a method of the main actor, which runs there, and lives as long as the owner whose method it is.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// If you name the method here, as in the example, it costs what a closure costs in an optimised build. In a debug
    /// build, or if the method comes from a variable, Swift applies it to the owner anew for each call, and allocates
    /// memory for that.
    ///
    /// In language mode 5 without complete checking, use this method only if the method or its class is marked
    /// `@MainActor`. A method that is on the main actor only by default is taken for a nonisolated one, with a warning,
    /// and runs on the notifying thread. A closure doesn't have this problem.
    ///
    /// For methods that don't belong to the main actor, there is another form. If the values are tuples with labels, a
    /// method must take the tuple as one parameter. A method with a parameter for each element doesn't match. A closure
    /// sees the labels.
    ///
    /// - Parameters:
    ///   - method: The method, not applied to an owner yet.
    ///   - owner: The object whose method it is, which is held weakly.
    ///   - actor: Distinguishes this method from the one for methods that don't belong to the main actor.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (Parameters) -> Void,
        of owner: Owner, isolation actor: MainActor.Type = MainActor.self,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        // This is a separate form, because the compiler shares the code that converts unapplied methods to
        // `@isolated(any)`. It does so between methods of a class that differ in nothing but their isolation, and so
        // gives one of them the isolation of the other. Also, the context of that type would hide from the optimizer
        // which method it is.
        register(
            owner, Isolation.removed(fromMain: { owner, parameters in method(owner)(parameters) }),
            in: .of(MainActor.shared), Site(fileID: fileID, line: line))
    }

    /// Adds a method of another global actor, which runs there, or a nonisolated method, which runs on the notifying
    /// thread.
    ///
    /// Only the method's own isolation counts, and not the actor whose code adds it.
    ///
    /// The observer lives as long as the owner whose method it is.
    ///
    /// ```swift
    /// document.titleChanged.add(method: Log.write, of: log)       // nonisolated func write(_ text: String)
    /// ```
    ///
    /// Swift applies the method to the owner for each call, and allocates memory for that, so a closure is faster.
    ///
    /// If some methods of a class belong to a global actor of yours, and others of the same type belong to none, name
    /// only one kind of them in a module, and use closures for the others. Otherwise, the compiler gives both the
    /// isolation of one. If the global actor is not public, the compiler may stop with "function has wrong linkage to
    /// be called from". Use a closure then, too.
    ///
    /// - Parameters:
    ///   - method: The method, not applied to an owner yet.
    ///   - owner: The object whose method it is, which is held weakly.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (Parameters) -> Void,
        of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(
            owner,
            Isolation.ownerErased { (owner: Owner, parameters: Parameters) in
                Isolation.removed(from: method(owner))(parameters)
            },
            in: .of(method(owner).isolation), Site(fileID: fileID, line: line))
    }

    /// Adds a method of the main actor that has no parameter, or several, to a source of `Void` or of an unlabelled
    /// tuple.
    ///
    /// ```swift
    /// playlist.cleared.add(method: PlaylistView.clear, of: self)          // func clear()
    /// table.moved.add(method: TableView.moveRow, of: self)                // func moveRow(_ from: Int, _ to: Int)
    /// ```
    ///
    /// Isolation, order and cost are the same as for a method with one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, not applied to an owner yet.
    ///   - owner: The object whose method it is, which is held weakly.
    ///   - actor: Distinguishes this method from the one for methods that don't belong to the main actor.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
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
            Isolation.removed(fromMain: { (owner: Owner, parameters: Parameters) in
                method(owner)(repeat each parameters)
            }),
            in: .of(MainActor.shared), Site(fileID: fileID, line: line))
    }

    /// Adds any other method that has no parameter, or several, to a source of `Void` or of an unlabelled tuple.
    ///
    /// Isolation, order and cost are the same as for a method with one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, not applied to an owner yet.
    ///   - owner: The object whose method it is, which is held weakly.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    @inlinable
    public func add<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @isolated(any) @Sendable (repeat each P) -> Void,
        of owner: Owner, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        register(
            owner,
            Isolation.ownerErased { (owner: Owner, parameters: Parameters) in
                Isolation.removed(fromMethod: method(owner))(repeat each parameters)
            },
            in: .of(method(owner).isolation), Site(fileID: fileID, line: line))
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
    /// The actor is held weakly, but it is retained while values are pending for it. If the observer has something to
    /// await, use ``addAsync(buffering:_:isolation:fileID:line:)``, which has the same forms.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs, which is held weakly.
    ///   - observer: The function to call with the actor.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func add<Owner: Actor>(
        _ owner: Owner, _ observer: @escaping @Sendable (isolated Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, Isolation.removed(from: observer), in: .of(owner), Site(fileID: fileID, line: line))
    }

    /// Adds an observer that runs on the notifying thread, whatever actor the code around it belongs to.
    ///
    /// Use it for a logger or a counter in an actor's code, where a closure or a function that you pass to `add` would
    /// belong to the actor, too. In language mode 5, pass a closure, and not a main-actor function's name, whose
    /// isolation the compiler may drop without a warning (see the page *Guarantees*). This is the fastest form, because
    /// the closure needs no box for its isolation.
    ///
    /// ```swift
    /// _ = playlist.itemAdded.addNonisolated { item in log.debug("added \(item.name)") }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: The function to call, on any thread, and perhaps on several at once.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration.
    /// - Complexity: Amortised O(1).
    @inlinable
    public func addNonisolated(
        _ observer: @escaping @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(observer, in: nil, Site(fileID: fileID, line: line))
    }

    /// Adds an observer that lives as long as its owner, and runs on the notifying thread.
    ///
    /// For more, see ``addNonisolated(_:fileID:line:)``, and the form of `add` with an owner.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner, on any thread, and perhaps on several at once.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @inlinable
    public func addNonisolated<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ observer: @escaping @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, Isolation.ownerErased(observer), in: nil, Site(fileID: fileID, line: line))
    }
}

// MARK: - Making observers

// These methods are inlinable, so that the target's type is known where the client knows the type of the parameters.
// Otherwise, the runtime would look up that type for each observer. But they aren't inlined: a client has one copy for
// each type of parameters, and each `add` only passes its own arguments. For the same reason, the class of the owner is
// forgotten, and the function carries its isolation until it gets here.
extension NotificationSource {
    /// Registers a function that runs where it belongs: on its own actor, or else on `adder`, if there is one.
    @inlinable @inline(never)
    func register(
        _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void, elseOn adder: (any Actor)?, _ site: Site
    ) -> ObserverToken {
        let mailbox = Mailbox.of(observer.isolation, elseOn: adder)
        return register(Observer(Isolation.removed(from: observer), in: mailbox, site))
    }

    /// Registers a function of an owner that runs where it belongs.
    @inlinable @inline(never)
    func register(
        _ owner: AnyObject, _ observer: @escaping @isolated(any) @Sendable (AnyObject, Parameters) -> Void,
        elseOn adder: (any Actor)?, _ site: Site
    ) -> ObserverToken {
        let mailbox = Mailbox.of(observer.isolation, elseOn: adder)
        return register(Observer(owner, Isolation.removed(from: observer), in: mailbox, site))
    }

    /// Registers a function without its isolation, which runs on the actor or queue of `mailbox`, or on the notifying
    /// thread if that is nil.
    @inlinable
    func register(
        _ call: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox?, _ site: Site
    ) -> ObserverToken { register(Observer(call, in: mailbox, site)) }

    /// Registers a function of an owner without its isolation, which runs on the actor or queue of `mailbox`, or on the
    /// notifying thread if that is nil.
    @inlinable @inline(never)
    func register(
        _ owner: AnyObject, _ call: @escaping @Sendable (AnyObject, Parameters) -> Void, in mailbox: Mailbox?,
        _ site: Site
    ) -> ObserverToken { register(Observer(owner, call, in: mailbox, site)) }
}

extension Observer {
    /// Makes an observer that runs on the actor or queue of `mailbox`, or on the notifying thread if that is nil.
    @inlinable @inline(__always)
    init(_ call: @escaping @Sendable (Parameters) -> Void, in mailbox: Mailbox?, _ site: Site) {
        if let mailbox {
            self.init(IsolatedFunction(call, in: mailbox), site: site)
        } else {
            self.init(call: call, site: site)
        }
    }

    @inlinable @inline(__always)
    init(
        _ owner: AnyObject, _ call: @escaping @Sendable (AnyObject, Parameters) -> Void, in mailbox: Mailbox?,
        _ site: Site
    ) {
        if let mailbox {
            self.init(IsolatedOwnedTarget(owner, call, in: mailbox), site: site)
        } else {
            self.init(OwnedTarget(owner, call), site: site)
        }
    }
}
