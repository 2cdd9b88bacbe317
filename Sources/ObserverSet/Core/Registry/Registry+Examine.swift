/// Tells a report of leaks about a set, see `Watch`.
extension Registry {
    /// Registers an observer while there is a report.
    @inline(never)
    func appendWatched(_ callee: Callee, site: Site, replacingThatOf replaced: AnyObject?) -> UInt64 {
        let entry = callee.entry
        // Before it can be notified.
        entry?.note(siteNumber: Watch.number(of: site))
        // The caller of `add` holds the owner, so that it may be loaded here. One whose observer is replaced has no second.
        let owner = replaced == nil ? entry?.owner : nil
        let key = owner.map { OwnerOfLine(site: site, owner: ObjectIdentifier($0)) }
        let times = 1 + (key.map { timesAdded($0, owner) } ?? 0)
        let (id, shouldSweep, isDue, living) = write { contents, cleanup in
            let isFull = slots.isFull(contents.counts)
            let (id, shouldSweep) = insert(callee, site: site, replacingThatOf: replaced, &contents, &cleanup)
            if let key { note(key, id, times, &contents) }
            // A small set is always looked at.
            let living = Int(contents.counts.living)
            return (id, shouldSweep, isFull || living <= 16, living)
        }
        if shouldSweep { _ = remove(deadIDs()) }
        if shouldSweep || isDue { examine(areDeadRemoved: shouldSweep) }
        if times > 1, let type = entry?.ownerType {
            Watch.report(Watch.Finding(site: site, count: times, total: living, kind: .sameOwner(type)))
        }
        return id
    }

    /// How often that line had added that owner, before it adds it again; zero if the last observer has been removed.
    ///
    /// The last observer's owner has the same address. So it is the same, which the caller holds, or it is dead.
    private func timesAdded(_ key: OwnerOfLine, _ owner: AnyObject?) -> Int {
        guard let last = write({ contents, _ in contents.backlog?.lastAdditions[key] }) else { return 0 }
        return registration(last.id) { entry, _ in entry?.owner === owner } == true ? last.times : 0
    }

    private func note(_ key: OwnerOfLine, _ id: UInt64, _ times: Int, _ contents: inout Contents) {
        contents.madeBacklog().lastAdditions[key] = (id, times)
        forgetEndedOwners(&contents)
    }

    /// Tells a report how many observers each line has here.
    ///
    /// No owner is loaded: this may not be where it lives. So observers with owners are counted only if `areDeadRemoved`
    /// is true: if dead owners have just been searched for. Others are counted whenever the set has grown.
    @inline(never)
    func examine(areDeadRemoved: Bool) {
        var lines: [Site: Int] = [:]
        var total = 0
        forEachLiving { slot in
            total += 1
            if areDeadRemoved || slot.callee.entry?.mayDie != true { lines[slot.site, default: 0] += 1 }
        }
        for (site, count) in lines {
            Watch.report(Watch.Finding(site: site, count: count, total: total, kind: .observers))
        }
    }
}
