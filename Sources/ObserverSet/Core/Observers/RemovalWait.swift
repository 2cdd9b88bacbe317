/// The traversals and calls that a caller of `removeAndWait()` waits for.
///
/// The caller waits for two things, one after the other:
///
/// 1. The end of all traversals that may reach a removed observer. To know when that is, the registry retires an object
///    right behind the observer, the *retired marker*. It is released after the observer, and its `deinit` ends this
///    part. (If no traversal was under way at the removal, the caller itself releases the observer before it waits.)
///    Notifications know nothing of it.
/// 2. The end of the call in progress from the observer's mailbox, and of the values that those traversals have put
///    into that mailbox. No more values for the removed observer arrive there once the first part is over. So a job
///    is enqueued behind these values, the *mailbox marker*, as for `settled()`. When its turn comes, all jobs in front
///    of it have been delivered or skipped, and released.
///
/// Each part also makes sure that the caller sees everything that the observer's calls have done: the first part by the
/// counts of the traversals, the second part by the mailbox's lock.
final class RemovalWait {
    private let traversals = SettledWait()
    /// The retired marker, which is retired behind each removed observer; nil once the wait has begun.
    ///
    /// From then on, only what is retired holds it.
    private(set) var marker: AnyTarget?
    /// The mailboxes of the observers whose registrations this removal has ended.
    var mailboxes: [Mailbox] = []
    /// The registries in which a registration had already ended; they know the busy mailboxes once no traversal is
    /// left.
    var issuers: [TokenIssuer] = []

    init() { marker = EndOfTraversals(traversals) }

    /// Returns when no traversal and no call is left to wait for, or when the caller's task is cancelled.
    ///
    /// Call this once, after all registrations have been removed.
    nonisolated(nonsending) func wait() async {
        marker = nil
        await traversals.wait()
        // Each mailbox is used only once, because several registrations may share it.
        let busy = (mailboxes + issuers.flatMap(\.busyMailboxes)).reduce(into: [:]) { $0[ObjectIdentifier($1)] = $1 }
        await SettledWait(of: Array(busy.values)).wait()
    }
}

/// The retired marker, whose `deinit` ends the first part of the wait.
private final class EndOfTraversals: AnyTarget, @unchecked Sendable {
    private let settledWait: SettledWait

    init(_ settledWait: SettledWait) { self.settledWait = settledWait }

    deinit { settledWait.countDown() }
}

extension ObserverToken {
    /// Ends the registration, and waits until no call of its observer is running and everything that the observer
    /// captured has been released.
    ///
    /// Use it before you take down something that the observer uses, for example before you close a file, free memory,
    /// or end a test.
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync { word in await history.append(word) }
    /// await token.removeAndWait()
    /// // No call is running on any thread or actor, and none will.
    /// ```
    ///
    /// The registration ends at once, as with ``remove()``: its pending values are dropped, and if the observer awaits,
    /// its call in progress is cancelled. Then this method waits for two things:
    ///
    /// - Every notification under way in the set, because it may be calling the observer or may be about to.
    /// - The observer's call on its actor or queue. If the observer awaits, this includes the call's suspensions. Like
    ///   ``NotificationSource/settled()``, this method waits for everything that has been sent to the observer's actor
    ///   so far.
    ///
    /// The code after the `await` sees everything that the observer's calls have done. If the token stands for several
    /// registrations (those of a group or of merged sources), this method ends them all first, and then waits for all
    /// of them.
    ///
    /// The registration may have ended before, because of ``remove()``, its only call (``NotificationSource/once``),
    /// its owner's end, or its set's end. Then this method drops what the set left, as ``remove()`` does, and waits for
    /// the calls in the same way, and also for the pending values of other observers that were removed. But it doesn't
    /// wait until the thread that ended the registration has released what the observer captured. The same holds if
    /// another caller ends one of several registrations of the token at the same moment.
    ///
    /// You may call this method in the call of an observer that awaits, and in a `Task { }` that the call starts. The
    /// method then doesn't wait for that call, because the call would be waiting for itself. The call isn't cancelled
    /// and goes on, and it is the observer's last. A synchronous observer can't await this method. If it starts a task
    /// that does, and blocks its thread until that task has ended, both wait forever.
    ///
    /// If the caller's task is cancelled, the registration still ends, but this method returns without waiting.
    /// Therefore two observers that remove each other during their calls don't wait forever, because each removal
    /// cancels the other's call. They do wait forever if these calls can't be cancelled: they are the only calls of
    /// ``NotificationSource/once``, they have removed their own observers, or they await this method in tasks of their
    /// own. If a call never ends, a task that isn't cancelled waits forever.
    ///
    /// If a teardown must wait even in a cancelled task, wait in a task of its own, because that one isn't cancelled:
    ///
    /// ```swift
    /// _ = await Task { await token.removeAndWait() }.value
    /// ```
    ///
    /// Only code that can suspend is able to wait in this way. The library can't interrupt a synchronous call on
    /// another thread, nor can it block a scope that can't suspend, such as a `deinit`, until the call has returned. If
    /// the call must not use something after such a scope has been left, guard that with a lock of your own.
    ///
    /// You may call this method on any thread.
    ///
    /// - Returns: What ``remove()`` would return: `true` for exactly one caller.
    /// - Complexity: The same as that of ``remove()``.
    @discardableResult
    public nonisolated(nonsending) func removeAndWait() async -> Bool {
        let removal = RemovalWait()
        let isRemoved = issuer.remove(id, removal)
        await removal.wait()
        return isRemoved
    }
}
