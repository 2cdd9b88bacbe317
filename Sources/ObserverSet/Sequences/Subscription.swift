import Synchronization

// Who holds whom, for one registration of a sequence. The buffer is the standard library's `AsyncStream`.
//
//     the source ──▶ the observer ──▶ Inlet ─────▶ AsyncStream.Continuation ──▶ its storage: the buffer, `onTermination`
//          ▲                            └──────────────────┐                       ▲             │
//          ┊ weak, if it is an object                      ▼                       │             ▼
//     Origin ──▶ Outlet, until an iterator takes it ──▶ Subscription ◀──────────── │ ────────────┘
//                  └────────────────────────────────▶ AsyncStream ─────────────────┘
//     Iterator ──▶ Outlet                                  Subscription ──▶ ObserverToken ──▶ the source's registry
//
// The two ends hold the buffer, and never each other. Whichever goes first takes the other's way in or out with it:
//
// - The source lets go of the observer, and so of the inlet, which finishes the stream. That ends the subscription; what
//   is buffered stays with the outlet.
// - The iterator or the sequence lets go of the outlet, or the task that waits is cancelled: that ends the subscription,
//   which removes the observer, and with it the inlet.
//
// The ring of observer, inlet, subscription, token and registry is broken by each of these, since an ended subscription
// has let go of its token.

/// What a sequence makes its iterators of: the live registration, and the source for further ones.
final class Origin<Parameters: Sendable>: Sendable {
    /// What was dropped by all its registrations.
    let drops: Drops
    private let live: Lock<Outlet<Parameters>?>
    private let another: @Sendable () -> Outlet<Parameters>?

    init<Source: NotificationSource<Parameters>>(
        _ source: Source, _ buffering: Buffering, fileID: StaticString, line: UInt
    ) {
        let drops = Drops(total: nil)
        self.drops = drops
        live = Lock(Outlet(source, buffering, drops, fileID: fileID, line: line))
        if Source.self is any AnyObject.Type {
            let object = source as! any NotificationSource<Parameters> & AnyObject
            another = { [weak object] in
                object.map { Outlet($0, buffering, drops, fileID: fileID, line: line) }
            }
        } else {
            another = { Outlet(source, buffering, drops, fileID: fileID, line: line) }
        }
    }

    /// The live registration for the first caller, another one for each further; nil if the source is dead.
    func outlet() -> Outlet<Parameters>? {
        live.withLock { $0.take() } ?? another()
    }
}

/// The end of a registration at which elements come out: whoever holds it wants them.
@usableFromInline
final class Outlet<Parameters: Sendable>: Sendable {
    /// How many elements were delivered.
    ///
    /// Written by the iterator alone, and away from what the notifiers write to.
    private let delivered = Atomic<Int>(0)
    let stream: AsyncStream<Parameters>
    let subscription: Subscription

    /// Registers with the source.
    init(
        _ source: some NotificationSource<Parameters>, _ buffering: Buffering,
        _ total: Drops, fileID: StaticString, line: UInt
    ) {
        let subscription = Subscription(total: total)
        let (stream, continuation) = AsyncStream.makeStream(
            of: Parameters.self, bufferingPolicy: buffering.policy(of: Parameters.self))
        self.stream = stream
        self.subscription = subscription
        // Called once, outside the stream's lock: when the inlet finishes it, when a task that waits is cancelled, and
        // when nobody is left who could wait.
        continuation.onTermination = { _ in subscription.registration.end() }
        subscription.registration.begin(Self.observe(source, continuation, subscription, fileID: fileID, line: line))
    }

    /// Registers an inlet, which nobody but the source holds when this returns.
    private static func observe(
        _ source: some NotificationSource<Parameters>, _ continuation: AsyncStream<Parameters>.Continuation,
        _ subscription: Subscription, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        let inlet = Inlet(continuation, subscription)
        return source.addNonisolated({ inlet.send($0) }, fileID: fileID, line: line)
    }

    /// After an element has been taken out of the buffer.
    @usableFromInline
    func noteDelivered() {
        // Not one operation: an iterator has one task.
        delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    deinit {
        // In this order: what still comes in before the registration has ended is counted.
        subscription.registration.end()
        subscription.close(delivered: delivered.load(ordering: .relaxed))
    }
}

/// The end of a registration at which elements go in: held by the observer alone, so that it ends with it.
private final class Inlet<Parameters: Sendable>: Sendable {
    private let continuation: AsyncStream<Parameters>.Continuation
    private let subscription: Subscription

    init(_ continuation: AsyncStream<Parameters>.Continuation, _ subscription: Subscription) {
        self.continuation = continuation
        self.subscription = subscription
    }

    func send(_ parameters: Parameters) {
        guard subscription.noteSent() else { return }
        CallOut.assertNoLockIsHeld()
        switch continuation.yield(parameters) {
        case .enqueued: break
        // The parameters, or the oldest that waited; or the waiting task was cancelled and has not come back yet.
        case .dropped, .terminated: subscription.noteDropped()
        @unknown default: subscription.noteDropped()
        }
    }

    deinit {
        CallOut.assertNoLockIsHeld()
        continuation.finish()
    }
}

/// What both ends of a registration share: its token, and how many elements went in.
final class Subscription: Sendable {
    let registration = EndingRegistration()
    /// How many elements were sent and found room; far below zero once nobody wants them.
    ///
    /// Relaxed throughout, as are the drops: only the numbers matter.
    private let accepted = Atomic<Int>(0)
    private static let closed = Int.min / 2
    let drops: Drops

    init(total: Drops) {
        drops = Drops(total: total)
    }

    /// Before an element is put into the buffer; returns false if nobody wants it.
    func noteSent() -> Bool {
        accepted.wrappingAdd(1, ordering: .relaxed).newValue > 0
    }

    /// After the buffer had no room for an element that was sent.
    func noteDropped() {
        // If nobody wants them any more, this one was counted with all that waited.
        if accepted.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 { drops.add(1) }
    }

    /// Nobody wants any more elements: those that wait are dropped.
    func close(delivered: Int) {
        drops.add(accepted.exchange(Self.closed, ordering: .relaxed) - delivered)
    }
}

/// A number of elements that were dropped, which goes into a total.
final class Drops: Sendable {
    private let number = Atomic<Int>(0)
    private let total: Drops?

    init(total: Drops?) {
        self.total = total
    }

    var count: Int { number.load(ordering: .relaxed) }

    func add(_ count: Int) {
        number.wrappingAdd(count, ordering: .relaxed)
        total?.add(count)
    }
}
