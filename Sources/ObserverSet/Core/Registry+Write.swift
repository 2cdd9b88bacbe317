import Synchronization

/// What the registry's lock guards.
@safe struct Contents: ~Copyable, @unchecked Sendable {
    /// What `head` points to.
    var snapshot: Snapshot?
    /// How many observers with an owner were added since dead owners were last looked for.
    var unexamined = 0
    /// What was retired since the last flip, and before it.
    var newer = Retired()
    var older = Retired()
    /// Mailboxes that were not idle when their observer could be reached no more, until they are: `settled()` waits for
    /// them too.
    private(set) var departing: [ObjectIdentifier: Mailbox] = [:]

    var hasRetired: Bool { !newer.isEmpty || !older.isEmpty }

    /// Takes note of what is still enqueued for a removed observer, when no pass can enqueue more.
    @inline(__always)
    mutating func noteDeparture(of payload: AnyPayload, from registry: Registry) {
        guard let mailbox = payload.entry?.mailbox, mailbox.isBusy(notifying: registry) else { return }
        departing[ObjectIdentifier(mailbox)] = mailbox
    }

    /// A mailbox that has departed is idle.
    ///
    /// Dropping it under the lock is safe, since it holds nothing of the user's.
    mutating func hasSettled(_ mailbox: Mailbox) {
        departing[ObjectIdentifier(mailbox)] = nil
        // Where thousands departed, the room goes with the last of them.
        if departing.isEmpty { departing = [:] }
    }

    /// Marks the observer removed for the passes that are walking a displaced snapshot.
    func markRemovedInRetiredSnapshots(_ id: UInt64) {
        // From the newest. A living observer that is in one snapshot is in all later ones: where it is missing, we are done.
        _ =
            unsafe newer.snapshots.reversed().allSatisfy { unsafe $0.markRemoved(id) }
            && older.snapshots.reversed().allSatisfy { unsafe $0.markRemoved(id) }
    }

    /// Marks all observers removed for the passes that are walking a displaced snapshot.
    func markAllRemovedInRetiredSnapshots() {
        unsafe newer.snapshots.forEach { unsafe $0.markAllRemoved() }
        unsafe older.snapshots.forEach { unsafe $0.markAllRemoved() }
    }
}

/// Changes. Each is one critical section, which returns what it displaced, to be released outside.
extension Registry {
    typealias Change<Result> = (inout Contents, inout Displaced) -> Result

    /// Registers an observer, and returns the id of the registration, in amortised O(1).
    func append(_ payload: consuming AnyPayload, site: Site) -> UInt64 {
        let hasOwner = payload.entry?.ownerType != nil
        // Taken rather than copied: a retain and a release less.
        var payload = Optional(payload)
        let (id, isCrowded) = write { contents, displaced in
            let snapshot = unsafe withRoom(&contents, &displaced)
            // Under the lock, so that ids rise from slot to slot.
            let id = ObserverToken.nextID()
            // Before the slot is published: see `living`.
            living += 1
            unsafe snapshot.append(Slot(id: id, payload: payload.take().unsafelyUnwrapped, site: site))
            guard hasOwner else { return (id, false) }
            contents.unexamined += 1
            // As many as the walk over all slots costs, so that it costs each of them O(1). Only one thread is told.
            guard contents.unexamined >= max(32, living / 2) else { return (id, false) }
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
            guard let snapshot = unsafe contents.snapshot else { return }
            contents.markAllRemovedInRetiredSnapshots()
            var payloads: [AnyPayload] = []
            payloads.reserveCapacity(living)
            for index in 0..<(unsafe snapshot.count) where unsafe snapshot.slots[index].isLiving {
                unsafe payloads.append(snapshot.takePayload(at: index))
            }
            living = 0
            contents.unexamined = 0
            unsafe replaceSnapshot(by: nil, &contents, &displaced)
            for payload in payloads {
                if dropping { payload.entry?.end() }
                retire(payload, &contents, &displaced)
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
            if let entry = slot.payload.entry, !entry.isAlive { dead.append(slot.id) }
        }
        return dead
    }

    /// Releases everything, when neither a pass nor a token is left.
    func dispose() {
        removeAll(dropping: false)
    }

    // MARK: Under the lock

    /// Ends that registration, and returns the entry that it had, if any; nil if it had ended.
    private func remove(_ id: UInt64, _ contents: inout Contents, _ displaced: inout Displaced) -> AnyEntry?? {
        guard let snapshot = unsafe contents.snapshot, let index = unsafe snapshot.index(of: id),
            unsafe snapshot.slots[index].isLiving
        else { return nil }
        // In the current one first, which is where the next notification of any thread looks.
        let payload = unsafe snapshot.takePayload(at: index)
        contents.markRemovedInRetiredSnapshots(id)
        payload.entry?.end()
        living -= 1
        // The same pointer once more: whoever loads the head after this store sees the slot marked. Sequentially
        // consistent: this is the unlinking in "Why nothing is released too early".
        unsafe head.store(snapshot.memory, ordering: .sequentiallyConsistent)
        retire(payload, &contents, &displaced)
        // Half of a large snapshot blank: passes should not walk the blanks.
        if unsafe snapshot.count >= 32, unsafe living * 2 < snapshot.count {
            unsafe compact(&contents, &displaced)
        }
        return .some(payload.entry)
    }

    /// The current snapshot, or one that replaces it if it is full.
    private func withRoom(
        _ contents: inout Contents, _ displaced: inout Displaced
    ) -> Snapshot {
        if let snapshot = unsafe contents.snapshot, unsafe snapshot.count < snapshot.capacity { return unsafe snapshot }
        return unsafe compact(&contents, &displaced)
    }

    /// Replaces the snapshot by one without blanks that is half empty, so that its cost is spread over as many changes.
    @discardableResult
    private func compact(
        _ contents: inout Contents, _ displaced: inout Displaced
    ) -> Snapshot {
        let capacity = unsafe contents.snapshot == nil ? 4 : max(8, 2 * living)
        let fresh = unsafe contents.snapshot?.compacted(capacity: capacity) ?? Snapshot(capacity: capacity)
        unsafe replaceSnapshot(by: fresh, &contents, &displaced)
        return unsafe fresh
    }

    private func replaceSnapshot(
        by fresh: Snapshot?, _ contents: inout Contents,
        _ displaced: inout Displaced
    ) {
        let old = unsafe contents.snapshot
        unsafe contents.snapshot = unsafe fresh
        // Sequentially consistent: it unlinks the old snapshot, and publishes the slots of the fresh one.
        unsafe head.store(fresh?.memory, ordering: .sequentiallyConsistent)
        if let old = unsafe old { unsafe retire(old, &contents, &displaced) }
    }
}
