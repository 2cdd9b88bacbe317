import Synchronization

/// Queries, none of which loads a weak reference under the lock.
extension Registry {
    /// The number of registered observers, without those whose owner is dead; in O(*n*).
    var count: Int {
        var count = 0
        forEachRegistered { if !$0.isOrphaned { count += 1 } }
        return count
    }

    /// Whether there is no registered observer whose owner, if it has one, is alive.
    var isEmpty: Bool {
        var traversal = unsafe Traversal(.passUnretained(self))
        defer { extendLifetime(traversal) }
        while let slot = unsafe traversal.next() {
            if unsafe !slot.pointee.isOrphaned { return false }
        }
        return true
    }

    /// A line for each registered observer, in the order of registration, without those whose owner is dead.
    var listing: Listing {
        var listing = Listing()
        forEachRegistered {
            if let line = Self.describe($0.callee.registration, (describesIsolation, $0.site)) { listing.append(line) }
        }
        return listing
    }

    /// Ends all registrations of an owner, and returns how many there were, in O(*n*).
    func removeAll(ownedBy owner: AnyObject) -> Int {
        remove(ids { slot in slot.callee.ask { $0.owner === owner } ?? false })
    }

    /// The ids of the registrations that satisfy a condition.
    func ids(where condition: (borrowing Slot) -> Bool) -> [UInt64] {
        var ids: [UInt64] = []
        forEachRegistered { slot in if condition(slot) { ids.append(slot.id) } }
        return ids
    }

    /// The mailboxes that may have pending values or a call in progress: those of registered and of retired observers,
    /// and the busy ones of observers that have been released.
    func mailboxes() -> [Mailbox] {
        var mailboxes: [ObjectIdentifier: Mailbox] = [:]
        func note(_ mailbox: Mailbox?) { if let mailbox { mailboxes[ObjectIdentifier(mailbox)] = mailbox } }
        forEachRegistered { note($0.callee.ask(\.mailbox) ?? nil) }
        // This comes after the traversal. So an observer that is removed in the meantime is found either by the
        // traversal or among what is retired.
        return write { contents, _ in
            contents.rare?.discardIdle()
            contents.rare?.busy.values.forEach(note)
            contents.rare?.forEachRetired { note($0.ask(\.mailbox) ?? nil) }
            return Array(mailboxes.values)
        }
    }
}

// MARK: - Invariants

extension Registry {
    /// Checks the invariants that hold whenever the lock is free.
    ///
    /// It is called under the lock, at the end of a change, in builds for which `LockCheck.isEnabled` is true. It looks
    /// at the slots only if there are few, because that takes O(*n*). Its loads are relaxed, because the lock orders
    /// them after the stores.
    @inline(__always)
    func checkInvariants(_ contents: borrowing Contents) {
        guard LockCheck.isEnabled else { return }
        precondition(contents.hasRetired == contents.rare?.hasRetired ?? false)
        precondition(contents.hasRetired == reclamation.hasRetired.load(ordering: .relaxed))
        precondition(contents.registered <= contents.taken)
        precondition((lastID.load(ordering: .relaxed) == 0) == (contents.registered == 0))
        guard contents.taken <= 16 else { return }
        var last: UInt64 = 0
        var registered: UInt32 = 0
        for index in 0..<Int(contents.taken) {
            let slot = unsafe slots[index]
            unsafe precondition(last < slot.pointee.id)
            last = unsafe slot.pointee.id
            if unsafe slot.pointee.isRegistered { registered += 1 }
        }
        precondition(registered == contents.registered)
    }
}
