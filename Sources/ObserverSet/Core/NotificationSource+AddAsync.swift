// These are the forms for observers that await. They have a name of their own, so that they don't compete with the
// forms of `add`.

extension NotificationSource {
    /// Adds an observer without an owner, whose calls are awaited.
    ///
    /// Calls do not overlap: each call begins when the previous one has returned, suspensions included. The calls are
    /// made in the order of the notifications. So the next value never re-enters an actor's observer, but while a call
    /// is suspended, the actor may do other work. A notification only enqueues the value. The observer is never called
    /// in place, even if the notifier is on its actor.
    ///
    /// A closure literal is isolated to the actor of the code around it, as with `Task { }`, and in nonisolated code to
    /// no actor. In an actor's own code, that holds only if the closure captures the actor strongly, which keeps the
    /// actor alive. So use the form with an actor as the owner there. Any other asynchronous closure there, for example
    /// one with `[weak self]`, belongs to no actor. A method that an actor adds in its own code, as in
    /// `addAsync(hear)`, runs on the actor and captures it, too. A nonisolated function that main-actor code adds by
    /// its name runs off the main actor, and so it receives values even while the main actor is blocked.
    ///
    /// ```swift
    /// let token = document.titleChanged.addAsync { title in await history.append(title) }
    /// ```
    ///
    /// A value is pending until the calls before it have returned. `buffering` limits how many values may be pending.
    /// The value of the call in progress doesn't count. Values for which there is no room are dropped, and counted in
    /// ``ObserverToken/droppedCount``. If there is room for less than one value, the program stops with "An observer
    /// that awaits needs room for at least one element; use .newest(1) instead of .newest(0)".
    ///
    /// The observer lives as long as the source, or until you remove it with its token. When it is removed, its pending
    /// values are dropped. The call in progress is cancelled, but nobody waits for its end: `Task.isCancelled` is true
    /// in that call, and its cancellation handlers run on the thread that removes the observer. A call isn't cancelled
    /// if the observer is removed inside the call itself, or in a `Task { }` that the call has started. (A detached
    /// task does cancel it.) When the set is deallocated, pending values are still delivered. ``settled()`` waits for
    /// these calls, too.
    ///
    /// There is no order between two observers that await, nor between an observer that awaits and its actor's
    /// synchronous ones. If the order matters, observe several sources as one, with ``map(_:)`` and `merge(with:)`.
    ///
    /// Each call has the highest priority of the pending values, and no task-local values of a notifier.
    ///
    /// You may call this method on any thread. The page *On the server* builds a server with such observers.
    ///
    /// - Parameters:
    ///   - buffering: How many values may be pending. By default, all of them may. Use `.newest(1)` if only the latest
    ///     value counts.
    ///   - observer: The function to call and await.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration. If you drop the token, nothing ends.
    /// - Complexity: Amortised O(1).
    public func addAsync(
        buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Parameters) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(nil, on: observer.isolation, elseOn: isolation, buffering, fileID, line) {
            _, parameters in
            await observer(parameters)
        }
    }

    /// Adds an observer that lives as long as its owner, which it is passed, and whose calls are awaited.
    ///
    /// The owner is held weakly while values are pending, and strongly during a call, suspensions included. When the
    /// owner is deallocated, pending values are dropped. In the closure, use the owner that is passed. If you capture
    /// it instead, the closure keeps it alive.
    ///
    /// ```swift
    /// document.titleChanged.addAsync(view, buffering: .newest(1)) { view, title in
    ///     try? await Task.sleep(for: .milliseconds(100))
    ///     view.setTitle(title)
    /// }
    /// ```
    ///
    /// If a call waits for something that never happens, it keeps the owner alive. To end such a call, remove the
    /// observer with its token, which cancels the call. For isolation, order, buffering and removal, see
    /// ``addAsync(buffering:_:isolation:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - buffering: How many values may be pending. By default, all of them may.
    ///   - observer: The function to call with the owner, and to await.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: AnyObject & Sendable>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner, Parameters) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(owner, on: observer.isolation, elseOn: isolation, buffering, fileID, line) {
            owner, parameters in
            await observer(owner as! Owner, parameters)
        }
    }

    /// Adds an observer that is isolated to the actor that owns it, and whose calls are awaited.
    ///
    /// The observer is called with the next value only when the call with this one has returned. While that call is
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
    /// The actor is held weakly. If `buffering` is unbounded, the actor is retained while values are pending, and it
    /// receives all of them. For order, buffering and removal, see ``addAsync(buffering:_:isolation:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs, which is held weakly.
    ///   - buffering: How many values may be pending. By default, all of them may.
    ///   - observer: The function to call with the actor, and to await.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
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
        elseOn adder: (any Actor)? = nil, _ buffering: Buffering, _ fileID: StaticString, _ line: UInt,
        _ function: @escaping AwaitingTarget<Parameters>.Function
    ) -> ObserverToken {
        buffering.checkRoom(of: "An observer that awaits", file: fileID, line: line)
        // That code of the main actor adds a nonisolated function is no reason to run the function there.
        let mailbox = AwaitingMailbox(on: isolation ?? (adder === MainActor.shared ? nil : adder), buffering)
        let target = AwaitingTarget(owner: owner, in: mailbox, function)
        return register(Observer(target, site: Site(fileID: fileID, line: line)))
    }
}

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and whose calls are
    /// awaited.
    ///
    /// ```swift
    /// ObserverGroup(playlist.itemAdded, playlist.cleared).addAsync(view, buffering: .newest(1)) { view in
    ///     try? await Task.sleep(for: .milliseconds(100))
    ///     view.reload()
    /// }
    /// ```
    ///
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - buffering: How many values may be pending. By default, all of them may.
    ///   - observer: The function to call with the owner, and to await.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addAsync<Owner: AnyObject & Sendable>(
        _ owner: Owner, buffering: Buffering = .unbounded,
        @_inheritActorContext _ observer: @escaping @isolated(any) @Sendable (Owner) async -> Void,
        isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        registerAwaiting(owner, on: observer.isolation, elseOn: isolation, buffering, fileID, line) {
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
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - owner: The actor on which the observer runs, which is held weakly.
    ///   - buffering: How many values may be pending. By default, all of them may.
    ///   - observer: The function to call with the actor, and to await.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
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
