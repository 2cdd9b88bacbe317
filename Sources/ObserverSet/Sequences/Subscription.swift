import Synchronization

// Which object holds which, for one registration of a sequence. The buffer is the standard library's `AsyncStream`.
//
//     the source ──▶ the observer ──▶ Inlet ─────▶ AsyncStream.Continuation ──▶ its storage: the buffer, `onTermination`
//          ▲                            └──────────────────┐                       ▲             │
//          ┊ weak, if it is an object                      ▼                       │             ▼
//     SequenceRegistration ──▶ Outlet, until taken ───▶ Subscription ◀──────────── │ ────────────┘
//                              └──────────────────▶ AsyncStream ─────────────────┘
//     Iterator ──▶ Outlet                                  Subscription ──▶ ObserverToken ──▶ the source's registry
//     SequenceRegistration ──▶ Registrations ◀──▶ Subscription
//
// `stream(buffering:)` has no outlet: the client holds the AsyncStream itself.
//
// The two ends, inlet and outlet, hold the buffer, and never each other. The end that is released first ends the other:
//
// - If the source releases the observer, and so the inlet, that finishes the stream and ends the subscription. What is
//   buffered stays with the outlet.
// - If the iterator or the sequence releases the outlet, or the task that waits is cancelled, that ends the
//   subscription, which removes the observer, and with it the inlet.
//
// Observer, inlet, subscription, token and registry form a cycle. Each of these two breaks it, since a subscription
// that has ended no longer holds its token, and `Registrations` no longer holds the subscription.

/// Makes a sequence's iterators: the first from the registration that the sequence has, further ones from the source.
final class SequenceRegistration<Parameters: Sendable>: Sendable {
    private let registrations: Registrations
    private let live: Lock<Outlet<Parameters>?>
    private let another: @Sendable () -> Outlet<Parameters>?

    init(_ source: some NotificationSource<Parameters>, _ buffering: Buffering, fileID: StaticString, line: UInt) {
        let registrations = Registrations()
        self.registrations = registrations
        live = Lock(Outlet(source, buffering, registrations, fileID: fileID, line: line))
        let held = source.heldWeakly()
        another = { held().map { Outlet($0, buffering, registrations, fileID: fileID, line: line) } }
    }

    /// The existing registration for the first caller, a new one for each later caller; nil if the source is gone, or has
    /// ended the sequence.
    func outlet() -> Outlet<Parameters>? {
        if let first = live.withLock({ $0.take() }) { return first }
        guard !registrations.areEndedBySource, let another = another() else { return nil }
        // Asked again: if the source has ended the others meanwhile, it may have done so before it had this one.
        return registrations.areEndedBySource ? nil : another
    }

    /// How many elements all registrations have dropped.
    var droppedCount: Int { registrations.drops.count }
}

/// The end of a registration from which elements are taken.
///
/// The registration lasts at most as long as this.
@usableFromInline
final class Outlet<Parameters: Sendable>: Sendable {
    private let taken = Taken()
    let stream: AsyncStream<Parameters>
    let subscription: Subscription

    /// Registers with the source.
    init(
        _ source: some NotificationSource<Parameters>, _ buffering: Buffering,
        _ registrations: Registrations, fileID: StaticString, line: UInt
    ) {
        subscription = Subscription(in: registrations, taken)
        stream = source.stream(buffering, subscription, fileID: fileID, line: line)
    }

    /// Called after an element has been taken out of the buffer.
    @usableFromInline
    func noteDelivered() {
        subscription.edge.acquire()
        // A load and a store suffice: only the task of the iterator writes it.
        taken.count.store(taken.count.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
    }

    deinit {
        subscription.edge.acquire()
        // In this order, so that elements that arrive before the registration has ended are counted.
        subscription.end()
        subscription.close(delivered: taken.count.load(ordering: .relaxed))
    }
}

/// How many elements of one registration were taken.
///
/// Written by the iterator alone; an object of its own, away from the counts that notifiers write.
final class Taken: Sendable {
    let count = Atomic<Int>(0)
}

extension NotificationSource {
    /// Registers an inlet with this source, and returns the stream of what is put in; when this returns, only the source
    /// holds the inlet.
    func stream(
        _ buffering: Buffering, _ subscription: Subscription, fileID: StaticString, line: UInt
    ) -> AsyncStream<Parameters> {
        // The streams call this once, outside their locks: when the inlet finishes the stream, when a task that waits is
        // cancelled, and when nothing is left that could wait for elements.
        let end: @Sendable (Any) -> Void = { _ in subscription.end() }
        let (stream, continuation) = AsyncStream.makeStream(
            of: Parameters.self, bufferingPolicy: buffering.policy(of: Parameters.self))
        continuation.onTermination = end
        subscription.begin(Inlet(continuation, subscription).register(with: self, fileID: fileID, line: line))
        return stream
    }
}

/// The elements that wait for a consumer; an `AsyncStream`'s buffer, or one that counts.
private protocol ElementBuffer<Element>: Sendable {
    associatedtype Element

