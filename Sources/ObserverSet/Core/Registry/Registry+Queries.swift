import Synchronization

/// Queries. None of them loads a weak reference under the lock.
extension Registry {
    /// The number of registered observers whose owner, if they have one, is alive; in O(*n*).
    var count: Int {
        var count = 0
        forEachLiving { if $0.isAlive { count += 1 } }
        return count
    }

    /// Whether there is no such observer.
    var isEmpty: Bool {
        var traversal = unsafe Traversal(.passUnretained(self))
        defer { extendLifetime(traversal) }
        while let slot = unsafe traversal.next() {
            if unsafe slot.pointee.isAlive { return false }
        }
        return true
    }

    /// A line for each registered observer whose owner, if it has one, is alive; in the order of registration.
    var listing: Listing {
        var listing = Listing()
        forEachLiving {
            if let line = Self.describe($0.callee.registration, (isShared, $0.site)) { listing.append(line) }
        }
        return listing
    }

    /// Ends all registrations of that owner, and returns how many there were, in O(*n*).
    func removeAll(ownedBy owner: AnyObject) -> Int {
        remove(ids { slot in slot.callee.ask { $0.owner === owner } ?? false })
    }

    /// The ids of those registrations that satisfy a condition.
    func ids(where condition: (borrowing Slot) -> Bool) -> [UInt64] {
        var ids: [UInt64] = []
        forEachLiving { slot in if condition(slot) { ids.append(slot.id) } }
        return ids
    }

    /// The mailboxes in which values may wait: those of registered observers, and of removed ones that are still in use.
    func mailboxes() -> [Mailbox] {
        var mailboxes: [ObjectIdentifier: Mailbox] = [:]
        func note(_ mailbox: Mailbox?) { if let mailbox { mailboxes[ObjectIdentifier(mailbox)] = mailbox } }
        forEachLiving { note($0.callee.ask(\.mailbox) ?? nil) }
        // After the traversal: an observer that is removed meanwhile is found by the traversal or among the retired.
        return write { contents, _ in
            contents.rare?.discardIdle()
            contents.rare?.busy.values.forEach(note)
            contents.rare?.newer.forEachCallee { note($0.ask(\.mailbox) ?? nil) }
            contents.rare?.older.forEachCallee { note($0.ask(\.mailbox) ?? nil) }
            return Array(mailboxes.values)
        }
    }
}

// MARK: - Invariants

extension Registry {
    /// Checks the invariants that hold whenever the lock is free.
    ///
    /// Called under the lock, at the end of a change, in builds for which `LockCheck.isChecked` is true. It looks at the
    /// slots only if there are few, since it takes O(*n*).
    @inline(__always)
    func checkInvariants(_ contents: borrowing Contents) {
        guard LockCheck.isChecked else { return }
        precondition(contents.isAnythingWaiting == contents.rare.map { !$0.isEmpty } ?? false)
        precondition(contents.isAnythingWaiting == reclamation.isWaiting.load(ordering: .relaxed))
        precondition(contents.living <= contents.taken)
        precondition((lastID.load(ordering: .relaxed) == 0) == (contents.living == 0))
        guard contents.taken <= 16 else { return }
        var last: UInt64 = 0
        var living: UInt32 = 0
        for index in 0..<Int(contents.taken) {
            let slot = unsafe slots[index]
            unsafe precondition(last < slot.pointee.id)
            last = unsafe slot.pointee.id
            if unsafe slot.pointee.isLiving { living += 1 }
        }
        precondition(living == contents.living)
    }
}
