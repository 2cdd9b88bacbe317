#if canImport(Dispatch)
public import Dispatch

extension NotificationSource {
    /// Adds an observer that runs on a dispatch queue, in the order of the notifications.
    ///
    /// It is always called asynchronously, even if the notifier is on the queue, and one call at a time, even on a
    /// concurrent queue. If it is removed on its own serial queue, it is never called again, and values already
    /// enqueued are dropped.
    ///
    /// ```swift
    /// download.progressed.add(on: .main) { fraction in print(fraction) }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - observer: What to call.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A token that ends the registration.
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func add(
        on queue: DispatchQueue,
        _ observer: @escaping @Sendable (Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(Observer(observer, at: Destination(queue), site: Site(fileID: fileID, line: line)))
    }

    /// Adds an observer that lives as long as its owner, and runs on a dispatch queue, in the order of the
    /// notifications.
    ///
    /// The owner is not kept alive by values that wait for the queue. See ``add(on:_:fileID:line:)``.
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
    public func add<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue,
        _ owner: Owner,
        _ observer: @escaping @Sendable (Owner, Parameters) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        register(Observer(owner, observer, at: Destination(queue), site: Site(fileID: fileID, line: line)))
    }
}

extension NotificationSource where Parameters == Void {
    /// Adds an observer that lives as long as its owner, and runs on a dispatch queue, in the order of the
    /// notifications.
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
    public func add<Owner: AnyObject & Sendable>(
        on queue: DispatchQueue,
        _ owner: Owner,
        _ observer: @escaping @Sendable (Owner) -> Void,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> ObserverToken {
        add(on: queue, owner, { owner, _ in observer(owner) }, fileID: fileID, line: line)
    }
}

extension Destination {
    fileprivate convenience init(_ queue: DispatchQueue) {
        self.init(queue: queue, async: { queue.async(execute: $0) }, label: { queue.label })
    }
}
#endif
