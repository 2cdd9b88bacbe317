/// The notifications of a source, as an asynchronous sequence that receives them from the moment it is made.
///
/// It is made by `values(buffering:)` of any source. What is notified from then on waits in the sequence until its
/// first iterator takes it. So nothing is lost between making the sequence and iterating over it.
///
/// ```swift
/// let names = document.titleChanged.values(buffering: .newest(1))
/// document.rename("Kind of Blue")
/// for await name in names { print(name) }        // begins with "Kind of Blue"
/// ```
///
/// - The **first iterator** takes over the registration of the sequence. **Every further one** has a registration of
///   its own, which begins when that iterator is made. Elements are never divided between iterators: each receives all
///   that is notified during its registration.
/// - An iterator **ends** when its source ends the registration: the set is released, or removes all its observers,
///   and the notifications then in flight have ended. What was buffered until then is still delivered. It ends **at
///   once when its task is cancelled**, and what was buffered is dropped.
/// - A sequence that its source has ended **stays ended**: further iterators of it are empty, as those of a finished
///   `AsyncStream`. It can only be ended while it has a registration: if the set removes all its observers after the only
///   loop was left, a further iterator begins anew.
/// - The **registration ends** at once when the task is cancelled while it waits, when the iterator is dropped (leaving
///   a loop drops its iterator), and when the sequence is dropped without ever having been iterated over.
/// - The elements of one notifying thread arrive **in order** (guarantee 7). They are buffered on the notifying thread,
///   which never waits for an iterator (guarantee 11, except that buffering takes a lock of its own for a moment, and may
///   allocate).
///
/// The sequence does not keep a set alive, neither its source nor one behind a mapped, filtered or merged source or a
/// group. When the set has been released, the first iterator still receives what was buffered, and further ones are
/// empty. If the source is a value of a type of your own, the sequence holds it, with everything that it keeps alive. An
/// iterator alone keeps nothing alive. A task that is to end with its set must not hold the set, either:
///
/// ```swift
/// Task { [values = document.titleChanged.values()] in
///     for await name in values { print(name) }
/// }
/// ```
///
/// A library that publishes a sequence of its own should name the type: this one, or `AsyncStream` if its clients are not
/// to know this package (``NotificationSource/stream(buffering:fileID:line:)``). As `some AsyncSequence<Element, Never>` it
/// hides what is known of iterators: for clients that call `next()`, "call can throw". (Their loops compile.)
///
/// The sequence may be shared between threads. An iterator belongs to the task that uses it.
public struct NotificationSequence<Parameters: Sendable>: AsyncSequence, Sendable {
    /// The source's parameters.
    public typealias Element = Parameters
    /// It does not throw.
    public typealias Failure = Never

    private let registration: SequenceRegistration<Parameters>

    init(_ registration: SequenceRegistration<Parameters>) {
        self.registration = registration
    }

    /// Makes an iterator: the first takes over the sequence's registration, and each further one gets its own.
    ///
    /// - Complexity: O(1) for the first; for further ones that of adding an observer, and of ``ObserverToken/isActive``.
    public func makeAsyncIterator() -> Iterator {
        Iterator(registration.outlet())
    }

    /// How many elements have been dropped by all iterators of this sequence together.
    ///
    /// An element is dropped when the buffer has no room for it, and when the iterator is dropped or its task is
    /// cancelled before delivery. So for each registration, after its iterator has ended and the notifications in
    /// progress have returned, the delivered and the dropped elements add up exactly to those that were sent. The count
    /// never falls.
    public var droppedCount: Int { registration.droppedCount }
}

extension NotificationSequence {
    /// Iterates over the notifications of one registration.
    ///
    /// The registration ends when the iterator is dropped. Not `Sendable`: two tasks need an iterator each.
    public struct Iterator: AsyncIteratorProtocol {
        /// The source's parameters.
        public typealias Element = Parameters
        /// It does not throw.
        public typealias Failure = Never

        /// Both are nil when nothing more will come; what is buffered is dropped with them.
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
        /// - Returns: The element; nil, from then on, when the source has ended the registration and nothing is
        ///   buffered any more, or when the task is cancelled.
        @inlinable
        public nonisolated(nonsending) mutating func next() async -> Parameters? {
            await next(isolation: #isolation)
        }

        /// Waits for the next element, in the caller's isolation.
        ///
        /// - Parameter actor: The caller's own.
        /// - Returns: The element; nil, from then on, when the source has ended the registration and nothing is
        ///   buffered any more, or when the task is cancelled.
        @inlinable  // Specialised in the client, it costs what the stream's own costs.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Parameters? {
            // Cancellation is checked afterwards: the stream still returns buffered elements to a cancelled task.
            guard let element = await elements?.next(isolation: actor), !Task.isCancelled else {
                elements = nil
                outlet = nil
                return nil
            }
            outlet?.noteDelivered()
            return element
        }

        /// How many elements of this iterator's registration have been dropped.
        ///
        /// See ``NotificationSequence/droppedCount``.
        public var droppedCount: Int { subscription?.drops.count ?? 0 }
    }
}

/// An iterator has one position, and at most one task may wait there.
@available(*, unavailable)
extension NotificationSequence.Iterator: Sendable {}
