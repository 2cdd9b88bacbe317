#if NotificationCenter
import Foundation

/// All observers of one center's notifications with one name: one registration with Foundation, and a set behind it.
///
/// Foundation's center guarantees no order, and may call an observer after it was removed. On Linux, removing a
/// registration twice may remove one of another observer, and what a registration's closure owns is released while
/// the center holds its lock. So a channel removes its registration exactly once, and the closure owns nothing of the
/// user's:
///
///     center ──> closure ──> Relay ┄┄(weak)┄┄> NotificationChannel ──> ObserverSet<Post> ──> observers
///                                                     ^                                         │
///                       known ┄┄┄┄┄┄(weak)┄┄┄┄┄┄┄┄┄┄┄┄┤                                         │
///                                                     └─────────────────────────────────────────┘
///
/// The observers hold the channel, so it lives as long as it has one. When the last observer is removed, the channel is
/// deallocated, which ends its registration. If the center is deallocated first, so is the relay, which makes the
/// channel end its observers' registrations; what is enqueued for them is still delivered.
final class NotificationChannel: Sendable {
    /// A notification on its way through the set.
    ///
    /// Unchecked `Sendable`: it never leaves the posting thread, on which the transforms of adapted observers are
    /// called.
    struct Post: @unchecked Sendable {
        let notification: Notification
    }

    let posts = ObserverSet<Post>()

    private let key: Key
    private weak let center: NotificationCenter?
    /// Foundation's registration; set once, in `init`, and read in `deinit`.
    private nonisolated(unsafe) var registration: (any NSObjectProtocol)?

    /// The channel for a name; nil if the name is not observed.
    static func existing(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel? {
        let channel = known.withLock { $0[Key(center: ObjectIdentifier(center), name: name)]?() }
        // It may be that of a dead center, which had the same address.
        return channel?.center === center ? channel : nil
    }

    /// The channel for a name; makes one if there is none.
    static func named(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel {
        if let channel = existing(name, of: center) { return channel }
        let key = Key(center: ObjectIdentifier(center), name: name)
        let fresh = NotificationChannel(key, center)
        // Another thread may have added a channel meanwhile. The one that is not used is released outside the lock.
        let found = known.withLock { known in
            let found = known[key]?()
            // The center's reference may be loaded under the lock, since the caller holds the center.
            if found?.center !== center { known[key] = { [weak fresh] in fresh } }
            return found
        }
        return found?.center === center ? found! : fresh
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
        // The place may be that of another channel by now.
        _ = Self.known.withLock { known in
            let channel = known[key]?()
            if channel == nil { known[key] = nil }
            return channel
        }
        if let registration = unsafe registration { center?.removeObserver(registration) }
    }

    // MARK: The table

    private struct Key: Hashable, Sendable {
        let center: ObjectIdentifier
        let name: Notification.Name
    }

    /// The channels that are alive, held weakly.
    ///
    /// Loaded under the lock, and dropped outside: the `deinit` of a channel takes the lock.
    private static let known = Lock([Key: @Sendable () -> NotificationChannel?]())

    // MARK: What the center holds

    private final class Relay: Sendable {
        private weak let channel: NotificationChannel?

        /// Shows the sanitizer that the center passes the relay from the registering thread to the posting ones.
        private let edge = SanitizerEdge()

        init(channel: NotificationChannel) {
            self.channel = channel
            edge.release()
        }

        deinit {
            // If the channel itself had its registration removed, the reference is nil, and nothing is called. (The
            // center is holding its lock then.)
            channel?.posts.removeAll(dropping: false)
        }

        func pass(_ notification: Notification) {
            edge.acquire()
            channel?.posts.notify(Post(notification: notification))
        }
    }
}
#endif
