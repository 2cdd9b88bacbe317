/// A system of notifications, seen in such a way that all systems can be measured alike.
///
/// Each peer has its own loops. It forms its closures as literals at the call that adds them, as the system's users
/// would.
protocol Peer: AnyObject, Sendable {
    init()
    /// Adds observers that add the values they receive to a counter.
    func add(_ count: Int)
    /// Adds observers that only read what they share, so that several threads can notify at once.
    func addReading(_ count: Int)
    func notify(_ repetitions: Int)
    /// Adds an observer and removes it, repeatedly.
    func change(_ repetitions: Int)
}

extension Peer {
    func addReading(_ count: Int) { preconditionFailure("it belongs to one thread") }

    func change(_ repetitions: Int) { preconditionFailure("no row changes it") }
}

/// A system to be measured, and its name in the report.
struct System: Sendable {
    let name: String
    let peer: any Peer.Type
    /// The largest number of observers with which it is measured.
    var limit = 1_000_000

    static let ours = System(name: "ObserverSet, add", peer: SetPeer.self)
    static let nonisolated = System(name: "ObserverSet, addNonisolated", peer: NonisolatedPeer.self)
    static let owners = System(name: "ObserverSet, weak owners", peer: OwnerPeer.self)
    static let local = System(name: "LocalObserverSet", peer: LocalPeer.self)
    static let loop = System(name: "limit: loop without retains", peer: LoopPeer.self)
    static let array = System(name: "[(Int) -> Void] in a class", peer: ArrayPeer.self)
    static let queue = System(name: "serial queue, weak owners", peer: QueuePeer.self)
    static let center = System(name: "NotificationCenter", peer: CenterPeer.self)
    static let bridge = System(name: "NotificationCenter, our bridge", peer: BridgePeer.self)
    /// It is measured with fewer observers than others, because each takes most of a kilobyte.
    static let tracking = System(name: "withObservationTracking", peer: TrackingPeer.self, limit: 100_000)
    /// Foundation's typed messages, or nothing if the platform doesn't have them.
    static var messages: [System] {
        guard #available(macOS 26, *) else { return [] }
        return [System(name: "NotificationCenter, messages", peer: MessagePeer.self)]
    }

    func make(_ count: Int) -> any Peer {
        let result = peer.init()
        result.add(count)
        return result
    }
}
