/// The state that the registry's lock guards.
struct Contents: ~Copyable, @unchecked Sendable {
    // Counts of 32 bits, to keep the registry small.

    /// How many slots are taken, from the first on: the living ones, and removed ones that are not vacant again.
    var taken: UInt32 = 0
    /// How many of them hold an observer that has not been removed.
    var living: UInt32 = 0
    /// How many observers that may die (with an owner, or weakly held) were added since the last search for dead ones.
    var addedSinceSweep: UInt32 = 0
    /// Whether something waits for its release, as `Reclamation.hasRetired` tells traversals.
    var hasRetired = false
    /// The id that was issued last.
    ///
    /// Never reset, as `lastID` is: a token of a removed observer must not name a later one.
    var lastIssued: UInt64 = 0
    /// Allocated when there is first something to put into it.
    private(set) var rare: RareState?

    /// Counts one more observer, and says whether it is time to search for dead ones.
    mutating func countOneMore(mayDie: Bool) -> Bool {
        taken += 1
        living += 1
        guard mayDie else { return false }
        addedSinceSweep += 1
        // In proportion to the slots that the search walks, so that it costs O(1) for each of these observers.
        guard addedSinceSweep >= max(32, living / 2) else { return false }
        addedSinceSweep = 0
        return true
    }

    mutating func madeRare() -> RareState {
        let made = rare ?? RareState()
        rare = made
        return made
    }

    /// Records whether the set is observed, and returns the producer, if any, that is to be informed after unlocking.
    func recordDemand() -> Demand? {
        rare?.demand?.record(living > 0)
        return rare?.demand
    }
}
