@testable import ObserverSet

extension Registry {
<<<<<<< HEAD:Tests/ObserverSetTests/Support/Registry+Registered.swift
    /// The number of observers that it holds, including those of dead owners.
    var registered: Int { Int(lock.withLock { $0.registered }) }
=======
    /// The number of registered observers, including those of dead owners.
    var living: Int { Int(lock.withLock { $0.living }) }
>>>>>>> comments-layers:Tests/ObserverSetTests/Support/Registry+Living.swift
}
