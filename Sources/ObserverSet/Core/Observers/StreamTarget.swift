import Synchronization

/// The number of values that a stream's buffer has dropped.
///
/// It is one of the parts of the stream's token, so that the number can still be read when the registration has ended.
final class DropCount: TokenIssuer, @unchecked Sendable {
    private let count = Atomic<Int>(0)

    // The accesses are relaxed, because nobody reads any other memory on the strength of this number.
    var value: Int { count.load(ordering: .relaxed) }
    func increment() { count.wrappingAdd(1, ordering: .relaxed) }

    override func counts(_ id: UInt64) -> (pending: Int, dropped: Int) { (0, value) }
}

/// The target that passes values to a stream.
///
/// The sets that it is registered with hold it. When the last of them releases it, its `deinit` finishes the stream.
final class StreamTarget<Parameters: Sendable>: Target<Parameters>, @unchecked Sendable {
    private let continuation: AsyncStream<Parameters>.Continuation
    private let dropped: DropCount

    init(_ continuation: AsyncStream<Parameters>.Continuation, _ dropped: DropCount) {
        self.continuation = continuation
        self.dropped = dropped
    }

    deinit {
        LockCheck.assertNoLockIsHeld()
        continuation.finish()
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        // fault: drops-uncounted
        if takeCall(for: registration), case .dropped = continuation.yield(value) { dropped.increment() }
    }

    override func placeDescription(of registration: Registration) -> String {
        "nonisolated" + Mailbox.describe(dropped: dropped.value)
    }
}