    /// Appends an element; false if it, or another one, was dropped.
    func append(_ element: sending Element) -> Bool
    func finish()
}

extension AsyncStream.Continuation: ElementBuffer {
    fileprivate func append(_ element: sending Element) -> Bool {
        // If it is not enqueued, the new element was dropped, or the oldest that waited; or the task that waits was
        // cancelled and has not resumed yet.
        if case .enqueued = yield(element) { true } else { false }
    }
}

/// The end of a registration into which elements are put; held by the observer alone, and so deallocated with it.
private final class Inlet<Element: Sendable, Buffer: ElementBuffer<Element>>: Sendable {
    private let subscription: Subscription
    private let buffer: Buffer

    init(_ buffer: Buffer, _ subscription: Subscription) {
        self.buffer = buffer
        self.subscription = subscription
    }

    /// When this returns, only the source holds the inlet.
    func register(
        with source: some NotificationSource<Element>, fileID: StaticString, line: UInt
    ) -> ObserverToken {
        source.register(
            Observer(
                buffering: { self.send($0) }, waiting: { [subscription] in subscription.waiting },
                site: Site(fileID: fileID, line: line)))
    }

    private func send(_ parameters: Element) {
        guard subscription.noteSent() else { return }
        UserCode.assertNoLockIsHeld()
        if !buffer.append(parameters) { subscription.noteDropped() }
    }

    deinit {
        UserCode.assertNoLockIsHeld()
        buffer.finish()
    }
}

/// The part that both ends of a registration share: its token, and the number of elements that were put in.
final class Subscription: Sendable {
    private let registration = SelfEndingRegistration()
    private let registrations: Registrations
    /// How many elements were sent and found room; far below zero after `close`.
    ///
    /// Relaxed throughout, like the numbers of dropped elements: nothing is ordered by them.
    private let accepted = Atomic<Int>(0)
    private static let closed = Int.min / 2
    /// Nil if nobody counts what is taken.
    private let taken: Taken?
    let drops: Drops
    /// Shows the sanitizer that what is taken out of the buffer was put in before: it does not see that a continuation
    /// is resumed before its task awaits it.
    let edge = SanitizerEdge()

    init(in registrations: Registrations, _ taken: Taken? = nil) {
        self.registrations = registrations
        self.taken = taken
        drops = Drops(total: registrations.drops)
    }

    func begin(_ token: ObserverToken) {
        registration.begin(token)
        registrations.add(self)
    }

    /// Ends the registration, unless it has ended.
    func end() {
        // Asked before: what the source has ended meanwhile, it has ended after this.
        let isInSource = registration.isInSource == true
        guard registration.end() else { return }
        // Those that an iterator has made since the source ended this one, and could not tell.
        for later in registrations.remove(self, isEndedBySource: !isInSource) { later.end() }
    }

    /// Whether the source still has the observer; nil if the registration has been ended from here.
    var isInSource: Bool? { registration.isInSource }

    /// How many elements wait, for descriptions; nil if nobody counts what is taken.
    var waiting: Int? {
        taken.map { taken in max(0, accepted.load(ordering: .relaxed) - taken.count.load(ordering: .relaxed)) }
    }

    /// Called before an element is put into the buffer; false after `close`.
    func noteSent() -> Bool {
        edge.release()
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

/// The registrations of one sequence.
final class Registrations: Sendable {
    private struct State: Sendable {
        /// Those that have not ended, from the oldest to the newest; none when `areEndedBySource` is true.
        var subscriptions: [Subscription] = []
        var areEndedBySource = false
    }

    let drops = Drops(total: nil)
    private let state = Lock(State())

    /// Whether the source has ended one of them, and so the sequence.
    var areEndedBySource: Bool {
        let (areEnded, subscriptions) = state.withLock { ($0.areEndedBySource, $0.subscriptions) }
        // The source has ended a registration when it has removed the observer, which a notification in progress may
        // still keep from being released. The oldest one tells, since a source ends all that it has at once; but not if
        // its own consumer is ending it at this moment.
        if areEnded { return true }
        for subscription in subscriptions {
            if let isInSource = subscription.isInSource { return !isInSource }
        }
        return false
    }

    func add(_ subscription: Subscription) {
        // It may have ended already, which it has then said here.
        state.withLock { if !$0.areEndedBySource { $0.subscriptions.append(subscription) } }
    }

    /// Returns the others if the source has ended them all.
    func remove(_ subscription: Subscription, isEndedBySource: Bool) -> [Subscription] {
        state.withLock { state in
            state.subscriptions.removeAll { $0 === subscription }
            guard isEndedBySource else { return [] }
            state.areEndedBySource = true
            defer { state.subscriptions = [] }
            return state.subscriptions
        }
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
