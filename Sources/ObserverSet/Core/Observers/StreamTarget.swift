import Synchronization

/// The target that hands values to a stream.
///
/// Its sources hold it, and the last one that releases it finishes the stream.
private final class StreamTarget<Parameters: Sendable>: Target<Parameters>, @unchecked Sendable {
    private let continuation: AsyncStream<Parameters>.Continuation
    private let dropped = Atomic<Int>(0)

    init(_ continuation: AsyncStream<Parameters>.Continuation) {
        self.continuation = continuation
    }

    deinit {
        LockCheck.assertNoLockIsHeld()
        continuation.finish()
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) -> OwnerCheck {
        guard mayCall(for: registration) else { return .passed }
        if case .dropped = continuation.yield(value) { dropped.wrappingAdd(1, ordering: .relaxed) }
        return .passed
    }

    override func placeDescription(of registration: Registration) -> String {
        "nonisolated" + Mailbox.describe(dropped: dropped.load(ordering: .relaxed))
    }
}

extension Observer where Parameters: Sendable {
    /// An observer that hands each value to a stream, and finishes it when the last of its registrations ends.
    package init(_ continuation: AsyncStream<Parameters>.Continuation, fileID: StaticString, line: UInt) {
        self.init(StreamTarget(continuation), site: Site(fileID: fileID, line: line))
    }
}
