import ObserverSet

// In this file and in `Peers+Loops.swift`, the closures that are compared cost the same, but each changes its counter
// in another way. The compiler merges identical functions of a file, and then calls all except one of them through a
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

/// Observers of an `ObserverSet` that have an owner each.
///
/// `Sendable` is unchecked. That is sound, because one thread adds all observers before other threads use the peer.
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

/// Observers of a `LocalObserverSet`.
///
/// `Sendable` is unchecked. That is sound, because the peer stays on the thread that measures the rows.
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
