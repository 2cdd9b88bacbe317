import Synchronization

/// Changes. Each is one critical section; anything that must not run under the lock runs after unlocking.
///
/// The sections that comments name in quotation marks are those of the argument in `Reclamation.swift`.
extension Registry {
    /// Registers an observer, and returns the id of the registration, in amortised O(1).
    func append(_ callee: Callee, site: Site) -> UInt64 {
        let (id, shouldSweep) = write { contents, cleanup in insert(callee, site: site, &contents, &cleanup) }
        if shouldSweep { _ = remove(deadIDs()) }
        return id
    }

    /// Ends these registrations, and returns how many of them had not ended before.
    ///
    /// Each costs amortised O(1), plus O(log *n*) to find it.
    func remove(_ ids: [UInt64]) -> Int {
        write { contents, cleanup in
            ids.count { id in remove(id, &contents, &cleanup) != nil }
        }
    }

    /// Ends a registration, if it is one of this registry's; true for exactly one caller.
    package func remove(_ token: ObserverToken) -> Bool {
        token.issuer.issuesTokens(for: self) && token.remove()
    }

    /// Ends all registrations.
    ///
    /// Values that are still enqueued are dropped if `dropping` is true, and delivered otherwise.
    package func removeAll(dropping: Bool) {
        write { contents, cleanup in
            for index in 0..<Int(contents.taken) where unsafe slots[index].pointee.isLiving {
                _ = unsafe remove(slots[index], dropping: dropping, &contents, &cleanup)
            }
            (contents.taken, contents.living, contents.addedSinceSweep) = (min(1, contents.taken), 0, 0)
            if unsafe slots.block != nil { moveToFreshBlock(&contents, &cleanup) }
        }
    }

    /// Removes the registrations of dead owners and dead objects.
    ///
    /// Called after a traversal that met one. It does nothing if another thread is changing the registry: notifying
    /// never waits for a change.
    @inline(never)
    func removeDead() {
        let dead = deadIDs()
        var demand: Demand?
        writeIfAvailable { contents, cleanup in
            for id in dead { _ = remove(id, &contents, &cleanup) }
            contents.addedSinceSweep = 0
            // Here, since `reportDemand()` would wait for the lock.
            demand = contents.recordDemand()
        }
        demand?.report()
    }

    func deadIDs() -> [UInt64] { ids { slot in slot.isDead } }

    // MARK: Under the lock

    /// Registers an observer behind all others; `shouldSweep` is true if it is time to search for dead owners.
    ///
    /// The id is issued under the lock, so that ids ascend from slot to slot.
    @inline(__always)
    func insert(
        _ callee: Callee, site: Site, _ contents: inout Contents, _ cleanup: inout Cleanup
    ) -> (id: UInt64, shouldSweep: Bool) {
        contents.lastIssued += 1
        let id = contents.lastIssued
        if slots.isFull(contents) { moveToFreshBlock(&contents, &cleanup) }
        let slot = unsafe slots[Int(contents.taken)]
        // Before the slot is published: see `lastID`. Releasing, for a notification that acquires it: a thread that may call this
        // observer must see the ones that were removed before it, also if others have been added since.
        lastID.store(id, ordering: .releasing)
        unsafe slot.pointee.publish(callee, id: id, site: site)
        // The counter is reset when this is true, so that only one thread searches.
        return (id, contents.countOneMore(mayDie: callee.mayDie))
    }

    /// Ends a registration, and returns it: `.some(nil)` for a plain function, nil if it had ended before.
    @inline(never)
    func remove(_ id: UInt64, _ contents: inout Contents, _ cleanup: inout Cleanup) -> Registration?? {
        unsafe slots.living(id, among: contents.taken).map { slot in
            unsafe remove(slot, dropping: true, &contents, &cleanup)
        }
    }

    /// Ends the registration in a living slot, and returns it; nil for a plain function.
    @inline(never)
    private func remove(
        _ slot: UnsafeMutablePointer<Slot>, dropping: Bool, _ contents: inout Contents, _ cleanup: inout Cleanup
    ) -> Registration? {
        let callee = unsafe slot.pointee.callee
        let registration = callee.registration
        // The current slot first: it is the one that the next notification of any thread reads.
        unsafe slot.pointee.markRemoved()
        if contents.hasRetired { contents.rare?.markRemoved(unsafe slot.pointee.id) }
        if let registration { noteRemoved(callee, registration, dropping: dropping, &contents, &cleanup) }
        contents.living -= 1
        // Relaxed: a notification that does not see it finds nobody in the slots.
        if contents.living == 0 { lastID.store(0, ordering: .relaxed) }
        // Stores the same pointer again: a traversal that loads the head after this store sees the slot marked.
        // Sequentially consistent, since this store is the unlinking (U) in "Why nothing is released too early".
        unsafe slots.head.store(slots.head.load(ordering: .relaxed), ordering: .sequentiallyConsistent)
        reclamation.retire(Retired(callee), &contents, &cleanup.releasable)
        return registration
    }

