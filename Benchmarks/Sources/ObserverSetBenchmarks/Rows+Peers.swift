import ObserverSet

/// This package compared with others; the figures are reported, and not judged.
enum PeerRows {
    static var all: [Row] { notifying + bridge + changing + memory }

    private static let time = Reach.told(unit: "ns")

    private static var notifying: [Row] {
        let closures = [1, 10].flatMap { count in
            ([.tracking, .center] + System.messages).map { other in
                notifying(.ours, other, count)
            }
        }
        return closures + [1, 10, 100].map { count in notifying(.owners, .queue, count) }
    }

    /// A typed post and its observers, compared with the center that carries them.
    private static var bridge: [Row] {
        [1, 10].map { count in notifying(.bridge, .center, count) }
    }

    private static func notifying(_ system: System, _ other: System, _ count: Int) -> Row {
        .comparing("peers: \(system.name), N = \(count)", to: other.name, reach: time) { plan in
            let (peer, other) = (system.make(count), other.make(count))
            return (loop(plan) { peer.notify($0) }, loop(plan) { other.notify($0) })
        }
    }

    private static var changing: [Row] {
        [1, 100, 10_000].map { count in
            .comparing("peers: add + remove of a weak owner, \(count) others", to: System.queue.name, reach: time) {
                plan in
                let (peer, other) = (System.owners.make(count), System.queue.make(count))
                return (loop(plan) { peer.change($0) }, loop(plan) { other.change($0) })
            }
        }
    }

    // MARK: Memory

    #if canImport(Glibc)
    private static var memory: [Row] {
        let others = [.array, .tracking, .queue, .center, .bridge] + System.messages
        let withOwners: [System] = [.owners, .queue]
        let withoutOwners = [.array, .tracking, .center, .bridge] + System.messages
        return others.map(allocations) + withoutOwners.map { bytes("bytes per observer", $0) }
            + withOwners.map { bytes("bytes per observer with its owner", $0) }
    }

    private static func allocations(_ system: System) -> Row {
        .figure("allocations per notify, N = 10, \(system.name)", reach: .told(unit: "blocks")) { _ in
            Heap.checkThatItCounts()
            let peer = system.make(10)
            // The first notification is not counted, since the runtime may create metadata in it.
            peer.notify(1)
            return Double(Heap.change { peer.notify(1000) }.allocations) / 1000
        }
    }

    private static func bytes(_ what: String, _ system: System) -> Row {
        .figure("\(what), \(system.name)", reach: .told(unit: "bytes")) { _ in
            Heap.checkThatItCounts()
            let count = 100_000
            let peer = system.make(1)
            let change = Heap.change { peer.add(count) }
            return withExtendedLifetime(peer) { Double(change.bytes) / Double(count) }
        }
    }
    #else
    // There is no count of allocations for this platform.
    private static var memory: [Row] { [] }
    #endif
}
