import Synchronization

/// Changes. Each is one critical section; what must not be done under the lock is done after it.
extension Registry {
    /// Registers an observer, and returns the id of the registration, in amortised O(1).
    func append(_ callee: Callee, site: Site) -> UInt64 {
        let mayDie = callee.entry?.mayDie ?? false
        let (id, isCrowded) = write { contents, after in
            insert(callee, site: site, mayDie: mayDie, &contents, &after)
        }
        if isCrowded { _ = remove(deadOnes()) }
        return id
    }

    /// Ends those registrations, and returns how many there still were.
    ///
    /// Each costs amortised O(1), plus O(log *n*) to find it.
    func remove(_ ids: some Sequence<UInt64>) -> Int {
        write { contents, after in
            ids.count { id in remove(id, &contents, &after) != nil }
        }
    }

    /// Ends that registration; false if it had ended, or its owner is dead.
    ///
    /// Whether the owner lives is seen before what was removed is released, which may end it.
    func end(_ id: UInt64) -> Bool {
        write(
            { contents, after in remove(id, &contents, &after) },
            answering: { removed in removed.map { entry in entry?.isAlive ?? true } ?? false })
    }

    /// Ends that registration, if it is one of this registry's; true for exactly one caller.
    package func remove(_ token: ObserverToken) -> Bool {
        token.issuer.issuesTokens(for: self) && token.remove()
    }

    /// Ends all registrations.
    ///
    /// Values that are still enqueued are dropped if `dropping`, and delivered otherwise.
    package func removeAll(dropping: Bool) {
        write { contents, after in
            var removed = Retired()
            for index in 0..<Int(contents.counts.taken) {
                let slot = unsafe slots[index]
                guard unsafe slot.pointee.isLiving else { continue }
                unsafe slot.pointee.markRemoved()
                unsafe removed.append(slot.pointee.callee)
            }
            contents.backlog?.markAllRemoved()
            contents.counts = SlotCounts(taken: min(1, contents.counts.taken))
            lastID.store(0, ordering: .relaxed)
            unsafe replaceBlock(by: nil, &contents, &after)
            contents.backlog?.ids = [:]
            if dropping { removed.forEachCallee { if let entry = $0.entry { after.end(entry) } } }
            if !removed.isEmpty { reclamation.retire(removed, &contents, &after.displaced) }
        }
    }

    /// Removes the entries of dead owners, and of dead objects.
    ///
    /// For a notification that met one. Does nothing if another thread is changing the registry: notifying never waits
    /// for that.
    @inline(never)
    func removeDead() {
        let dead = deadOnes()
        writeIfAvailable { contents, after in
            for id in dead { _ = remove(id, &contents, &after) }
            contents.counts.unexamined = 0
        }
    }

    func deadOnes() -> [UInt64] {
        var dead: [UInt64] = []
        forEachLiving { slot in
            if slot.isDead { dead.append(slot.id) }
        }
        return dead
    }

    // MARK: Under the lock

    /// Registers an observer behind all others, and says whether the dead are to be looked for.
    @inline(__always)
    func insert(
        _ callee: Callee, site: Site, mayDie: Bool, _ contents: inout Contents, _ after: inout Aftermath
    ) -> (id: UInt64, isCrowded: Bool) {
        if slots.isFull(contents.counts) { moveToFreshBlock(&contents, &after) }
        let slot = unsafe slots[Int(contents.counts.taken)]
        // Under the lock, so that ids rise from slot to slot.
        let id = ObserverToken.nextID()
        // Before the slot is published: see there.
        lastID.store(id, ordering: .relaxed)
        unsafe slot.pointee.publish(callee, id: id, site: site)
        // Only one thread is told.
        return (id, contents.counts.add(mayDie: mayDie))
    }

    /// Ends that registration, and returns the entry that it had, if any; nil if it had ended.
    func remove(_ id: UInt64, _ contents: inout Contents, _ after: inout Aftermath) -> AnyEntry?? {
        guard let slot = unsafe slots.living(id, among: contents.counts.taken) else { return nil }
        let callee = unsafe slot.pointee.callee
        let entry = callee.entry
        // In the current slot first, which is where the next notification of any thread looks.
        unsafe slot.pointee.markRemoved()
        contents.backlog?.markRemoved(id)
        if let entry {
            contents.forget(entry)
            after.end(entry)
        }
        contents.counts.living -= 1
        if contents.counts.living == 0 { lastID.store(0, ordering: .relaxed) }
        // The same pointer once more: whoever loads the head after this store sees the slot marked. Sequentially
        // consistent: this is the unlinking in "Why nothing is released too early".
        unsafe slots.head.store(slots.head.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
        reclamation.retire(Retired(callee), &contents, &after.displaced)
        return .some(entry)
    }

    private func moveToFreshBlock(_ contents: inout Contents, _ after: inout Aftermath) {
        unsafe replaceBlock(by: slots.freshBlock(&contents.counts), &contents, &after)
    }

    private func replaceBlock(by fresh: Block?, _ contents: inout Contents, _ after: inout Aftermath) {
        let old = unsafe slots.block
        // Sequentially consistent: it unlinks the old block, and publishes the slots of the fresh one.
        unsafe slots.head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        if let old = unsafe old { unsafe reclamation.retire(Retired(old), &contents, &after.displaced) }
    }

    /// The last step of each change.
    @inline(__always)
    func finish(_ contents: inout Contents, _ after: inout Aftermath) {
        // See "Why nothing is released too early".
        // fault: slot-vacant-too-early
        if !contents.isAnythingWaiting { slots.trim(&contents.counts) }
        if slots.areWasteful(contents.counts) { moveToFreshBlock(&contents, &after) }
        after.displaced.forEachCallee { callee in
            // What is still enqueued for a removed observer, when no traversal can enqueue more.
            guard let mailbox = callee.entry?.mailbox, mailbox.isBusy(telling: self) else { return }
            contents.madeBacklog().departing[ObjectIdentifier(mailbox)] = mailbox
        }
        checkInvariants(contents)
    }
}

extension Registry: MailboxKeeper {
    /// A mailbox that has departed is idle.
    func hasSettled(_ mailbox: Mailbox) {
        write { contents, _ in
            guard let backlog = contents.backlog else { return }
            // It may have got busy again, and departed a second time.
            if mailbox.isIdle { backlog.departing[ObjectIdentifier(mailbox)] = nil }
            // Where thousands departed, the room goes with the last of them.
            if backlog.departing.isEmpty { backlog.departing = [:] }
        }
    }
}
