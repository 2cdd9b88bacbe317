import Synchronization

/// Changes. Each is one critical section, which returns what it displaced, to be released outside.
extension Registry {
    /// Registers an observer, and returns the id of the registration, in amortised O(1).
    func append(_ callee: Callee, site: Site) -> UInt64 {
        let hasOwner = callee.entry?.ownerType != nil
        let (id, isCrowded) = write { contents, displaced in
            let slot = unsafe vacantSlot(&contents, &displaced)
            // Under the lock, so that ids rise from slot to slot.
            let id = ObserverToken.nextID()
            contents.count += 1
            contents.living += 1
            // Before the slot is published: see there.
            lastID.store(id, ordering: .relaxed)
            unsafe slot.pointee.publish(callee, id: id, site: site)
            guard hasOwner else { return (id, false) }
            contents.unexamined += 1
            // As many as the walk over all slots costs, so that it costs each of them O(1). Only one thread is told.
            guard contents.unexamined >= max(32, contents.living / 2) else { return (id, false) }
            contents.unexamined = 0
            return (id, true)
        }
        if isCrowded { _ = remove(deadOnes()) }
        return id
    }

    /// Ends those registrations, and returns how many there still were.
    ///
    /// Each costs amortised O(1), plus O(log *n*) to find it.
    func remove(_ ids: some Sequence<UInt64>) -> Int {
        write { contents, displaced in
            ids.count { id in remove(id, &contents, &displaced) != nil }
        }
    }

    /// Ends that registration; false if it had ended, or its owner is dead.
    ///
    /// Whether the owner lives is seen before what was removed is released, which may end it.
    func end(_ id: UInt64) -> Bool {
        write(
            { contents, displaced in remove(id, &contents, &displaced) },
            answering: { removed in removed.map { entry in entry?.isAlive ?? true } ?? false })
    }

    /// Ends all registrations.
    ///
    /// Values that are still enqueued are dropped if `dropping`, and delivered otherwise.
    func removeAll(dropping: Bool) {
        write { contents, displaced in
            var removed = Displaced()
            for index in 0..<Int(contents.count) {
                let slot = unsafe slot(at: index)
                guard unsafe slot.pointee.isLiving else { continue }
                unsafe slot.pointee.markRemoved()
                unsafe removed.append(.callee(slot.pointee.callee))
            }
            for case .block(let block) in contents.backlog?.all ?? [] { unsafe block.markAllRemoved() }
            contents.living = 0
            contents.unexamined = 0
            lastID.store(0, ordering: .relaxed)
            unsafe replaceBlock(by: nil, &contents, &displaced)
            contents.count = min(1, contents.count)
            removed.forEach { item in
                if dropping, case .callee(let callee) = item { callee.entry?.end() }
                reclamation.retire(item, &contents, &displaced)
            }
        }
    }

    /// Removes the entries of dead owners.
    ///
    /// For a notification that met one. Does nothing if another thread is changing the registry: notifying never waits
    /// for that.
    func removeDead() {
        let dead = deadOnes()
        writeIfAvailable { contents, displaced in
            for id in dead { _ = remove(id, &contents, &displaced) }
            contents.unexamined = 0
        }
    }

    private func deadOnes() -> [UInt64] {
        var dead: [UInt64] = []
        forEachLiving { slot in
            if let entry = slot.callee.entry, !entry.isAlive { dead.append(slot.id) }
        }
        return dead
    }

    // MARK: Under the lock

