@testable import ObserverSet

extension Registry {
    /// The number of observers that it holds, including those of dead owners.
    var registered: Int { Int(lock.withLock { $0.registered }) }
}
