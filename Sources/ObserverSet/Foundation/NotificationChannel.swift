#if NotificationCenter
import Foundation
import Synchronization

/// All our observers of one center's notifications with one name: one registration of Foundation's, and behind it a set.
///
/// Foundation's center promises neither an order nor that a removed observer is not called any more; on Linux, removing
/// a registration twice may remove somebody else's, and what its closure owns is released while the center holds its
/// lock. So a channel removes its registration exactly once, and that closure owns nothing of the user's:
///
///     center ──> closure ──> Relay ┄┄(weak)┄┄> NotificationChannel ──> ObserverSet<Post> ──> observers
///                                                     ^                                         │
///                       known ┄┄┄┄┄┄(weak)┄┄┄┄┄┄┄┄┄┄┄┄┤                                         │
///                                                     └─────────────────────────────────────────┘
///
/// A channel lives as long as it has an observer, since the observers hold it. The last of them to be removed lets go of
/// the channel, which ends its registration. If the center dies first, the relay goes with it, and has the channel let go
/// of its observers.
final class NotificationChannel: Sendable {
    /// A notification on its way through the set.
    ///
    /// Unchecked: it never leaves the posting thread. Observers are adapted, and their transform is called there.
    struct Post: @unchecked Sendable {
        let notification: Notification
    }

    let posts = ObserverSet<Post>()

    private let key: Key
    private weak let center: NotificationCenter?
    /// The center has died.
    private let isOver = Atomic<Bool>(false)
    /// Foundation's registration; set once, in `init`, and read in `deinit`.
    private nonisolated(unsafe) var registration: (any NSObjectProtocol)?

    /// The channel for a name, if somebody observes it.
    static func existing(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel? {
        let channel = known.withLock { $0[Key(center: ObjectIdentifier(center), name: name)]?.channel }
        guard let channel, !channel.hasEnded else { return nil }
        return channel
    }

    /// The channel for a name; makes one if there is none.
    static func named(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel {
        if let channel = existing(name, of: center) { return channel }
        let key = Key(center: ObjectIdentifier(center), name: name)
        let fresh = NotificationChannel(key, center)
        // Another thread may have been faster. Whatever is found is released outside the lock.
        let found = known.withLock { known in
            let found = known[key]?.channel
            if found == nil || found!.hasEnded { known[key] = WeakChannel(channel: fresh) }
            return found
        }
        guard let found, !found.hasEnded else { return fresh }
        return found
    }

    private init(_ key: Key, _ center: NotificationCenter) {
        self.key = key
        self.center = center
        let relay = Relay(channel: self)
        unsafe registration = center.addObserver(forName: key.name, object: nil, queue: nil) { notification in
            relay.pass(notification)
        }
    }

    deinit {
        let id = ObjectIdentifier(self)
        Self.known.withLock { known in
            if known[key]?.id == id { known[key] = nil }
        }
        if let registration = unsafe registration { center?.removeObserver(registration) }
    }

    /// Whether its center has died; another may have taken its address.
    ///
    /// Relaxed, like the store: who gets a center at that address got it from the allocator, to which the dead one was
    /// returned after the store.
    private var hasEnded: Bool { isOver.load(ordering: .relaxed) }

    private func end() {
        isOver.store(true, ordering: .relaxed)
        posts.removeAll()
    }

    // MARK: The table

    private struct Key: Hashable, Sendable {
        let center: ObjectIdentifier
        let name: Notification.Name
    }

    private final class WeakChannel: Sendable {
        weak let channel: NotificationChannel?
        let id: ObjectIdentifier

        init(channel: NotificationChannel) {
            self.channel = channel
            id = ObjectIdentifier(channel)
        }
    }

    /// The channels that live.
    private static let known = Lock([Key: WeakChannel]())

    // MARK: What the center holds

    private final class Relay: Sendable {
        private weak let channel: NotificationChannel?

        /// The center hands the relay from the registering thread to those that post.
        private let witness = Witness()

        init(channel: NotificationChannel) {
            self.channel = channel
            witness.lead()
        }

        deinit {
            // Nothing, if the channel itself had its registration removed, which the center does under its lock.
            channel?.end()
        }

        func pass(_ notification: Notification) {
            witness.follow()
            channel?.posts.notify(Post(notification: notification))
        }
    }
}
#endif
