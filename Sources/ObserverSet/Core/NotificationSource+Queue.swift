#if canImport(Dispatch)
public import Dispatch

extension NotificationSource {
    /// Adds an observer that runs on a dispatch queue, in the order of the notifications.
    ///
    /// The observer is always called asynchronously, even if the notifier is on the queue. Notifications from one
    /// thread reach the observers on a serial queue in the order they were sent, even across sets. On a concurrent
    /// queue, the calls of one observer do not overlap, but those of different observers may. If the observer is
    /// removed on its own serial queue, it is never called again, and values that are pending are dropped.
    ///
    /// If the observer is removed while values are pending, or during its call, the set may hold the queue until
    /// ``settled()`` is called on the set, or the set is deallocated.
    ///
    /// ```swift
    /// let token = download.progressed.addNonisolated(on: .main) { fraction in print(fraction) }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: The queue on which the observer runs.
    ///   - observer: The function to call.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration.
    /// - Complexity: Amortised O(1).
    public func addNonisolated(
        on queue: DispatchQueue, _ observer: @escaping @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(observer, in: QueueMailbox(queue), Site(fileID: fileID, line: line))
    }

    /// Adds an observer that lives as long as its owner, and runs on a dispatch queue.
    ///
    /// Pending values do not keep the owner alive. For more, see ``addNonisolated(on:_:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the observer runs.
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addNonisolated<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue, _ owner: Owner, _ observer: @escaping @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(owner, Isolation.ownerErased(observer), in: QueueMailbox(queue), Site(fileID: fileID, line: line))
    }
}

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and runs on a dispatch
    /// queue.
    ///
    /// For more, see the form for sources with parameters.
    ///
    /// - Parameters:
    ///   - queue: The queue on which the observer runs.
    ///   - owner: The object that the observer belongs to, which is held weakly.
    ///   - observer: The function to call with the owner.
    ///   - fileID: The file of the registration, which descriptions show.
    ///   - line: The line of the registration, which descriptions show.
    /// - Returns: A token that can end the registration before the owner goes away.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addNonisolated<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue, _ owner: Owner, _ observer: @escaping @Sendable (Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addNonisolated(on: queue, owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
#endif
