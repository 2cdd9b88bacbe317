import Synchronization

/// Changes, each of which is one critical section; whatever must not run under the lock runs after unlocking.
///
/// When a comment names a section in quotation marks, that section belongs to the argument in `Reclamation.swift`.
extension Registry {
    /// Registers an observer, and returns the id of its registration, in amortised O(1).
    ///
    /// Now and then, this also removes the registrations of dead owners.
    func append(_ callee: Callee, site: Site) -> UInt64 {
        let (id, shouldSweep) = write { contents, cleanup in insert(callee, site: site, &contents, &cleanup) }
        if shouldSweep { _ = remove(deadIDs()) }
        return id
    }

    /// Ends several registrations, and returns how many of them had not ended before.
    func remove(_ ids: [UInt64]) -> Int {
        write { contents, cleanup in
            ids.reduce(0) { count, id in remove(id, &contents, &cleanup) == nil ? count : count + 1 }
        }
    }

    /// Ends the registration that a token names, if it belongs to this registry; returns true for exactly one caller.
    package func remove(_ token: ObserverToken) -> Bool {
        token.issuer.tokensStandForOneRegistration(madeBy: self) && token.remove()
    }

    /// Ends all registrations.
    ///
    /// Values that are still pending are dropped if `droppingPending` is true, and delivered otherwise.
    package func removeAll(droppingPending: Bool) {
        write { contents, cleanup in
            for index in 0..<Int(contents.taken) where unsafe slots[index].pointee.isRegistered {
                _ = unsafe remove(slots[index], droppingPending: droppingPending, &contents, &cleanup)
            }
            (contents.taken, contents.registered, contents.addedSinceSweep) = (min(1, contents.taken), 0, 0)
            if unsafe slots.block != nil { replaceOrDropBlock(&contents, &cleanup) }
        }
    }

    /// Removes the registrations of dead owners and dead objects.
    ///
    /// Call this after a traversal that has met one. It does nothing if another thread is changing the registry,
    /// because notifying never waits for a change.
    @inline(never)
    func tryToRemoveDead() {
        let dead = deadIDs()
        var demand: Demand?
        writeIfAvailable { contents, cleanup in
            for id in dead { _ = remove(id, &contents, &cleanup) }
            contents.addedSinceSweep = 0
            // This happens within the change, because `reportDemand()` would wait for the lock.
            demand = contents.recordDemand()
        }
        demand?.report()
    }

    func deadIDs() -> [UInt64] { ids { slot in slot.shouldBeSwept } }

    // MARK: Under the lock

    /// Registers an observer behind all others; `shouldSweep` is true if it is time to search for dead owners and
    /// objects.
    ///
    /// The id is issued under the lock, so that ids ascend from slot to slot.
    @inline(__always)
    func insert(
        _ callee: Callee, site: Site, _ contents: inout Contents, _ cleanup: inout Cleanup
    ) -> (id: UInt64, shouldSweep: Bool) {
        contents.lastIssued += 1
        let id = contents.lastIssued
        if slots.isFull(contents) { replaceOrDropBlock(&contents, &cleanup) }
        let slot = unsafe slots[Int(contents.taken)]
        // The id is stored before the slot is published: see `lastID`.
        //
        // The store is releasing, and paired with the acquiring load of a notification: a thread that may call this
        // observer must also see the removals that happened before it was added. That also holds for a notification
        // that loads the id of a later observer, because the lock orders this store before that one.
        lastID.store(id, ordering: .releasing)
        unsafe slot.pointee.publish(callee, id: id, site: site)
        // When `countOneMore` returns true, it has reset its counter, so that only one thread searches.
        return (id, contents.countOneMore(mayDie: callee.mayDie))
    }

    /// Ends the registration with this id, and returns it: `.some(nil)` for a plain function, or nil if it had already
    /// ended.
    @inline(never)
    func remove(_ id: UInt64, _ contents: inout Contents, _ cleanup: inout Cleanup) -> Registration?? {
        unsafe slots.registered(id, among: contents.taken).map { slot in
            unsafe remove(slot, droppingPending: true, &contents, &cleanup)
        }
    }

