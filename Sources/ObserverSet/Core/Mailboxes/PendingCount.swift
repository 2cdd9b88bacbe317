import Synchronization

/// Counts the values that have been posted to an observer, and the calls with them that have begun and returned, for
/// all of the observer's registrations together.
///
/// All accesses are relaxed. A thread sees its own posts, and those of another thread that it knows of through any
/// synchronisation. If a notification knows of no earlier one, it may go first. Only code on the observer's actor
/// begins and ends calls, and only code there depends on these counts. (If the actor has been deallocated, that is the
/// one thread that drains the actor's mailbox.) Only one thread at a time writes each count, so a load and a store
/// suffice.
struct PendingCount: ~Copyable, Sendable {
    private let posted = Atomic<UInt32>(0)
    private let called = Atomic<UInt32>(0)
    private let returned = Atomic<UInt32>(0)

    /// Whether no value is pending, and no call with a posted value is in progress.
    ///
    /// Here, unlike in `count`, a value counts until its call has returned, so that a value that is sent inside that
    /// call is posted, too.
    /// Otherwise, an observer that always notifies again would call itself without end. This way, it takes turns with
    /// others.
    var isSettled: Bool {
        @inline(__always) get { posted.load(ordering: .relaxed) == returned.load(ordering: .relaxed) }
    }

    /// Whether a call with a posted value is in progress, or a catch-up, even between two of its calls.
    var isInCallOrCatchUp: Bool { called.load(ordering: .relaxed) != returned.load(ordering: .relaxed) }

    /// The number of pending values.
    ///
    /// Unlike `isSettled`, this doesn't count the value of a call in progress.
    var count: Int { posted.load(ordering: .relaxed).minus(called.load(ordering: .relaxed)) }

    /// Call this under the mailbox's lock.
    func notePosted() { posted.increment() }
    func noteCall() { called.increment() }
    func noteReturn() { returned.increment() }

    /// Records that a catch-up begins, which counts as one call from here until `noteReturn`, even between two calls.
    ///
    /// That call has no posted value. So the number of returned calls falls, and not the number of calls rises.
    func noteCatchUp() { returned.decrement() }
}
