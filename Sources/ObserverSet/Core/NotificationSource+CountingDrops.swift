extension NotificationSource {
    /// The same notifications, each with the number of values that were dropped just before it.
    ///
    /// For a loop or an observer that awaits which has a limit, and must know where values are missing, for example to
    /// load the whole state again:
    ///
    /// ```swift
    /// for await item in playlist.itemAdded.countingDrops.values(buffering: .newest(100)) {
    ///     if item.droppedBefore > 0 { view.reload() } else { view.show(item.value.name) }
    /// }
    /// ```
    ///
    /// `addAsync` with a limit receives the same:
    ///
    /// ```swift
    /// document.titleChanged.countingDrops.addAsync(view, buffering: .newest(1)) { view, title in
    ///     try? await Task.sleep(for: .milliseconds(100))
    ///     view.setTitle("\(title.value), after \(title.droppedBefore) others")
    /// }
    /// ```
    ///
    /// See ``Buffering/Kept``. Every form of `add` may follow; for those without a limit the number is always 0.
    ///
    /// The number is found where values wait, and so after `map`, `compactMap` and `filter`. What these skip is not
    /// counted. So map first, and count last: behind a `map` to another type, `droppedBefore` is always 0. A `filter` may follow.
    ///
    /// The result is a value that holds this source, as that of ``NotificationSource/map(_:)`` does.
    ///
    /// - Complexity: O(1).
    public var countingDrops: some NotificationSource<Buffering.Kept<Parameters>> {
        map { Buffering.Kept(value: $0, droppedBefore: 0) }
    }
}

extension Buffering {
    /// A value that was kept, and how many were dropped just before it.
    ///
    /// The elements of ``NotificationSource/countingDrops`` are of this type.
    ///
    /// Each consumer has numbers of its own: each iterator, each observer. A value is dropped because there was no room
    /// for it; the number is exact. It comes with the first value after the gap: with `.newest` that is the oldest one
    /// that was kept, with `.oldest` the next one that finds room again. If none comes before the end, only
    /// ``NotificationSequence/droppedCount`` and ``ObserverToken/droppedCount`` show the loss. Values that the end of a
    /// registration or ``ObserverSet/cancelCalls()`` drops are not counted here.
    public struct Kept<Value: Sendable>: Sendable {
        /// What was notified.
        public let value: Value
        /// How many values were dropped after the one that the consumer received last, and before this one.
        public let droppedBefore: Int
    }

    /// The same value; if it has a number of dropped values before it, with so many more.
    package static func noting<Value>(_ dropped: Int, before value: Value) -> Value {
        guard dropped > 0, let kept = value as? any DropCounting else { return value }
        return kept.after(dropped) as! Value
    }
}

/// A value with the number of values that were dropped just before it.
package protocol DropCounting: Sendable {
    /// The same with so many more dropped values before it.
    func after(_ dropped: Int) -> Self
}

extension Buffering.Kept: DropCounting {
    package func after(_ dropped: Int) -> Self {
        Self(value: value, droppedBefore: droppedBefore + dropped)
    }
}