    /// Ends that registration, and returns the entry that it had, if any; nil if it had ended.
    private func remove(_ id: UInt64, _ contents: inout Contents, _ displaced: inout Displaced) -> AnyEntry?? {
        guard let slot = unsafe slot(of: id, among: Int(contents.count)) else { return nil }
        let callee = unsafe slot.pointee.callee
        let entry = callee.entry
        // In the current slot first, which is where the next notification of any thread looks.
        unsafe slot.pointee.markRemoved()
        // Then for the traversals of displaced blocks, from the latest. A living observer that is in one of them is in all
        // later ones: where it is missing, we are done.
        for case .block(let block) in contents.backlog?.all ?? [] {
            guard unsafe block.markRemoved(id) else { break }
        }
        entry?.end()
        contents.living -= 1
        if contents.living == 0 { lastID.store(0, ordering: .relaxed) }
        // The same pointer once more: whoever loads the head after this store sees the slot marked. Sequentially
        // consistent: this is the unlinking in "Why nothing is released too early".
        unsafe head.store(head.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
        reclamation.retire(.callee(callee), &contents, &displaced)
        // Half of many blank: notifications should not walk the blanks.
        if contents.count >= 32, contents.living * 2 < contents.count { moveToFreshBlock(&contents, &displaced) }
        return .some(entry)
    }

    /// The last step of each change.
    func finish(_ contents: inout Contents, _ displaced: borrowing Displaced) {
        // The last ones are vacant again when nothing waits: see "Why nothing is released too early".
        // fault: slot-vacant-too-early
        if !contents.isAnythingWaiting {
            while contents.count > 0, unsafe slot(at: Int(contents.count) - 1).pointee.isRemoved {
                contents.count -= 1
                unsafe slot(at: Int(contents.count)).pointee.vacate()
            }
        }
        displaced.forEach { item in
            // What is still enqueued for a removed observer, when no traversal can enqueue more.
            guard case .callee(let callee) = item, let mailbox = callee.entry?.mailbox,
                mailbox.isBusy(telling: self)
            else { return }
            contents.madeBacklog().departing[ObjectIdentifier(mailbox)] = mailbox
        }
        checkInvariants(contents)
    }

    /// Where the next observer comes to stand.
    private func vacantSlot(
        _ contents: inout Contents, _ displaced: inout Displaced
    ) -> UnsafeMutablePointer<Slot> {
        let room = unsafe block?.capacity ?? 0
        if Int(contents.count) == 1 + room { moveToFreshBlock(&contents, &displaced) }
        return unsafe slot(at: Int(contents.count))
    }

    /// Replaces the block by one without blanks, with room for as many again, or for a quarter as many where they are many.
    private func moveToFreshBlock(_ contents: inout Contents, _ displaced: inout Displaced) {
        let kept = unsafe Int(contents.living) - (firstSlot.pointee.isLiving ? 1 : 0)
        let least = unsafe block == nil ? 3 : 7
        let fresh = unsafe Block(capacity: max(least, kept < 64 ? 2 * kept : kept + kept / 4))
        var place = unsafe fresh.slots
        for index in 1..<Int(contents.count) {
            let slot = unsafe slot(at: index)
            guard unsafe slot.pointee.isLiving else { continue }
            // Bit by bit, since traversals may still be reading the old ones; the fresh block owns what the slots own.
            unsafe UnsafeMutableRawPointer(place).copyMemory(from: slot, byteCount: MemoryLayout<Slot>.size)
            unsafe place += 1
        }
        unsafe replaceBlock(by: fresh, &contents, &displaced)
        contents.count = UInt32(1 + kept)
    }

    private func replaceBlock(by fresh: Block?, _ contents: inout Contents, _ displaced: inout Displaced) {
        let old = unsafe block
        // Sequentially consistent: it unlinks the old block, and publishes the slots of the fresh one.
        unsafe head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        guard let old = unsafe old else { return }
        unsafe reclamation.retire(.block(old), &contents, &displaced)
    }

    func slot(at index: Int) -> UnsafeMutablePointer<Slot> {
        unsafe index == 0 ? firstSlot : Block(head.load(ordering: .relaxed).unsafelyUnwrapped).slots + (index - 1)
    }

    /// Where the living observer with that id is.
    private func slot(of id: UInt64, among count: Int) -> UnsafeMutablePointer<Slot>? {
        let slot = unsafe firstSlot.pointee.id == id ? firstSlot : block?.slot(of: id, among: max(0, count - 1))
        guard let slot = unsafe slot, unsafe slot.pointee.isLiving(id) else { return nil }
        return unsafe slot
    }
}

extension Registry: MailboxKeeper {
    /// A mailbox that has departed is idle.
    func hasSettled(_ mailbox: Mailbox) {
        write { contents, _ in
            guard let backlog = contents.backlog else { return }
            backlog.departing[ObjectIdentifier(mailbox)] = nil
            // Where thousands departed, the room goes with the last of them.
            if backlog.departing.isEmpty { backlog.departing = [:] }
        }
    }
}
