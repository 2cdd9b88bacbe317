/// Removed observers that wait for their release, and state that only few sets need; guarded by the registry's lock.
final class Backlog: @unchecked Sendable {
    /// Retired since the last flip.
    var newer = Retired()
    /// Retired before the last flip.
    var older = Retired()
    /// The thread that retired something last: see `Reclamation.thread()`.
    var thread: UInt = 0
    /// The mailboxes of removed observers that were still busy when the observer was released: `settled()` waits for them,
    /// too.
    ///
    /// One that has become idle may stay for a while. If it is that of a queue, it holds the queue.
    var departing: [ObjectIdentifier: Mailbox] = [:]
    /// The same for removed observers that await, by the ids of their registrations: `removeAndWait()` waits for them,
    /// and `settled()` only for a call that has ended its registration itself, as that of an observer that is called once.
    var awaiting: [UInt64: Mailbox] = [:]
    /// The producer that is informed whether the set is observed; stored here, since few sets have one.
    var demand: Demand?
    /// The ids of living `WeakEntry`s, by the addresses of their objects.
    ///
    /// Stored here only to keep most registries small, which have none.
    var idsByAddress: [ObjectIdentifier: UInt64] = [:]

    var isEmpty: Bool { newer.isEmpty && older.isEmpty }

    /// Marks an observer as removed in the replaced blocks, which earlier traversals may still be walking.
    func markRemoved(_ id: UInt64) {
        _ = newer.markRemoved(id) && older.markRemoved(id)
    }

    /// The same for all observers.
    func markAllRemoved() {
        _ = newer.markAllRemoved() && older.markAllRemoved()
    }

    /// Keeps the mailbox of a removed observer; if the table is full, first discards those that have become idle.
    func depart(_ mailbox: Mailbox) {
        let key = ObjectIdentifier(mailbox)
        guard departing[key] == nil else { return }
        // In amortised O(1): the dictionary grows as it doubles.
        if departing.count == departing.capacity { departing = departing.filter { !$0.value.isIdle } }
        departing[key] = mailbox
    }

    /// The same for an observer that awaits.
    func depart(_ mailbox: Mailbox, of id: UInt64) {
        if awaiting.count == awaiting.capacity { awaiting = awaiting.filter { !$0.value.isIdle } }
        awaiting[id] = mailbox
    }

    deinit {
        // The registry is being deallocated, so no traversal is under way.
        newer.take().release()
        older.take().release()
        demand?.record(false)
        demand?.report()
    }
}
