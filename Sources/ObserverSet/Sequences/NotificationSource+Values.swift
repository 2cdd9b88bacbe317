extension NotificationSource {
    /// What this source tells from now on, as an asynchronous sequence.
    ///
    /// The registration stands when this returns: nothing that is notified later is missed, whenever the iteration
    /// begins. See ``NotificationSequence`` for its end.
    ///
    /// ```swift
    /// for await item in playlist.itemAdded.values() { print(item.name) }
    /// ```
    ///
    /// Traps if there is room for less than one element ("NotificationSequence needs room for at least one element").
    ///
    /// - Parameters:
    ///   - buffering: How many elements wait for an iterator that is slower. By default all of them: use `.newest(1)`
    ///     where only the latest counts.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: A sequence that is live.
    /// - Complexity: Amortised O(1).
    public func values(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> NotificationSequence<Parameters> {
        buffering.checkRoom(of: "NotificationSequence", file: fileID, line: line)
        return NotificationSequence(Origin(self, buffering, fileID: fileID, line: line))
    }

    /// Waits for the next notification.
    ///
    /// It waits for the first one after the call. Between two calls nothing is listening: use
    /// ``values(buffering:fileID:line:)`` to miss none.
    ///
    /// ```swift
    /// if let name = await document.titleChanged.first() { print("renamed to \(name)") }
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: What was told; nil if the task is cancelled, or the set dies or removes all its observers before. The
    ///   registration has then ended. Waiting does not keep the set alive.
    /// - Complexity: Amortised O(1).
    public consuming func first(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async -> Parameters? {
        guard !Task.isCancelled else { return nil }
        var iterator = values(buffering: .oldest(1), fileID: fileID, line: line).makeAsyncIterator()
        // Nobody must keep the set alive by waiting for it.
        _ = consume self
        return await iterator.next(isolation: isolation)
    }

    /// Waits for the next notification of which something holds.
    ///
    /// ```swift
    /// let isDone = await download.progressed.first { fraction in fraction == 1 } != nil
    /// ```
    ///
    /// See ``first(isolation:fileID:line:)``.
    ///
    /// - Parameters:
    ///   - predicate: Whether it is the one; called on the notifying thread, until it first returns true.
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: Where the registration stands, for descriptions.
    ///   - line: Where the registration stands, for descriptions.
    /// - Returns: What was told; nil as without a condition.
    /// - Complexity: Amortised O(1), and for each notification meanwhile what the predicate takes.
    public consuming func first(
        where predicate: @escaping @Sendable (Parameters) -> Bool,
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async -> Parameters? {
        let matching = filter(predicate)
        _ = consume self
        return await (consume matching).first(isolation: isolation, fileID: fileID, line: line)
    }
}

extension Buffering {
    func policy<Element>(of element: Element.Type) -> AsyncStream<Element>.Continuation.BufferingPolicy {
        switch self {
        case .unbounded: .unbounded
        case .newest(let room): .bufferingNewest(room)
        case .oldest(let room): .bufferingOldest(room)
        }
    }
}
