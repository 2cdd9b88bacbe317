/// The buffer of a sequence whose elements say how many were dropped before them.
///
/// `AsyncStream` reports a dropped element after it has unlocked its buffer, when a consumer may have taken the next one
/// already. So elements wait here, where each is dropped and counted in one step. A stream of signals serves to wait for
/// them.
final class CountingBuffer<Element: Sendable>: Sendable {
    private struct State: Sendable {
        var elements = Queue<(value: Element, droppedBefore: Int)>()
        /// How many elements were dropped in front of the first one, and behind the last one, since these were put there.
        var droppedFirst = 0
        var droppedLast = 0

        mutating func append(_ value: Element) {
            elements.append((value, droppedLast))
            droppedLast = 0
        }

        mutating func removeFirst() -> (value: Element, droppedBefore: Int) {
            var first = elements.removeFirst()
            first.droppedBefore += droppedFirst
            droppedFirst = 0
            return first
        }

        mutating func dropFirst() -> Element {
            let first = removeFirst()
            droppedFirst = first.droppedBefore + 1
            return first.value
        }
    }

    private let buffering: Buffering
    private let room: Int
    private let state = Lock(State())
    /// Holds at most one signal: that elements may wait.
    private let signal: AsyncStream<Void>.Continuation

    init(_ buffering: Buffering, room: Int, _ signal: AsyncStream<Void>.Continuation) {
        self.buffering = buffering
        self.room = room
        self.signal = signal
    }

    /// Appends an element; false if there was no room for it, or for the oldest one any longer.
    func append(_ element: Element) -> Bool {
        var dropped: Element?
        let hasRoom = state.withLock { state in
            let hasRoom = state.elements.count < room
            if !hasRoom {
                if case .oldest = buffering {
                    state.droppedLast += 1
                    return false
                }
                dropped = state.dropFirst()
            }
            state.append(element)
            return hasRoom
        }
        signal.yield()
        // Released here, and not under the lock.
        withExtendedLifetime(dropped) {}
        return hasRoom
    }

    /// Waits for the next element; nil if there is none and the signals have ended.
    func next(_ signals: AsyncStream<Void>) async -> Element? {
        if let element = takeFirst() { return element }
        for await _ in signals {
            if let element = takeFirst() { return element }
        }
        return takeFirst()
    }

    private func takeFirst() -> Element? {
        let (first, isMoreLeft) = state.withLock { state in
            state.elements.count == 0 ? (nil, false) : (state.removeFirst(), state.elements.count > 0)
        }
        // For another task that waits for an element of the same stream: the signal for it was one with this.
        if isMoreLeft { signal.yield() }
        return first.map { Buffering.noting($0.droppedBefore, before: $0.value) }
    }

    func finish() { signal.finish() }
}
