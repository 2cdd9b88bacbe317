/// What is retired, and other state that only few sets need; guarded by the registry's lock.
final class RareState: @unchecked Sendable {
    /// What has been retired since the last flip.
    var newer = Retired()
    /// What was retired before the last flip.
    var older = Retired()
    /// The thread that was the last to retire something (see `Reclamation.stackNumber()`).
    var lastRetiringThread: UInt = 0
    /// The mailboxes of removed observers that were still busy when the observer was about to be released.
    ///
    /// `settled()` waits for them, too. So does `removeAndWait()`, if the registration had already ended. A mailbox
    /// that has become idle may stay here for a while. If it belongs to a queue, it keeps that queue alive.
    var busy: [ObjectIdentifier: Mailbox] = [:]
    /// The number of mailboxes at which those that have become idle are discarded.
    private var nextDiscard = 4
    /// The registrations that ended with the set while values were pending for them, by their ids.
    var unregistered: [UInt64: UnregisteredIssuer] = [:]
    /// The producer that is told whether the set is observed.
    var demand: Demand?
    /// The ids of the registered `WeakObject`s, by their objects' addresses.
    var idsByAddress: [ObjectIdentifier: UInt64] = [:]

    /// Whether anything is retired.
    var hasRetired: Bool { !newer.isEmpty || !older.isEmpty }

    /// Runs `body` for each retired observer.
    func forEachRetired(_ body: (Callee) -> Void) {
        newer.forEachCallee(body)
        older.forEachCallee(body)
    }

    /// Marks an observer as removed in the replaced blocks, which earlier traversals may still be walking.
    ///
    /// If a block in `newer` doesn't contain the observer, no block in `older` does.
    func markRemoved(_ id: UInt64) { _ = newer.markRemoved(id) && older.markRemoved(id) }

    /// Keeps the mailbox of a removed observer; now and then, first discards the mailboxes that have become idle.
    func keep(_ mailbox: Mailbox) {
        let key = ObjectIdentifier(mailbox)
        guard busy[key] == nil else { return }
        // This takes amortised O(1), because as many as were left must be added before the next time.
        if busy.count >= nextDiscard {
            discardIdle()
            nextDiscard = max(4, 2 * busy.count)
        }
        busy[key] = mailbox
    }

    func discardIdle() { busy = busy.filter { !$0.value.isIdle } }

    deinit {
        // The registry is being deallocated, so no traversal is under way.
        newer.take().release()
        older.take().release()
    }
}
