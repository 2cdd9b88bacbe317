import Synchronization

// Which object holds which, for one registration of a sequence. The buffer is the standard library's `AsyncStream`.
//
//     the source ──▶ the observer ──▶ Inlet ─────▶ AsyncStream.Continuation ──▶ its storage: the buffer, `onTermination`
//          ▲                            └──────────────────┐                       ▲             │
//          ┊ weak, if it is an object                      ▼                       │             ▼
//     Origin ──▶ Outlet, until an iterator takes it ──▶ Subscription ◀──────────── │ ────────────┘
//                  └────────────────────────────────▶ AsyncStream ─────────────────┘
//     Iterator ──▶ Outlet                                  Subscription ──▶ ObserverToken ──▶ the source's registry
//
// The two ends, inlet and outlet, hold the buffer, and never each other. The end that is released first ends the other:
//
// - If the source releases the observer, and so the inlet, that finishes the stream and ends the subscription. What is
//   buffered stays with the outlet.
// - If the iterator or the sequence releases the outlet, or the task that waits is cancelled, that ends the
//   subscription, which removes the observer, and with it the inlet.
//
// Observer, inlet, subscription, token and registry form a cycle. Each of these two breaks it, since a subscription
// that has ended no longer holds its token.

/// What a sequence makes its iterators from: the registration that it has, and the source for further ones.
final class Origin<Parameters: Sendable>: Sendable {
    /// How many elements all its registrations have dropped.
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

    /// The existing registration for the first caller, a new one for each later caller; nil if the source is gone.
    func outlet() -> Outlet<Parameters>? {
        live.withLock { $0.take() } ?? another()
    }
}

/// The end of a registration from which elements are taken.
///
/// The registration lasts at most as long as this.
@usableFromInline
final class Outlet<Parameters: Sendable>: Sendable {
    /// How many elements were taken.
    ///
    /// Written by the iterator alone; in this object, away from the counts that notifiers write.
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
        // The stream calls this once, outside its lock: when the inlet finishes the stream, when a task that waits is
        // cancelled, and when nothing is left that could wait for elements.
        continuation.onTermination = { _ in subscription.registration.end() }
        subscription.registration.begin(Self.observe(source, continuation, subscription, fileID: fileID, line: line))
    }

    /// Registers an inlet; when this returns, only the source holds it.
    private static func observe(
        _ source: some NotificationSource<Parameters>, _ continuation: AsyncStream<Parameters>.Continuation,
        _ subscription: Subscription, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        let inlet = Inlet(continuation, subscription)
        return source.addNonisolated({ inlet.send($0) }, fileID: fileID, line: line)
    }

    /// Called after an element has been taken out of the buffer.
    @usableFromInline
    func noteDelivered() {
        subscription.witness.follow()
        // A load and a store suffice: only the task of the iterator writes it.
        delivered.store(delivered.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    deinit {
        subscription.witness.follow()
        // In this order, so that elements that arrive before the registration has ended are counted.
        subscription.registration.end()
        subscription.close(delivered: delivered.load(ordering: .relaxed))
    }
}

/// The end of a registration into which elements are put; held by the observer alone, and so deallocated with it.
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
        // The new element was dropped, or the oldest that waited; or the task that waits was cancelled and has not
        // resumed yet.
        case .dropped, .terminated: subscription.noteDropped()
        @unknown default: subscription.noteDropped()
        }
    }

    deinit {
        CallOut.assertNoLockIsHeld()
        continuation.finish()
    }
}

/// What both ends of a registration share: its token, and the number of elements that were put in.
final class Subscription: Sendable {
    let registration = EndingRegistration()
    /// How many elements were sent and found room; far below zero after `close`.
    ///
    /// Relaxed throughout, like the numbers of dropped elements: nothing is ordered by them.
    private let accepted = Atomic<Int>(0)
    private static let closed = Int.min / 2
    let drops: Drops
    /// Shows the sanitizer that what is taken out of the buffer was put in before: it does not see that a continuation
    /// is resumed before its task awaits it.
    let witness = Witness()

    init(total: Drops) {
        drops = Drops(total: total)
    }

    /// Called before an element is put into the buffer; false after `close`.
    func noteSent() -> Bool {
        witness.lead()
        return accepted.wrappingAdd(1, ordering: .relaxed).newValue > 0
    }

    /// Called after the buffer had no room for an element that was sent.
    func noteDropped() {
        // After `close`, this element has been counted with those that were waiting.
        if accepted.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 { drops.add(1) }
    }

    /// Counts the elements that were not taken as dropped; called when no more will be taken.
    func close(delivered: Int) {
        drops.add(accepted.exchange(Self.closed, ordering: .relaxed) - delivered)
    }
}

/// A number of dropped elements, which is added to a total as well.
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
