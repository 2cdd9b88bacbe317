import Synchronization

/// The observer of a stream: its sources hold it, and the last one that releases it finishes the stream.
private final class StreamEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    private let continuation: AsyncStream<Parameters>.Continuation
    private let dropped = Atomic<Int>(0)

    init(_ continuation: AsyncStream<Parameters>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        LockCheck.assertNoLockIsHeld()
        continuation.finish()
    }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        if case .dropped = continuation.yield(parameters) { dropped.wrappingAdd(1, ordering: .relaxed) }
        return true
    }

    override var placeDescription: String {
        "nonisolated" + Mailbox.describe(dropped: dropped.load(ordering: .relaxed))
    }
}

extension Observer where Parameters: Sendable {
    /// An observer that hands each value to a stream, and finishes it when the last of its registrations ends.
    package init(_ continuation: AsyncStream<Parameters>.Continuation, fileID: StaticString, line: UInt) {
        self.init(entry: StreamEntry(continuation), site: Site(fileID: fileID, line: line))
    }
}
