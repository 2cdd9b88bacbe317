@testable import ObserverSet

extension Registry {
    /// The number of registered observers, including those of dead owners.
    var registered: Int { Int(lock.withLock { $0.registered }) }
}
