import Synchronization

/// Changes. Each is one critical section; anything that must not run under the lock runs after unlocking.
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

    /// Ends these registrations, and returns how many of them had not ended before.
    ///
    /// Each costs amortised O(1), plus O(log *n*) to find it.
    func remove(_ ids: some Sequence<UInt64>) -> Int {
        write { contents, after in
            ids.count { id in remove(id, &contents, &after) != nil }
        }
    }

    /// Ends a registration; false if it had ended before, or its owner is dead.
    ///
    /// Whether the owner is alive is checked before what was removed is released, since that release may deallocate the
    /// owner.
    func end(_ id: UInt64) -> Bool {
        write(
            { contents, after in remove(id, &contents, &after) },
            answering: { removed in removed.map { entry in entry?.isAlive ?? true } ?? false })
    }

    /// Ends a registration, if it is one of this registry's; true for exactly one caller.
    package func remove(_ token: ObserverToken) -> Bool {
        token.issuer.issuesTokens(for: self) && token.remove()
    }

    /// Ends all registrations.
    ///
    /// Values that are still enqueued are dropped if `dropping` is true, and delivered otherwise.
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
    /// Called after a traversal that met one. It does nothing if another thread is changing the registry: notifying
    /// never waits for a change.
    @inline(never)
    func removeDead() {
        let dead = deadOnes()
        var demand: Demand?
        writeIfAvailable { contents, after in
            for id in dead { _ = remove(id, &contents, &after) }
            contents.counts.unexamined = 0
            // Here, since `tellDemand()` would wait for the lock.
            demand = contents.backlog?.demand
            demand?.note(contents.counts.living > 0)
        }
        demand?.tell()
    }

    func deadOnes() -> [UInt64] {
        var dead: [UInt64] = []
        forEachLiving { slot in
            if slot.isDead { dead.append(slot.id) }
        }
        return dead
    }

    // MARK: Under the lock

    /// Registers an observer behind all others; `isCrowded` is true if it is time to search for dead owners.
    @inline(__always)
    func insert(
        _ callee: Callee, site: Site, mayDie: Bool, _ contents: inout Contents, _ after: inout Aftermath
    ) -> (id: UInt64, isCrowded: Bool) {
        if slots.isFull(contents.counts) { moveToFreshBlock(&contents, &after) }
        let slot = unsafe slots[Int(contents.counts.taken)]
        // Issued under the lock, so that ids ascend from slot to slot.
        let id = ObserverToken.nextID()
        // Before the slot is published: see `lastID`.
        lastID.store(id, ordering: .relaxed)
        unsafe slot.pointee.publish(callee, id: id, site: site)
        // `add` resets its counter when it returns true, so that only one thread searches.
        return (id, contents.counts.add(mayDie: mayDie))
    }

    /// Ends a registration, and returns its entry: `.some(nil)` for a plain function, nil if it had ended before.
    func remove(_ id: UInt64, _ contents: inout Contents, _ after: inout Aftermath) -> AnyEntry?? {
        guard let slot = unsafe slots.living(id, among: contents.counts.taken) else { return nil }
        let callee = unsafe slot.pointee.callee
        let entry = callee.entry
        // The current slot first: it is the one that the next notification of any thread reads.
        unsafe slot.pointee.markRemoved()
        contents.backlog?.markRemoved(id)
        if let entry {
            contents.forget(entry)
            after.end(entry)
        }
        contents.counts.living -= 1
        if contents.counts.living == 0 { lastID.store(0, ordering: .relaxed) }
        // Stores the same pointer again: a traversal that loads the head after this store sees the slot marked.
        // Sequentially consistent, since this store is the unlinking (U) in "Why nothing is released too early".
        unsafe slots.head.store(slots.head.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
        reclamation.retire(Retired(callee), &contents, &after.displaced)
        return .some(entry)
    }

    private func moveToFreshBlock(_ contents: inout Contents, _ after: inout Aftermath) {
        unsafe replaceBlock(by: slots.freshBlock(&contents.counts), &contents, &after)
    }

    private func replaceBlock(by fresh: Block?, _ contents: inout Contents, _ after: inout Aftermath) {
        let old = unsafe slots.block
        // Sequentially consistent: the store unlinks the old block (U), and publishes the slots of the fresh one.
        unsafe slots.head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        if let old = unsafe old { unsafe reclamation.retire(Retired(old), &contents, &after.displaced) }
    }

    /// The last step of each change; still under the lock.
    @inline(__always)
    func finish(_ contents: inout Contents, _ after: inout Aftermath) {
        // See "Why nothing is released too early".
        // fault: slot-vacant-too-early
        if !contents.isAnythingWaiting { slots.trim(&contents.counts) }
        if slots.areWasteful(contents.counts) { moveToFreshBlock(&contents, &after) }
        after.displaced.forEachCallee { callee in
            // No traversal can post more for this removed observer. A call of it may be under way.
            guard let entry = callee.entry, !entry.isAwaited, let mailbox = entry.mailbox, !mailbox.isIdle
            else { return }
            contents.madeBacklog().depart(mailbox)
        }
        checkInvariants(contents)
    }
}
