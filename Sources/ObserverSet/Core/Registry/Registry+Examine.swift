/// Tells a report of leaks about a set, see `Watch`.
extension Registry {
    /// Registers an observer while there is a report.
    @inline(never)
    func appendWatched(_ callee: Callee, site: Site) -> UInt64 {
        let entry = callee.entry
        // Before it can be notified.
        entry?.note(siteNumber: Watch.number(of: site))
        // The caller of `add` holds the owner, so that it may be loaded here.
        let owner = entry?.owner
        let key = owner.map { OwnerOfLine(site: site, owner: ObjectIdentifier($0)) }
        let (id, shouldSweep, isDue, living, ids) = write { contents, cleanup in
            let isFull = slots.isFull(contents.counts)
            let (id, shouldSweep) = insert(callee, site: site, &contents, &cleanup)
            var ids: [UInt64] = []
            if let key {
                forgetEndedOwners(&contents)
                let backlog = contents.madeBacklog()
                backlog.additions[key, default: []].append(id)
                // A copy: the thread sanitizer would take the end of a shared use for a race with the next addition.
                if let all = backlog.additions[key], Watch.looks(at: all.count) { ids = all.map(\.self) }
            }
            // A small set is always looked at.
            let living = Int(contents.counts.living)
            return (id, shouldSweep, isFull || living <= 16, living, ids)
        }
        if shouldSweep { _ = remove(deadIDs()) }
        if shouldSweep || isDue { examine(areDeadRemoved: shouldSweep) }
        if ids.count > 1, let key, let type = entry?.ownerType { examine(ids, key, type, of: living) }
        return id
    }

    /// Tells a report how many of these observers of an owner, all that a line has added, have not ended.
    private func examine(_ ids: [UInt64], _ key: OwnerOfLine, _ type: Any.Type, of total: Int) {
        // Those of an earlier owner, which had the same address, have ended with it.
        let ended = Set(ids.filter { !isActive($0) })
        write { contents, _ in contents.backlog?.additions[key]?.removeAll(where: ended.contains) }
        let count = ids.count - ended.count
        if count > 1 { Watch.report(Watch.Finding(site: key.site, count: count, total: total, kind: .sameOwner(type))) }
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
