extension NotificationSource {
    /// The notifications of this source from now on, as an asynchronous sequence.
    ///
    /// The observer has been registered when this returns: nothing that is notified later is missed, whenever the
    /// iteration begins. See ``NotificationSequence`` for its end.
    ///
    /// ```swift
    /// for await item in playlist.itemAdded.values() { print(item.name) }
    /// ```
    ///
    /// The program stops if there is room for less than one element ("NotificationSequence needs room for at least one
    /// element").
    ///
    /// - Parameters:
    ///   - buffering: How many elements wait for a slow iterator. By default all of them. Use `.newest(1)` if only the
    ///     latest is needed.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A sequence that is registered already.
    /// - Complexity: Amortised O(1).
    public func values(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> NotificationSequence<Parameters> {
        buffering.checkRoom(of: "NotificationSequence", file: fileID, line: line)
        return NotificationSequence(SequenceRegistration(self, buffering, fileID: fileID, line: line))
    }

    /// The notifications of this source from now on, as the standard library's stream.
    ///
    /// For an interface whose clients are not to know this package:
    ///
    /// ```swift
    /// extension Document {
    ///     var titles: AsyncStream<String> { titleChanged.stream() }
    /// }
    /// ```
    ///
    /// The observer has been registered when this returns: nothing that is notified later is missed, whenever the
    /// iteration begins. The stream ends, for good, when the source ends the registration: the set is released, or
    /// removes all its observers, and the notifications then in flight have ended. What was buffered until then is still
    /// delivered. It does not keep the set alive. The registration ends when the stream and its iterators are dropped, or a
    /// task that waits for an element is cancelled.
    ///
    /// An `AsyncStream` is for one loop: if several iterate over it, each element goes to one of them. Make a stream for
    /// each, or use ``values(buffering:fileID:line:)``. That also counts the elements that were dropped; a stream does not
    /// show them, except for one of ``countingDrops``.
    ///
    /// The program stops if there is room for less than one element ("AsyncStream needs room for at least one element").
    ///
    /// - Parameters:
    ///   - buffering: How many elements wait for a slow iterator. By default all of them. Use `.newest(1)` if only the
    ///     latest is needed.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A stream that is registered already.
    /// - Complexity: Amortised O(1).
    public func stream(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> AsyncStream<Parameters> {
        buffering.checkRoom(of: "AsyncStream", file: fileID, line: line)
        return stream(buffering, Subscription(in: Registrations()), fileID: fileID, line: line)
    }

    /// Waits for the next notification.
    ///
    /// It waits for the first one after the call. What is notified between two calls is missed: use
    /// ``values(buffering:fileID:line:)`` to receive all. A call in a task of its own, as with `async let`, may begin after
    /// what is notified next; make the sequence of values first, and wait for its first element in the task.
    ///
    /// ```swift
    /// if let name = await document.titleChanged.first() { print("renamed to \(name)") }
    /// let isDone = await download.progressed.filter { fraction in fraction == 1 }.first() != nil
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's own, filled in by the compiler.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: The parameters; nil if the task is cancelled before it has resumed with them, or the set is released or
    ///   removes all its observers before it is notified. The registration has then ended. Waiting does not keep the set
    ///   alive, unless it is held as an `any NotificationSource`, which the caller keeps until the call returns.
    /// - Complexity: Amortised O(1).
    public consuming func first(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async -> Parameters? {
        guard !Task.isCancelled else { return nil }
        var iterator = values(buffering: .oldest(1), fileID: fileID, line: line).makeAsyncIterator()
        // A task that waits for the set must not keep it alive.
        _ = consume self
        return await iterator.next(isolation: isolation)
    }
}

extension Buffering {
    func policy<Element>(of element: Element.Type) -> AsyncStream<Element>.Continuation.BufferingPolicy {
        switch self {
        case .unbounded: .unbounded
        case .newest(let room): .bufferingNewest(room)
        case .restarting: .bufferingNewest(1)
        case .oldest(let room): .bufferingOldest(room)
        }
    }
}
