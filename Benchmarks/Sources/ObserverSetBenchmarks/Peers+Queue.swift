import Dispatch

/// A set after the design of the article "Let's Build Swift Notifications".
///
/// A serial queue guards an array of entries with weak owners. A notification collects the living owners on the queue,
/// removes the dead ones, and then makes the calls.
final class QueueSet<Parameters>: @unchecked Sendable {
    private final class Entry {
        weak let owner: AnyObject?
        let method: (AnyObject) -> (Parameters) -> Void

        init(owner: AnyObject, method: @escaping (AnyObject) -> (Parameters) -> Void) {
            self.owner = owner
            self.method = method
        }
    }

    private let queue = DispatchQueue(label: "QueueSet")
    private var entries: [Entry] = []

    func add<Owner: AnyObject>(_ owner: Owner, _ method: @escaping (Owner) -> (Parameters) -> Void) {
        let entry = Entry(owner: owner) { method($0 as! Owner) }
        queue.sync { entries.append(entry) }
    }

    func notify(_ parameters: Parameters) {
        var calls: [(Parameters) -> Void] = []
        queue.sync {
            for entry in entries {
                if let owner = entry.owner { calls.append(entry.method(owner)) }
            }
            entries = entries.filter { $0.owner != nil }
        }
        for call in calls { call(parameters) }
    }
}

/// Observers of a `QueueSet`.
///
/// `Sendable` is unchecked. That is sound, because one thread adds all observers before other threads use the peer.
final class QueuePeer: Peer, @unchecked Sendable {
    private let set = QueueSet<Int>()
    private var owners: [Owner] = []

    func add(_ count: Int) { add(count, Owner.receive) }

    func addReading(_ count: Int) { add(count, Owner.check) }

    private func add(_ count: Int, _ method: @escaping (Owner) -> (Int) -> Void) {
        for _ in 0..<count {
            let owner = Owner()
            owners.append(owner)
            set.add(owner, method)
        }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}
