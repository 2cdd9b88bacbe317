/// The state that the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    // The counts have 32 bits, to keep the registry small.

    /// The number of slots that are taken, from the first one on: the registered ones, and removed ones that are not
    /// vacant yet.
    var taken: UInt32 = 0
    /// The number of registered slots, that is, slots whose observer has not been removed.
    var registered: UInt32 = 0
    /// The number of observers that have been added since the last search for dead ones, and that may die because they
    /// have an owner or are held weakly.
    var addedSinceSweep: UInt32 = 0
    /// Whether anything retired has not been released yet; `Reclamation.hasRetired` tells traversals the same.
    var hasRetired = false
    /// The id that was issued last.
    ///
    /// Unlike `lastID`, it is never reset to zero, because the token of a removed observer must never name a later
    /// observer.
    var lastIssued: UInt64 = 0
    /// The state that only few sets need, allocated when it is first used.
    private(set) var rare: RareState?

    /// Counts one more observer, and returns whether it is time to search for dead ones.
    mutating func countOneMore(mayDie: Bool) -> Bool {
        taken += 1
        registered += 1
        guard mayDie else { return false }
        addedSinceSweep += 1
        // The limit grows with the number of slots that a search walks, so that the searches cost O(1) for each of
        // these observers.
        guard addedSinceSweep >= max(32, registered / 2) else { return false }
        addedSinceSweep = 0
        return true
    }

    mutating func madeRare() -> RareState {
        let made = rare ?? RareState()
        rare = made
        return made
    }

    /// Records whether the set is observed, and returns its producer, if it has one, which must be told after
    /// unlocking.
    func recordDemand() -> Demand? {
        rare?.demand?.record(registered > 0)
        return rare?.demand
    }
}
