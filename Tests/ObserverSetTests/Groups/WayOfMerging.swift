import ObserverSet

/// The ways to make one source of three sets.
enum WayOfMerging: CaseIterable, Sendable {
    case merge, mergeOfMerged, group, groupOfGroups

    func source(_ sets: [ObserverSet<Void>]) -> any NotificationSource<Void> {
        switch self {
        case .merge: sets[0].merge(with: sets[1], sets[2])
        case .mergeOfMerged: sets[0].filter { true }.merge(with: [sets[1].merge(with: sets[2])])
        case .group: ObserverGroup(sets[0], sets[1], sets[2])
        case .groupOfGroups: ObserverGroup([sets[0], ObserverGroup(sets[1], ObserverGroup(sets[2]))])
        }
    }
}