    @inline(never)
    private func noteRemoved(
        _ callee: Callee, _ registration: Registration, dropping: Bool, _ contents: inout Contents,
        _ cleanup: inout Cleanup
    ) {
        if callee.has(Registration.isWeak) {
            let target = unsafe unsafeDowncast(registration, to: WeakTarget.self)
            _ = contents.rare?.idsByAddress.removeAndTrim(target.address)
        }
        if dropping { cleanup.noteRemoved(registration, isAwaited: callee.has(Registration.isAwaited)) }
    }

    @inline(never)
    private func moveToFreshBlock(_ contents: inout Contents, _ cleanup: inout Cleanup) {
        let (old, fresh) = unsafe (slots.block, slots.freshBlock(&contents))
        // Sequentially consistent: the store unlinks the old block (U), and publishes the slots of the fresh one.
        unsafe slots.head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        if let old = unsafe old { unsafe reclamation.retire(Retired(old), &contents, &cleanup.releasable) }
    }

    /// Brings the slots up to date, moves what no traversal can reach any more to `cleanup.releasable`, and says whether
    /// something still waits.
    ///
    /// Called when a change has been made. A function of its own, here and below: in each change it would be another half a
    /// kilobyte.
    @inline(never)
    private func collect(_ contents: inout Contents, _ cleanup: inout Cleanup) -> Bool {
        reclamation.collect(&contents, &cleanup.releasable)
        // See "Why nothing is released too early".
        // fault: slot-vacant-too-early
        if !contents.hasRetired { slots.trim(&contents) }
        if slots.areWasteful(contents) {
            moveToFreshBlock(&contents, &cleanup)
        }
        cleanup.releasable.forEachCallee { callee in
            if callee.has(Registration.hasMailbox) { keepMailbox(of: callee, &contents) }
        }
        checkInvariants(contents)
        return contents.hasRetired
    }

    /// Keeps the mailbox of a removed observer, if a call may be in progress there; no traversal can post more to it.
    @inline(never)
    private func keepMailbox(of callee: Callee, _ contents: inout Contents) {
        guard case let mailbox?? = callee.ask(\.mailbox), !mailbox.isIdle else { return }
        contents.madeRare().keep(mailbox)
    }
}

// MARK: - The critical section

extension Registry {
    typealias Change<Result> = (inout Contents, inout Cleanup) -> Result

    /// Makes a change, collects what has become free meanwhile, and releases it after unlocking.
    @inline(__always)
    func write<Result: Sendable>(_ change: Change<Result>) -> Result {
        var cleanup = Cleanup()
        let result = write(&cleanup, change)
        cleanUp(cleanup)
        return result
    }

    /// What follows a change; runs user code.
    @inline(__always)
    func cleanUp(_ cleanup: consuming Cleanup) {
        cleanup.run()
        if hasDemand { reportDemand() }
    }

    /// Makes a change, and collects what has become free meanwhile.
    ///
    /// For a caller who does something after unlocking and before the cleanup.
    @inline(__always)
    func write<Result: Sendable>(_ cleanup: inout Cleanup, _ change: Change<Result>) -> Result {
        var hasRetired = false
        let result = lock.withLock { contents in
            let result = change(&contents, &cleanup)
            // fault: released-under-the-lock
            hasRetired = collect(&contents, &cleanup)
            return result
        }
        // fault: no-look-after-unlocking
        if hasRetired { collectAfterUnlocking(&cleanup) }
        return result
    }

    /// Makes a change unless another thread holds the lock, collects what has become free, and releases it after unlocking.
    func writeIfAvailable(_ change: Change<Void>) {
        var cleanup = Cleanup()
        let hasRetired = lock.withLockIfAvailable { contents in
            change(&contents, &cleanup)
            return collect(&contents, &cleanup)
        }
        // fault: no-look-after-unlocking
        if hasRetired == true { collectAfterUnlocking(&cleanup) }
        cleanup.run()
    }

    /// After a change to a set with a producer: informs the producer of the current state.
    ///
    /// It takes the lock again. As part of the change it would make the changes of all other sets slower, by a
    /// twentieth.
    @inline(never)
    private func reportDemand() {
        var cleanup = Cleanup()
        let demand = write(&cleanup) { contents, _ in contents.recordDemand() }
        cleanup.run()
        demand?.report()
    }

    /// Releases the producer's function, which the tokens of a dead set would keep.
    func dropDemand() {
        if hasDemand { _ = write { contents, _ in contents.rare?.demand.take() } }
    }

    /// Called after unlocking while something waits: see "Why nothing is forgotten".
    @inline(never)
    private func collectAfterUnlocking(_ cleanup: inout Cleanup) {
        while true {
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            guard reclamation.idleIsEmpty() else { return }
            var more = Cleanup()
            let hasRetired = lock.withLockIfAvailable { contents in collect(&contents, &more) }
            // fault: collected-and-forgotten
            cleanup.releasable.append(contentsOf: more.releasable)
            guard hasRetired == true else { return }
        }
    }

    /// Called after a traversal that made its count zero and saw that something waits: see "Why nothing is forgotten".
    @inline(never)
    func collectAfterLeaving() {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        var hasMetAnother = false
        writeIfAvailable { contents, _ in
            hasMetAnother = contents.hasRetired && contents.rare?.thread != Reclamation.thread()
        }
        if hasMetAnother { reclamation.addStripes() }
    }
}
