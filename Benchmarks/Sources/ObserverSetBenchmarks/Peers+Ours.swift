import ObserverSet

// In this file and in the next, no two closures that are called and compared do the same to their counter, although all
// cost the same. Identical functions of one file are merged, and all except one of them are then reached through a
// jump.

final class SetPeer: Peer {
    private let set = ObserverSet<Int>()
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count { _ = set.add { [counter] in counter.value &+= $0 } }
    }

    func addReading(_ count: Int) {
        for _ in 0..<count { _ = set.add { [counter] in counter.check($0) } }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }

    func change(_ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = set.add { [counter] in counter.value = $0 }
            token.remove()
        }
    }
}

final class NonisolatedPeer: Peer {
    private let set = ObserverSet<Int>()
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count { _ = set.addNonisolated { [counter] in counter.value &-= $0 } }
    }

    func addReading(_ count: Int) {
        for _ in 0..<count { _ = set.addNonisolated { [counter] in counter.check($0) } }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}

/// With an owner for each observer.
///
/// Unchecked, since one thread fills it before others use it.
final class OwnerPeer: Peer, @unchecked Sendable {
    private let set = ObserverSet<Int>()
    private var owners: [Owner] = []

    func add(_ count: Int) {
        for _ in 0..<count {
            let owner = Owner()
            owners.append(owner)
            set.add(owner) { owner, value in owner.value &+= value }
        }
    }

    func addReading(_ count: Int) {
        for _ in 0..<count {
            let owner = Owner()
            owners.append(owner)
            set.add(owner) { owner, value in owner.check(value) }
        }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}

/// Unchecked, since it stays on the thread that measures the rows.
final class LocalPeer: Peer, @unchecked Sendable {
    private let set = LocalObserverSet<Int>()
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count { _ = set.add { [counter] in counter.value ^= $0 } }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}
