import ObserverSet

/// The ways to remove an observer.
enum WayOfRemoving: CaseIterable, Sendable {
    case byToken, bySet, byOwner, all

    /// Combines each of these kinds of observers with each way in which it can be removed.
    static func ofEach(_ kinds: [ObserverKind]) -> [(ObserverKind, WayOfRemoving)] {
        kinds.flatMap { kind in allCases.filter { $0 != .byOwner || kind.hasOwner }.map { (kind, $0) } }
    }

    /// Removes the registration, and returns true if it was active before and is not active any more.
    func perform(on set: ObserverSet<Int>, _ registration: KeptRegistration) -> Bool {
        let token = registration.token
        guard token.isActive else { return false }
        switch self {
        case .byToken: guard token.remove() else { return false }
        case .bySet: guard set.remove(token) else { return false }
        case .byOwner: guard let owner = registration.owner, set.removeAll(ownedBy: owner) == 1 else { return false }
        case .all: set.removeAll()
        }
        return !token.isActive
    }
}
