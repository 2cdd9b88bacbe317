/// What a source tells, as an asynchronous sequence that is live from the moment it is made.
///
/// Made by `values(buffering:)` of any source. What is notified from then on waits in the sequence until its first
/// iterator takes it over; so nothing is lost between making the sequence and iterating over it.
///
/// ```swift
/// let names = document.titleChanged.values(buffering: .newest(1))
/// document.rename("Kind of Blue")
/// for await name in names { print(name) }        // begins with "Kind of Blue"
/// ```
///
/// - The **first iterator** takes the live registration. **Every further one** is a registration of its own, which
///   begins when that iterator is made. Elements are never split between iterators: each gets all of its own.
/// - An iterator **ends** when its source lets go of the registration: the set dies, or removes all its observers. What
///   was buffered until then is still delivered. It ends **at once when its task is cancelled**; what was buffered is
///   dropped.
/// - The **registration is gone** at once when the task is cancelled while it waits, when the iterator is dropped
///   (leaving a loop drops its iterator), and when the sequence is dropped without ever having been iterated over.
/// - The elements of one notifying thread arrive **in order** (promise 7). They are buffered on the notifying thread,
///   which never waits for an iterator (promise 11, but that buffering takes a lock of its own for a moment, and may
///   allocate).
///
/// A sequence does not keep its source alive if that is an object, as a set is; iterators made after its death are
/// empty. A source that is a value, as a mapped one is, is kept, with what it keeps alive: an iterator alone keeps nothing. A task that is to
/// end with its set must not hold the set either:
///
/// ```swift
/// Task { [values = document.titleChanged.values()] in
///     for await name in values { print(name) }
/// }
/// ```
///
/// The sequence may be shared between threads. An iterator belongs to the task that uses it.
public struct NotificationSequence<Parameters: Sendable>: AsyncSequence, Sendable {
    /// What the source tells.
    public typealias Element = Parameters
    /// It does not throw.
    public typealias Failure = Never

    private let origin: Origin<Parameters>

    init(_ origin: Origin<Parameters>) {
        self.origin = origin
    }

    /// Makes an iterator: of the live registration the first time, of a registration of its own from then on.
    ///
    /// - Complexity: Amortised O(1).
    public func makeAsyncIterator() -> Iterator {
        Iterator(origin.outlet())
    }

    /// How many elements were dropped so far, by all iterators of this sequence together.
    ///
    /// An element is dropped when the buffer has no room for it, and when the iterator goes or its task is cancelled
    /// before it was delivered. So for each registration, once its iterator has ended and the notifications that were
    /// under way have returned, what was delivered and what was dropped add up exactly to what it was sent. Never falls.
    public var droppedCount: Int { origin.drops.count }
}

extension NotificationSequence {
    /// Takes the elements of one registration, one after the other.
    ///
    /// The registration ends when the iterator is dropped. Not `Sendable`: two tasks need an iterator each.
    public struct Iterator: AsyncIteratorProtocol {
        /// What the source tells.
        public typealias Element = Parameters
        /// It does not throw.
        public typealias Failure = Never

        /// Both nil when nothing more will come: what is buffered goes with them.
        @usableFromInline var outlet: Outlet<Parameters>?
        @usableFromInline var elements: AsyncStream<Parameters>.Iterator?
        private let subscription: Subscription?

        init(_ outlet: Outlet<Parameters>?) {
            self.outlet = outlet
            elements = outlet?.stream.makeAsyncIterator()
            subscription = outlet?.subscription
        }

        /// Waits for the next element.
        ///
        /// - Returns: Nil for good when the source has let go of the registration and nothing is buffered any more, or
        ///   when the task is cancelled.
        @inlinable
        public nonisolated(nonsending) mutating func next() async -> Parameters? {
            await next(isolation: #isolation)
        }

        /// Waits for the next element, in the caller's isolation.
        ///
        /// - Parameter actor: The caller's own.
        /// - Returns: Nil for good when the source has let go of the registration and nothing is buffered any more, or
        ///   when the task is cancelled.
        @inlinable  // Specialised in the client, it costs what the stream's own costs.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Parameters? {
            // Looked at afterwards: the stream goes on to hand out to a cancelled task what is buffered.
            guard let element = await elements?.next(isolation: actor), !Task.isCancelled else {
                elements = nil
                outlet = nil
                return nil
            }
            outlet?.noteDelivered()
            return element
        }

        /// How many elements of this iterator's registration were dropped so far.
        ///
        /// See ``NotificationSequence/droppedCount``.
        public var droppedCount: Int { subscription?.drops.count ?? 0 }
    }
}

/// An iterator has one position, and one task that waits there.
@available(*, unavailable)
extension NotificationSequence.Iterator: Sendable {}
