/// Removed observers that wait for their release, and state that only few sets need; guarded by the registry's lock.
final class RareState: @unchecked Sendable {
    /// Retired since the last flip.
    var newer = Retired()
    /// Retired before the last flip.
    var older = Retired()
    /// The thread that retired something last: see `Reclamation.thread()`.
    var thread: UInt = 0
    /// The mailboxes of removed observers that were still busy when the observer was released: `settled()` waits for them,
    /// too, and so does `removeAndWait()` of a registration that had ended before.
    ///
    /// One that has become idle may stay for a while. If it is that of a queue, it holds the queue.
    var busy: [ObjectIdentifier: Mailbox] = [:]
    /// The producer that is informed whether the set is observed.
    var demand: Demand?
    /// The ids of living `WeakTarget`s, by the addresses of their objects.
    var idsByAddress: [ObjectIdentifier: UInt64] = [:]

    /// Whether nothing waits for its release.
    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    /// Marks an observer as removed in the replaced blocks, which earlier traversals may still be walking.
    func markRemoved(_ id: UInt64) {
        _ = newer.markRemoved(id) && older.markRemoved(id)
    }

    /// Keeps the mailbox of a removed observer; if the table is full, first discards those that have become idle.
    func keep(_ mailbox: Mailbox) {
        let key = ObjectIdentifier(mailbox)
        guard busy[key] == nil else { return }
        // In amortised O(1): the dictionary grows as it doubles.
        if busy.count == busy.capacity { discardIdle() }
        busy[key] = mailbox
    }

    func discardIdle() { busy = busy.filter { !$0.value.isIdle } }

    deinit {
        // The registry is being deallocated, so no traversal is under way.
        newer.take().release()
        older.take().release()
    }
}
