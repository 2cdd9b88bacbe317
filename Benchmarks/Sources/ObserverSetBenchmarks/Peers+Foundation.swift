import Foundation
import ObserverSet

/// Blocks that observe a notification's name.
///
/// The number is in `userInfo`.
///
/// `Sendable` is unchecked. That is sound, because a center is safe to use on several threads, although it isn't
/// declared so on every platform.
final class CenterPeer: Peer, @unchecked Sendable {
    private let center = NotificationCenter()
    private let name = Notification.Name("Benchmark")
    private let counter = Counter()

    func add(_ count: Int) {
        for _ in 0..<count {
            _ = center.addObserver(forName: name, object: nil, queue: nil) { [counter] notification in
                counter.value &+= notification.userInfo?["value"] as? Int ?? 0
            }
        }
    }

    func addReading(_ count: Int) {
        for _ in 0..<count {
            _ = center.addObserver(forName: name, object: nil, queue: nil) { [counter] notification in
                counter.check(notification.userInfo?["value"] as? Int ?? 0)
            }
        }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { center.post(name: name, object: nil, userInfo: ["value": value]) }
    }

    func change(_ repetitions: Int) {
        for _ in 0..<repetitions {
            let token = center.addObserver(forName: name, object: nil, queue: nil) { [counter] notification in
                counter.value = notification.userInfo?["value"] as? Int ?? 0
            }
            center.removeObserver(token)
        }
    }
}

/// This library's typed observers of a notification center.
final class BridgePeer: Peer, @unchecked Sendable {
    private struct Happened: BridgedEvent {
        static let notificationName = Notification.Name("Benchmark")
        let value: Int
    }

    private let center = NotificationCenter()
    private let counter = Counter()

    func add(_ count: Int) {
        let source = center.observers(of: Happened.self)
        for _ in 0..<count { _ = source.addNonisolated { [counter] in counter.value &+= $0.value } }
    }

    func addReading(_ count: Int) {
        let source = center.observers(of: Happened.self)
        for _ in 0..<count { _ = source.addNonisolated { [counter] in counter.check($0.value) } }
    }

    func notify(_ repetitions: Int) {
        for value in 0..<repetitions { center.post(Happened(value: value)) }
    }
}

/// Foundation's typed messages on the main actor, which are delivered in place.
@available(macOS 26, *)
final class MessagePeer: Peer, @unchecked Sendable {
    private final class Sender: Sendable {}

    private struct Happened: NotificationCenter.MainActorMessage {
        typealias Subject = Sender
        static var name: Notification.Name { Notification.Name("Benchmark") }
        let value: Int
    }

    private let center = NotificationCenter()
    private let counter = Counter()
    private let sender = Sender()
    /// The observers' tokens, which are kept because an observer is removed when its token is released.
    private var tokens: [NotificationCenter.ObservationToken] = []

    func add(_ count: Int) {
        for _ in 0..<count {
            tokens.append(
                center.addObserver(of: sender, for: Happened.self) { [counter] in counter.value &-= $0.value })
        }
    }

    /// Posts messages.
    ///
    /// It must be called on the main thread, where the rows are measured.
    func notify(_ repetitions: Int) {
        MainActor.assumeIsolated {
            for value in 0..<repetitions { center.post(Happened(value: value), subject: sender) }
        }
    }
}
