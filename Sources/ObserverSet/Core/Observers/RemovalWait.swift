/// The calls and traversals that a caller of `removeAndWait()` waits for.
///
/// Two things, one after the other:
///
/// 1. The end of the traversals that may reach a removed observer. A marker is retired right behind the observer, and its
///    `deinit` ends this wait. It is released after the observer, unless the caller releases that itself, before it waits.
///    Notifications know nothing of it.
/// 2. The end of what those traversals had put into the observer's mailbox, and of the call that is under way there. A
///    removed observer gets no further value when the first part is over. A marker goes into the mailbox, as for
///    `settled()`. When its turn comes, what was in front of it has been delivered or skipped, and released.
///
/// Each part also orders what the observer's calls have done before what the caller does next: the first by the counts of
/// the traversals, the second by the mailbox's lock.
final class RemovalWait {
    private let traversals = SettledWait()
    /// What is retired behind each observer.
    ///
    /// Nothing else holds it when all registrations have been removed.
    private(set) var marker: AnyTarget?
    /// The mailboxes of the observers.
    var mailboxes: [Mailbox] = []
    /// Where a registration had ended before; they know the mailboxes once no traversal is left.
    var issuers: [TokenIssuer] = []

    init() { marker = EndOfTraversals(traversals) }

    /// Called once, when all registrations have been removed.
    nonisolated(nonsending) func wait() async {
        marker = nil
        await traversals.wait()
        // Each once: several registrations may have one mailbox.
        let busy = (mailboxes + issuers.flatMap(\.busyMailboxes)).reduce(into: [:]) { $0[ObjectIdentifier($1)] = $1 }
        await SettledWait(of: Array(busy.values)).wait()
    }
}

/// Lets the caller go on when nothing holds it any longer.
private final class EndOfTraversals: AnyTarget, @unchecked Sendable {
    private let settledWait: SettledWait

    init(_ settledWait: SettledWait) { self.settledWait = settledWait }

    deinit { settledWait.countDown() }
}

extension ObserverToken {
    /// Ends the registration, and waits until no call of its observer is running, and what the observer captured has been
    /// released.
    ///
    /// For what must not be used any more when it is taken down: a file that is closed, memory that is freed, a test's
    /// fixture.
    ///
    /// ```swift
    /// let token = document.wordAdded.addAsync { word in await history.append(word) }
    /// await token.removeAndWait()
    /// // No call is running on any thread or actor, and none will.
    /// ```
    ///
    /// The registration ends at once, as with ``remove()``: pending values are dropped, and if the observer awaits, its
    /// call in progress is cancelled. Then this waits:
    ///
    /// - for every notification under way in the set, since it may be calling the observer, or is about to;
    /// - for the observer's call on its actor or queue, or the call that is awaited, suspensions included. To know that, it
    ///   waits as ``NotificationSource/settled()`` does: for what has been sent to the observer's actor so far.
    ///
    /// Whatever the observer's calls have done happens before the code behind the `await`. The token of several
    /// registrations (of a group, of merged sources) ends them all first, and then waits for all. If the registration had
    /// ended before, by ``remove()``, with its call (``NotificationSource/once``), with its owner or with its set, this
    /// waits for the calls in the same way, and for the pending values of other observers that were removed; but the thread
    /// that ended it may still be releasing what it captured. So may another caller who has ended a part of a token of
    /// several registrations, at the same moment.
    ///
    /// In the call of an observer that awaits, and in tasks which that starts with `Task { }`, it does not wait for that
    /// call: the call would wait for itself. It goes on, is not cancelled, and is the observer's last. An observer that
    /// does not await cannot await this either. If it starts a task and blocks its thread until that task has ended, both
    /// wait forever.
    ///
    /// If the task of the caller is cancelled, the registration still ends, but this returns without waiting. So
    /// two observers that remove each other in their calls do not wait for ever: each removal cancels the other's call. But
    /// they do if these calls cannot be cancelled, since they are those of ``NotificationSource/once`` or have removed
    /// themselves, or if they await this in tasks of their own. If a call never ends, a task that is not cancelled waits for
    /// ever.
    ///
    /// If a teardown must wait even in a cancelled task, wait in a task of its own, because that one isn't cancelled:
    ///
    /// ```swift
    /// _ = await Task { await token.removeAndWait() }.value
    /// ```
    ///
    /// Only code that can suspend is able to wait in this way. The library can't interrupt a synchronous call on another
    /// thread, nor can it block a scope that can't suspend, such as a `deinit`, until the call has returned. If the call must
    /// not use something after such a scope has been left, guard that with a lock of your own.
    ///
    /// May be called on any thread.
    ///
    /// - Returns: What ``remove()`` would return: true for exactly one caller.
    /// - Complexity: As ``remove()``.
    @discardableResult
    public nonisolated(nonsending) func removeAndWait() async -> Bool {
        let removal = RemovalWait()
        let isRemoved = issuer.remove(id, removal)
        await removal.wait()
        return isRemoved
    }
}
