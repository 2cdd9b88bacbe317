#if canImport(Dispatch)
public import Dispatch

extension NotificationSource {
    /// Adds an observer that runs on a dispatch queue, in the order of the notifications.
    ///
    /// Always asynchronously, from the queue itself too, and one call at a time, even on a concurrent queue. Removed on
    /// a serial queue, the observer is never called again, values already enqueued included.
    ///
    /// ```swift
    /// download.progressed.add(on: .main) { fraction in print(fraction) }
    /// ```
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - observer: What to call.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
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
    ///   - owner: Whom the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
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
    /// See the same form for sources that tell something.
    ///
    /// - Parameters:
    ///   - queue: Where the observer runs.
    ///   - owner: Whom the observer belongs to; held weakly.
    ///   - observer: What to call with the owner.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
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
