import Synchronization

/// Questions. Each is answered by a pass, so that weak references are loaded under no lock.
extension Registry {
    /// The number of living observers, in O(*n*).
    var count: Int {
        var count = 0
        forEachLiving { if $0.isAlive { count += 1 } }
        return count
    }

    /// Whether there is no living observer.
    var isEmpty: Bool {
        var pass = unsafe Pass(.passUnretained(self))
        var isEmpty = true
        while isEmpty, let slot = unsafe pass.next() { isEmpty = unsafe !slot.pointee.isAlive }
        pass.end()
        return isEmpty
    }

    func isRegistered(_ id: UInt64) -> Bool {
        inspect(id) { $0.isAlive } ?? false
    }

    func description(of id: UInt64) -> String? {
        inspect(id) { $0.isAlive ? $0.description : nil } ?? nil
    }

    /// One line for each living observer, in order.
    var descriptions: [String] {
        var lines: [String] = []
        forEachLiving { if $0.isAlive { lines.append($0.description) } }
        return lines
    }

    /// Ends all registrations of that owner, and returns how many there were, in O(*n*).
    func removeAll(ownedBy owner: AnyObject) -> Int {
        var ids: [UInt64] = []
        forEachLiving { if $0.payload.entry?.owner === owner { ids.append($0.id) } }
        return remove(ids)
    }

    /// Where values may be waiting: those of the observers, and of removed ones that were being called.
    func mailboxes() -> [Mailbox] {
        var mailboxes: [Mailbox] = []
        forEachLiving { if let mailbox = $0.payload.entry?.mailbox { mailboxes.append(mailbox) } }
        // After the walk: an observer that is removed meanwhile is found in the one or the other.
        return write { contents, _ in
            let removed = contents.newer.payloads + contents.older.payloads
            return mailboxes + contents.departing.values + removed.compactMap { $0.entry?.mailbox }
        }
    }

    /// Runs `body` on the living slot with that id, in a pass.
    private func inspect<Result>(_ id: UInt64, _ body: (borrowing Slot) -> Result) -> Result? {
        let pass = unsafe Pass(.passUnretained(self))
        let slot = unsafe pass.slot(of: id)
        let result = unsafe slot.map { unsafe body($0.pointee) }
        pass.end()
        return result
    }
}

extension Slot {
    fileprivate var isAlive: Bool { payload.entry?.isAlive ?? true }

    /// For example `View, on MainActor, registered at Player/View.swift:12`.
    fileprivate var description: String {
        let entry = payload.entry
        let owner = entry?.ownerType.map { "\($0)" } ?? "closure"
        let isolation = entry?.isolationDescription.map { "on \($0)" } ?? "nonisolated"
        return "\(owner), \(isolation), registered at \(site)"
    }
}

// MARK: - Invariants

extension Registry {
    /// Checks what holds whenever the lock is free.
    ///
    /// Under the lock; in debug builds, but for the thread sanitizer's, which are slow enough, and while there is little
    /// to look at.
    @inline(__always)
    func checkInvariants(_ contents: borrowing Contents) {
        guard CallOut.isChecked else { return }
        precondition(hasRetired.load(ordering: .relaxed) == contents.hasRetired)
        unsafe precondition(head.load(ordering: .relaxed) == contents.snapshot?.memory)
        guard let snapshot = unsafe contents.snapshot else { return precondition(living == 0) }
        let count = unsafe snapshot.count
        unsafe precondition(living <= count && count <= snapshot.capacity)
        guard count <= 16 else { return }
        var lastID: UInt64 = 0
        var living = 0
        for index in 0..<count {
            unsafe precondition(lastID < snapshot.slots[index].id)
            lastID = unsafe snapshot.slots[index].id
            if unsafe snapshot.slots[index].isLiving { living += 1 }
        }
        precondition(living == self.living)
    }
}
