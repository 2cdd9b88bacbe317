// Peers without synchronisation, for one thread.

/// A loop over closures, with room for exactly the observers that are added first.
final class LoopPeer: Peer, @unchecked Sendable {
    private var line = ClosureLoop(capacity: 0)
    private let counter = Counter()

    func add(_ count: Int) {
        line = ClosureLoop(capacity: count)
        for _ in 0..<count { line.addNonisolated { [counter] in counter.value |= $0 } }
    }

    func notify(_ repetitions: Int) {
        // The property is read outside the loop, because each read of a variable property checks for overlapping
        // access.
        let line = line
        for value in 0..<repetitions { line.notify(value) }
    }
}

final class ArrayPeer: Peer {
    private let array = ClosureArray()
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count { array.add { [counter] in counter.value &= $0 } }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { array.notify(value) }
    }
}
