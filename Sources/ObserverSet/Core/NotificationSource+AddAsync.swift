// Observers that await. They have a name of their own, so that these forms do not compete with those of `add`.

extension NotificationSource {
    /// Adds an observer without an owner, whose calls are awaited.
    ///
    /// Calls do not overlap: each begins when the one before has returned, suspensions included. They are made in the
    /// order of the notifications. An actor's observer is not re-entered by its own next value, but other
    /// work of the actor may run while a call is suspended. A notification only enqueues the value: the observer is
    /// never called in place, whatever actor the notifier is on.
    ///
    /// A closure literal is isolated to the actor of the code around it, as with `Task { }`; in nonisolated code, to
    /// none. On an actor's instance it is so only if it captures the actor strongly, which keeps that alive: use the
    /// form with an actor as the owner there. Another asynchronous closure there, as with `[weak self]`, belongs to no
    /// actor. A method that an actor's instance adds for itself, `addAsync(hear)`, runs on it, and captures it as well.
    ///
    /// ```swift
    /// let token = document.titleChanged.addAsync { title in await history.append(title) }
    /// ```
    ///
    /// A value is pending until the calls before it have returned. `buffering` limits how many values are pending, without
    /// the value of the call in progress. Values for which there is no room are dropped, and counted in
    /// ``ObserverToken/droppedCount``. If there is room for less than one value, the program stops with "An observer that
    /// awaits needs room for at least one element; use .newest(1) instead of .newest(0)".
    ///
    /// The observer lives as long as the source does, or until its token is removed. Its removal drops pending values, and
    /// cancels the call in progress without waiting for its end: `Task.isCancelled` is true in that call, and its
    /// cancellation handlers run on the thread that removes. A call that removes its own observer is not cancelled, and
    /// goes on; nor is one whose observer is removed in a task that it has started with `Task { }`, unless that task is
    /// detached. When the set is released, pending values are still delivered. ``settled()`` waits for these calls, too.
    ///
    /// There is no order between two observers that await, nor between one that awaits and its actor's synchronous ones:
    /// observe several sources as one, with ``map(_:)`` and `merge(with:)`, where that matters.
    ///
    /// Each call has the highest priority of the pending values, and no task-local values of a notifier.
    ///
    /// May be called on any thread. The page *On the server* builds a server of such observers.
    ///
    /// - Parameters:
    ///   - buffering: How many values may be pending. By default all of them:
    ///     use `.newest(1)` where only the latest counts.
    ///   - observer: What to call, and to await.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration. Dropping it ends nothing.
    /// - Complexity: Amortised O(1).
    public func addAsync(
        buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(nil, on: observer.isolation, addedOn: isolation, buffering, fileID, line) {
            _, parameters in
            await observer(parameters)
        }
    }

    /// Adds an observer that lives as long as its owner, which it is passed, and whose calls are awaited.
    ///
    /// The owner is held weakly while values are pending, and strongly during its call, suspensions included. When the
    /// owner is released, pending values are dropped. Use the owner that is passed rather than capturing it, which would
    /// keep it alive.
    ///
    /// ```swift
    /// document.titleChanged.addAsync(view, buffering: .newest(1)) { view, title in
    ///     try? await Task.sleep(for: .milliseconds(100))
    ///     view.setTitle(title)
    /// }
    /// ```
    ///
    /// A call that waits for something that never happens keeps the owner alive until it is cancelled, by the removal of its
    /// token, and ends. For isolation, order, buffering and removal see
    /// ``addAsync(buffering:_:isolation:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - buffering: How many values may be pending; by default all.
    ///   - observer: What to call with the owner, and to await.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: AnyObject & Sendable>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(owner, on: observer.isolation, addedOn: isolation, buffering, fileID, line) {
            owner, parameters in
            await observer(owner as! Owner, parameters)
        }
    }

    /// Adds an observer that is isolated to the actor that owns it, and whose calls are awaited.
    ///
    /// The actor is called with the next value only when the call for this one has returned. While that call is
    /// suspended, the actor may do other work, as any actor may.
    ///
    /// ```swift
    /// actor Journal {
    ///     private var lines: [String] = []
    ///
    ///     func follow(_ document: Document) {
    ///         document.titleChanged.addAsync(self) { journal, title in await journal.write(title) }
    ///     }
    ///
    ///     private func write(_ title: String) async {
    ///         try? await Task.sleep(for: .milliseconds(1))
    ///         lines.append(title)
    ///     }
    /// }
    /// ```
    ///
    /// The actor is held weakly. If `buffering` is unbounded, it is retained while values are pending, and receives all of
    /// them. For order, buffering and removal see ``addAsync(buffering:_:isolation:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs; held weakly.
    ///   - buffering: How many values may be pending; by default all.
    ///   - observer: What to call with the actor, and to await.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: Actor>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        _ observer: @escaping @Sendable (isolated Owner, Parameters) async -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(owner, on: owner, buffering, fileID, line) { owner, parameters in
            await observer(owner as! Owner, parameters)
        }
    }

    private func registerAwaiting(
        _ owner: AwaitingTarget<Parameters>.Owner?, on isolation: (any Actor)?,
        addedOn adder: (any Actor)? = nil, _ buffering: Buffering, _ fileID: StaticString, _ line: UInt,
        _ function: @escaping AwaitingTarget<Parameters>.Function
    ) -> ObserverToken {
        buffering.checkRoom(of: "An observer that awaits", file: fileID, line: line)
        let mailbox = AwaitingMailbox(on: Mailbox.actor(for: isolation, addedOn: adder), buffering)
        let target = AwaitingTarget(owner: owner, in: mailbox, function)
        return register(Observer(target, site: Site(fileID: fileID, line: line)))
    }
}

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and whose calls are awaited.
    ///
    /// ```swift
    /// ObserverGroup(playlist.itemAdded, playlist.cleared).addAsync(view, buffering: .newest(1)) { view in
    ///     try? await Task.sleep(for: .milliseconds(100))
    ///     view.reload()
    /// }
    /// ```
    ///
    /// See the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - buffering: How many values may be pending; by default all.
    ///   - observer: What to call with the owner, and to await.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: AnyObject & Sendable>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(owner, on: observer.isolation, addedOn: isolation, buffering, fileID, line) {
            owner, _ in
            await observer(owner as! Owner)
        }
    }

    /// Adds an observer of `Void` that is isolated to the actor that owns it, and whose calls are awaited.
    ///
    /// ```swift
    /// document.closed.addAsync(history) { history in
    ///     await Task.yield()
    ///     history.names = []
    /// }
    /// ```
    ///
    /// See the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs; held weakly.
    ///   - buffering: How many values may be pending; by default all.
    ///   - observer: What to call with the actor, and to await.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: Actor>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        _ observer: @escaping @Sendable (isolated Owner) async -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addAsync(
            owner, buffering: buffering, { (owner: isolated Owner, _: Void) in await observer(owner) },
            fileID: fileID, line: line)
    }
}
