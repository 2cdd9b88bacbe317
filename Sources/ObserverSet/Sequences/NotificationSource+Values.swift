extension NotificationSource {
    /// The notifications of this source from now on, as an asynchronous sequence.
    ///
    /// The observer has been registered when this returns: nothing that is notified later is missed, whenever the
    /// iteration begins.
    ///
    /// ```swift
    /// for await item in playlist.itemAdded.values() { print(item.name) }
    /// ```
    ///
    /// The elements of one notifying thread arrive in order. They are buffered on that thread, which never waits for an
    /// iterator; the stream takes its lock for a moment, and may allocate.
    ///
    /// The stream **finishes** when its source ends the registration: the set is released, or removes all its observers, and
    /// the notifications then in progress have ended. What was buffered until then is still received. A stream of merged
    /// sources or a group finishes when all members have ended it. It keeps no set alive; a task that is to end with its set
    /// must not hold the set, either:
    ///
    /// ```swift
    /// Task { [titles = document.titleChanged.values()] in
    ///     for await title in titles { print(title) }
    /// }
    /// ```
    ///
    /// The **registration ends** when the stream and its iterators have been released, or a task that waits for an element is
    /// cancelled. Leaving a loop does not end it while something still holds the stream.
    ///
    /// An `AsyncStream` is for one loop: if several iterate over it, each element goes to one of them. Make a stream for each.
    /// How many elements a bounded buffer has dropped is shown by the set's debug description, and by the token of
    /// ``makeStream(buffering:fileID:line:)``.
    ///
    /// The program stops if there is room for less than one element ("AsyncStream needs room for at least one element; use
    /// .newest(1) instead of .newest(0)").
    ///
    /// - Parameters:
    ///   - buffering: How many elements may be pending. By default all of them. Use `.newest(1)` if only the
    ///     latest is needed.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A stream that is registered already.
    /// - Complexity: Amortised O(1).
    public func values(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> AsyncStream<Parameters> {
        makeStream(buffering: buffering, fileID: fileID, line: line).stream
    }

    /// The notifications of this source from now on as an asynchronous sequence, and a token that ends it.
    ///
    /// The stream is that of ``values(buffering:fileID:line:)``. The token is for code that does not run the loop: it ends the
    /// stream from outside, and says how many elements a bounded buffer has dropped.
    ///
    /// ```swift
    /// let (words, token) = document.wordAdded.makeStream(buffering: .newest(100))
    /// let reading = Task { for await word in words { await history.append(word) } }
    /// token.remove()
    /// await reading.value     // the loop has received what was buffered, and ended
    /// print("\(token.droppedCount) words were dropped")
    /// ```
    ///
    /// ``ObserverToken/remove()`` finishes the stream behind what is buffered, as soon as the notifications then in progress
    /// have ended. ``ObserverToken/removeAndWait()`` returns when nothing more will be buffered; it does not wait for the loop.
    /// ``ObserverToken/droppedCount`` can still be read when the stream has ended, and ``ObserverToken/pendingCount`` is 0.
    /// The token holds neither the stream nor its buffer.
    ///
    /// - Parameters:
    ///   - buffering: How many elements may be pending. By default all of them.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A stream that is registered already, and the token of its registration.
    /// - Complexity: Amortised O(1).
    public func makeStream(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> (stream: AsyncStream<Parameters>, token: ObserverToken) {
        buffering.checkRoom(of: "AsyncStream", file: fileID, line: line)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Parameters.self, bufferingPolicy: buffering.policy(of: Parameters.self))
        let token = register(continuation, fileID: fileID, line: line)
        continuation.onTermination = { _ in token.remove() }
        return (stream, token)
    }

    /// Waits for the first notification from now on.
    ///
    /// It waits for the first one after the call. Values sent between two calls are missed: use
    /// ``values(buffering:fileID:line:)`` to receive all. A call in another task, as with `async let`, may begin too late;
    /// make the stream first, and wait for its first element in the task.
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
    /// - Returns: The parameters; nil if the task is cancelled while it waits, or the set is released or removes all its
    ///   observers before it is notified. The registration has then ended. Waiting does not keep the set alive, unless it is
    ///   held as an `any NotificationSource`, which the caller keeps until the call returns.
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
    fileprivate func policy<Element>(of element: Element.Type) -> AsyncStream<Element>.Continuation.BufferingPolicy {
        switch self {
        case .unbounded: .unbounded
        case .newest(let room): .bufferingNewest(room)
        case .latest: .bufferingNewest(1)
        case .oldest(let room): .bufferingOldest(room)
        }
    }
}
