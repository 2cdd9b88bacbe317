@testable import ObserverSet

extension Registry {
    /// How many observers it holds, dead owners' included.
    var living: Int { Int(lock.withLock { $0.counts.living }) }
}
