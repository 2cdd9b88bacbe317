extension NotificationSource {
    /// Returns an asynchronous sequence of the values that this source sends from now on.
    ///
    /// The stream is registered before this method returns. So it receives every value that is sent later, even if the
    /// iteration begins after that.
    ///
    /// ```swift
    /// for await item in playlist.itemAdded.values() { print(item.name) }
    /// ```
    ///
    /// Values from one thread or one actor arrive in the order they were sent. The notifying thread adds them to the
    /// stream's buffer, and never waits for the code that iterates. To do so, it takes the stream's lock for a moment,
    /// and it may allocate memory.
    ///
    /// The stream **finishes** after its source has ended the registration, that is, after the set has been deallocated
    /// or has removed all observers. If notifications are in progress then, the stream finishes when they have ended.
    /// The loop still receives all buffered values. A stream of merged sources or of a group finishes when every member
    /// has ended its registration. The stream doesn't keep a set alive. If a task should end together with its set, the
    /// task must not hold the set, either:
    ///
    /// ```swift
    /// Task { [titles = document.titleChanged.values()] in
    ///     for await title in titles { print(title) }
    /// }
    /// ```
    ///
    /// The **registration ends** when the stream and its iterators have been released, or when a task that waits for a
    /// value is cancelled. If you leave a loop while something still holds the stream, the registration doesn't end. A
    /// cancelled loop still receives what the stream has buffered, so check `Task.isCancelled` first if that does harm.
    ///
    /// Use a stream in one loop only. If several loops iterate over one `AsyncStream`, each value goes to only one of
    /// them. Make a stream for each loop instead. The set's debug description shows how many values a limited buffer
    /// has dropped, and so does the token of ``makeStream(buffering:fileID:line:)``.
    ///
    /// If the buffer has room for less than one value, the program stops with the message "AsyncStream needs room for
    /// at least one element; use .newest(1) instead of .newest(0)".
    ///
    /// - Parameters:
    ///   - buffering: How many values may be pending. By default, there is no limit. If you need only the latest value,
    ///     use `.newest(1)`.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A stream that is already registered.
    /// - Complexity: Amortised O(1).
    public func values(
        buffering: Buffering = .unbounded,
        fileID: StaticString = #fileID, line: UInt = #line
    ) -> AsyncStream<Parameters> {
        makeStream(buffering: buffering, fileID: fileID, line: line).stream
    }

    /// Returns an asynchronous sequence of the values that this source sends from now on, and a token that ends it.
    ///
    /// The stream is the same as that of ``values(buffering:fileID:line:)``. The token is for code that doesn't run the
    /// loop. With it, you can end the stream, and see how many values a limited buffer has dropped.
    ///
    /// ```swift
    /// let (words, token) = document.wordAdded.makeStream(buffering: .newest(100))
    /// let reading = Task { for await word in words { await history.append(word) } }
    /// token.remove()
    /// await reading.value     // the loop has received what was buffered, and ended
    /// print("\(token.droppedCount) words were dropped")
    /// ```
    ///
    /// ``ObserverToken/remove()`` finishes the stream as soon as the notifications that are in progress then have
    /// ended. The loop still receives the buffered values. ``ObserverToken/removeAndWait()`` returns when no more
    /// values will be buffered, but doesn't wait for the loop. You can read ``ObserverToken/droppedCount`` even after
    /// the stream has ended. ``ObserverToken/pendingCount`` is always 0. The token keeps neither the stream nor its
    /// buffer alive.
    ///
    /// - Parameters:
    ///   - buffering: How many values may be pending. By default, there is no limit.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: A stream that is already registered, and the token of its registration.
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

    /// Waits for the first value that this source sends after the call, and returns it.
    ///
    /// Values that are sent between two calls are missed. To receive all values, use
    /// ``values(buffering:fileID:line:)``. If you call this method in another task, for example with `async let`, the
    /// call may begin too late. Make the stream before you start the task then, and wait for its first element in the
    /// task.
    ///
    /// ```swift
    /// if let name = await document.titleChanged.first() { print("renamed to \(name)") }
    /// let isDone = await download.progressed.filter { fraction in fraction == 1 }.first() != nil
    /// ```
    ///
    /// - Parameters:
    ///   - isolation: The caller's isolation, which the compiler fills in.
    ///   - fileID: The file of the registration, for descriptions.
    ///   - line: The line of the registration, for descriptions.
    /// - Returns: The value, or nil if none comes, because the task has been cancelled, or because the set has been
    ///   deallocated or has removed all observers. In either case, the registration has ended. The call doesn't keep
    ///   the set alive while it waits. There is one exception: if you call it on an `any NotificationSource`, the
    ///   caller holds that value until the call returns.
    /// - Complexity: Amortised O(1).
    public consuming func first(
        isolation: isolated (any Actor)? = #isolation,
        fileID: StaticString = #fileID, line: UInt = #line
    ) async -> Parameters? {
        guard !Task.isCancelled else { return nil }
        var iterator = values(buffering: .oldest(1), fileID: fileID, line: line).makeAsyncIterator()
        // The source is released here, so that the task does not keep its set alive, whose end would end the wait with
        // nil.
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
