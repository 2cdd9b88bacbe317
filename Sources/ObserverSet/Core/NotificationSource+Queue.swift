#if canImport(Dispatch)
public import Dispatch

extension NotificationSource {
    /// Adds an observer that runs on a dispatch queue, in the order of the notifications.
    ///
    /// It is always called asynchronously, even if the notifier is on the queue. Observers on one serial queue receive what
    /// a thread notifies in one order, whichever sets it concerns, and among other work in its place. On a concurrent queue,
    /// an observer is called one call at a time, and different observers may run at once. If it is removed on its own serial
    /// queue, it is never called again, and values already enqueued are dropped.
    ///
    /// If it is removed while values for it wait, or during its call, the set may hold the queue until it is settled or
    /// released.
    ///
    /// ```swift
    /// download.progressed.addNonisolated(on: .main) { fraction in print(fraction) }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - observer: What to call.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration.
    /// - Complexity: Amortised O(1).
    public func addNonisolated(
        on queue: DispatchQueue,
        _ observer: @escaping @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(Observer(observer, in: QueueMailbox(queue), site: Site(fileID: fileID, line: line)))
    }

    /// Adds an observer that lives as long as its owner, and runs on a dispatch queue.
    ///
    /// The owner is not kept alive by values that wait for the queue. See ``addNonisolated(on:_:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addNonisolated<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue,
        _ owner: Owner,
        _ observer: @escaping @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(Observer(owner, observer, in: QueueMailbox(queue), site: Site(fileID: fileID, line: line)))
    }
}

extension NotificationSource where Parameters == Void {
    /// Adds an observer of `Void` that lives as long as its owner, which is all it is passed, and runs on a dispatch queue.
    ///
    /// See the same form for sources with parameters.
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - owner: The object that the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration before its owner does.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func addNonisolated<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue,
        _ owner: Owner,
        _ observer: @escaping @Sendable (Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        addNonisolated(on: queue, owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}
#endif