    /// Ends the registration in a registered slot, and returns it, or nil for a plain function.
    @inline(never)
    private func remove(
        _ slot: UnsafeMutablePointer<Slot>, droppingPending: Bool, _ contents: inout Contents, _ cleanup: inout Cleanup
    ) -> Registration? {
        let (id, callee) = unsafe (slot.pointee.id, slot.pointee.callee)
        let registration = callee.registration
        // The current slot is marked first, because it is the one that every new notification reads.
        unsafe slot.pointee.markRemoved()
        if contents.hasRetired { contents.rare?.markRemoved(id) }
        if let registration {
            endRegistration(id, callee, registration, droppingPending: droppingPending, &contents, &cleanup)
        }
        contents.registered -= 1
        // This store is relaxed, because a notification that doesn't see it yet walks the slots, and finds nobody to
        // call.
        if contents.registered == 0 { lastID.store(0, ordering: .relaxed) }
        // This stores the same pointer again, so that a traversal that loads the head after this store sees the slot
        // marked. The store is sequentially consistent, because it is the unlinking (U) in "Why nothing is released too
        // early". The load is relaxed, because only the holder of the lock stores the head.
        unsafe slots.head.store(slots.head.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
        reclamation.retire(Retired(callee), &contents, &cleanup.releasable)
        return registration
    }

    /// Drops the values that are pending for a registration, or else keeps them, and a weak reference to it, by which
    /// its token can still drop them.
    @inline(never)
    private func endRegistration(
        _ id: UInt64, _ callee: Callee, _ registration: Registration, droppingPending: Bool, _ contents: inout Contents,
        _ cleanup: inout Cleanup
    ) {
        if callee.has(Registration.isWeak) {
            let target = unsafe unsafeDowncast(registration, to: WeakObject.self)
            _ = contents.rare?.idsByAddress.removeAndTrim(target.address)
        }
        if droppingPending {
            cleanup.markRemoved(registration, isAwaited: callee.has(Registration.isAwaited))
        } else if registration.innermost.mailbox?.isIdle == false {
            contents.madeRare().unregistered[id] = UnregisteredIssuer(registration)
        }
    }

    /// Replaces the block with one that has only the registered slots, or drops it if none is needed, and retires it.
    @inline(never)
    private func replaceOrDropBlock(_ contents: inout Contents, _ cleanup: inout Cleanup) {
        let (old, fresh) = unsafe (slots.block, slots.compactedBlock(&contents))
        // This store is sequentially consistent, because it unlinks the old block (U). It also publishes the slots of
        // the fresh block.
        unsafe slots.head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        if let old = unsafe old { unsafe reclamation.retire(Retired(old), &contents, &cleanup.releasable) }
    }

    /// Ends a change: moves what no traversal can reach any longer to `cleanup.releasable`, keeps its mailboxes in
    /// which a call may still be in progress, and tidies up the slots; returns whether anything is still retired.
    ///
    /// This function isn't inlined, nor are `endRegistration`, `replaceOrDropBlock` and `keepMailbox`, because each
    /// change would otherwise be half a kilobyte larger.
    @inline(never)
    private func collectAndTidyUp(_ contents: inout Contents, _ cleanup: inout Cleanup) -> Bool {
        reclamation.collect(&contents, &cleanup.releasable)
        // While anything is retired, a traversal may have seen these slots registered: see "Slots at the end".
        // fault: slot-vacant-too-early
        if !contents.hasRetired { slots.trim(&contents) }
        if slots.shouldBeCompacted(contents) { replaceOrDropBlock(&contents, &cleanup) }
        cleanup.releasable.forEachCallee { callee in
            if callee.has(Registration.hasMailbox) { keepMailbox(of: callee, &contents) }
        }
        checkInvariants(contents)
        return contents.hasRetired
    }

    /// Keeps the mailbox of an observer that no traversal can reach any longer, if a call may still be in progress
    /// there.
    ///
    /// No traversal can post anything to that mailbox for this observer any more.
    @inline(never)
    private func keepMailbox(of callee: Callee, _ contents: inout Contents) {
        guard case let mailbox?? = callee.ask(\.mailbox), !mailbox.isIdle else { return }
        contents.madeRare().keep(mailbox)
    }
}

// MARK: - The critical section

extension Registry {
    typealias Change<Result> = (inout Contents, inout Cleanup) -> Result

