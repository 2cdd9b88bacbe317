extension NotificationSource {
    /// Adds an observer that is called at most once, however many threads notify, and then removed.
    ///
    /// It is called where, and may do what, an observer of ``add(_:isolation:fileID:line:)``. Either it is called or a
    /// call of `remove()` returns true, never both.
    ///
    /// It is removed just before its call, for which the set's lock is taken for a moment. What other removed observers
    /// captured may be released then. So inside the call it is no longer counted, and its token is inactive. (There are
    /// two exceptions: the notification came before `addOnce` had returned, or another thread is removing it at that
    /// moment.)
    ///
    /// ```swift
    /// connection.opened.addOnce { print("connected") }
    /// ```
    ///
    /// - Parameters:
    ///   - observer: What to call.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce(
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { registration in
            Observer(
                { if registration.end() { call($0) } }, in: .of(observer.isolation, addedOn: isolation),
                site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds an observer that is called at most once, if its owner lives to see it.
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and the form of `add` with an owner.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        _ owner: Owner,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { registration in
            Observer(
                owner, { if registration.end() { call($0, $1) } },
                in: .of(observer.isolation, addedOn: isolation), site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds an observer that is isolated to the actor that owns it, and is called at most once.
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and the form of `add` with an actor.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs; held weakly.
    ///   - observer: What to call with the actor.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: Actor>(
        _ owner: Owner,
        _ observer: @escaping @Sendable (isolated Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        let call = Isolation.removed(from: observer)
        return registerOnce { registration in
            Observer(
                owner, { if registration.end() { call($0, $1) } }, in: .of(owner),
                site: Site(fileID: fileID, line: line))
        }
    }

    /// Adds a method of an owner as an observer that is called at most once, on the main actor, if its owner lives to see
    /// it.
    ///
    /// ```swift
    /// document.titleChanged.addOnce(method: Window.setTitle, of: self)        // func setTitle(_ title: String)
    /// ```
    ///
    /// See ``addOnce(_:isolation:fileID:line:)``, and `add(method:of:)`.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - actor: Tells this form from the one for nonisolated methods.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (Parameters) -> Void,
        of owner: Owner, isolation actor: MainActor.Type = MainActor.self,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addOnce(
            owner, { @MainActor owner, parameters in method(owner)(parameters) }, isolation: nil,
            fileID: fileID, line: line)
    }

    /// Adds a nonisolated method of an owner as an observer that is called at most once, on the notifying thread.
    ///
    /// Otherwise the same as the form for methods of the main actor.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addOnce<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @Sendable (Parameters) -> Void,
        of owner: Owner,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addOnce(
            owner, { owner, parameters in method(owner)(parameters) }, isolation: nil,
            fileID: fileID, line: line)
    }

    /// Adds a method without parameters, or with several, of an owner as an observer of `Void` or of an unlabelled
    /// tuple, which is called at most once, on the main actor.
    ///
    /// Otherwise the same as the form for one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - actor: Tells this form from the one for nonisolated methods.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    public func addOnce<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (repeat each P) -> Void,
        of owner: Owner, isolation actor: MainActor.Type = MainActor.self,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        addOnce(
            owner, { @MainActor owner, parameters in method(owner)(repeat each parameters) }, isolation: nil,
            fileID: fileID, line: line)
    }

    /// Adds a nonisolated method without parameters, or with several, of an owner as an observer of `Void` or of an
    /// unlabelled tuple, which is called at most once, on the notifying thread.
    ///
    /// Otherwise the same as the form for one parameter.
    ///
    /// - Parameters:
    ///   - method: The method, unapplied.
    ///   - owner: The object whose method it is; held weakly.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before it has been called.
    /// - Complexity: Amortised O(1).
    @discardableResult
    @_disfavoredOverload
    public func addOnce<Owner: AnyObject & Sendable, each P>(
        method: @escaping @Sendable (Owner) -> @Sendable (repeat each P) -> Void,
        of owner: Owner,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken where Parameters == (repeat each P) {
        addOnce(
            owner, { owner, parameters in method(owner)(repeat each parameters) }, isolation: nil,
            fileID: fileID, line: line)
    }

    /// Registers an observer of which only one call goes through: the one that ends the registration.
    func registerOnce(_ observer: (EndingRegistration) -> Observer<Parameters>) -> ObserverToken {
        let registration = EndingRegistration()
        return registration.begin(register(observer(registration)))
    }
}