    /// Makes a change, collects what has become free in the meantime, and releases it after unlocking.
    @inline(__always)
    func write<Result: Sendable>(_ change: Change<Result>) -> Result {
        var cleanup = Cleanup()
        let result = write(&cleanup, change)
        cleanUp(cleanup)
        return result
    }

    /// Does what must come after unlocking; this runs user code.
    @inline(__always)
    func cleanUp(_ cleanup: consuming Cleanup) {
        cleanup.run()
        if hasDemand { reportDemand() }
    }

    /// Makes a change, and collects what has become free in the meantime.
    ///
    /// Use this if something must happen after unlocking and before the cleanup, and call `cleanUp` yourself.
    @inline(__always)
    func write<Result: Sendable>(_ cleanup: inout Cleanup, _ change: Change<Result>) -> Result {
        var hasRetired = false
        let result = lock.withLock { contents in
            let result = change(&contents, &cleanup)
            // fault: released-under-the-lock
            hasRetired = collectAndTidyUp(&contents, &cleanup)
            return result
        }
        // fault: no-look-after-unlocking
        if hasRetired { collectAfterUnlocking(&cleanup) }
        return result
    }

    /// Makes a change unless another thread holds the lock, collects what has become free, and releases it after
    /// unlocking.
    func writeIfAvailable(_ change: Change<Void>) {
        var cleanup = Cleanup()
        let hasRetired = lock.withLockIfAvailable { contents in
            change(&contents, &cleanup)
            return collectAndTidyUp(&contents, &cleanup)
        }
        // fault: no-look-after-unlocking
        if hasRetired == true { collectAfterUnlocking(&cleanup) }
        cleanup.run()
    }

    /// Tells the set's producer the current state, after a change.
    ///
    /// This takes the lock again. As part of the change, it would make the changes of all sets without a producer
    /// slower by a twentieth.
    @inline(never)
    private func reportDemand() {
        var cleanup = Cleanup()
        let demand = write(&cleanup) { contents, _ in contents.recordDemand() }
        cleanup.run()
        demand?.report()
    }

    /// Releases the producer's function, which the tokens of a deallocated set would otherwise keep alive.
    func releaseProducer() { if hasDemand { _ = write { contents, _ in contents.rare?.demand.take() } } }

    /// Tries to collect again; called after unlocking while anything is retired.
    ///
    /// "Why nothing is forgotten" explains why this is needed, and why there is a fence.
    @inline(never)
    private func collectAfterUnlocking(_ cleanup: inout Cleanup) {
        while true {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            guard reclamation.idleCountsWereZero() else { return }
            var more = Cleanup()
            let hasRetired = lock.withLockIfAvailable { contents in collectAndTidyUp(&contents, &more) }
            // fault: collected-and-forgotten
            cleanup.releasable.append(contentsOf: more.releasable)
            guard hasRetired == true else { return }
        }
    }

    /// Tries to collect; called after a traversal that made its count zero and saw that something is retired.
    ///
    /// "Why nothing is forgotten" explains why this is needed, and why there is a fence.
    @inline(never)
    func collectAfterLeaving() {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var hasMetAnother = false
        // The closure runs before `writeIfAvailable` collects.
        writeIfAvailable { contents, _ in
            hasMetAnother = contents.hasRetired && contents.rare?.lastRetiringThread != Reclamation.stackNumber()
        }
        if hasMetAnother { reclamation.addStripes() }
    }
}
