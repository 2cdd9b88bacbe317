#if NotificationCenter
import Foundation
import Synchronization

/// Connects all observers of one name in one center: it has one registration with Foundation, and a set behind it.
///
/// The set gives these observers an order and an end. Foundation's center guarantees neither: it may call observers in
/// any order, and may call one that has already been removed.
///
/// A solid arrow is a strong reference, a dotted arrow is a weak one:
///
///     center ──> block ┄┄> NotificationChannel ──> ObserverSet<Post> ──> observers
///       │                   ^       ^                                        │
///       │                   ┊       └────────────────────────────────────────┘
///       └──────> block ──> ChannelsOfACenter <┄┄ table
///
/// **When the last observer is removed.** Only the observers hold the channel, so the channel is deallocated. Its
/// `deinit` removes its registration from the center, exactly once: on Linux, removing a registration twice may remove
/// one that belongs to somebody else. Foundation may release the block while it holds its lock, so the block must not
/// hold anything that belongs to the user. That is why it refers to the channel weakly.
///
/// **When the center is deallocated.** The observers hold the channel, so something must end their registrations.
/// Otherwise they would stay alive for ever. The block of the channel's own registration can't do that. The channel
/// keeps the registration's token, and with some versions of Foundation the token holds the block, so the channel would
/// keep that block alive itself. (That is so on Apple's systems, and on Linux before Swift 6.3.) So each center has one
/// more registration, whose token nobody keeps. Only the center can hold its block, directly or through the token. When
/// the center is deallocated, so is the block, and with it `ChannelsOfACenter`, which ends the observers of all the
/// center's channels. Values that are already enqueued for them are still delivered.
final class NotificationChannel: Sendable {
    /// A notification on its way through the set.
    ///
    /// `Sendable` is unchecked. That is sound, because a post never leaves the posting thread: every observer of this
    /// set is an adapted one, and its transform runs on the posting thread.
    struct Post: @unchecked Sendable {
        let notification: Notification
        /// The object that posted it, which is looked up once for all observers; nil if no observer has asked for one
        /// sender.
        let sender: AnyObject?
    }

    let posts = ObserverSet<Post>()

    private let name: Notification.Name
    private weak let center: NotificationCenter?
    /// Whether some observer has asked for the notifications of one sender; set before that observer is registered.
    private let hasSenders = Atomic<Bool>(false)
    /// Foundation's token for the registration, which is set once in `init`, and read in `deinit`.
    private nonisolated(unsafe) var registration: (any NSObjectProtocol)?

    /// The channel for a name, or nil if the name is not observed.
    static func existing(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel? {
        ChannelsOfACenter.existing(center)?.channel(name)
    }

    /// The channel for a name, which is created if there is none.
    static func named(_ name: Notification.Name, of center: NotificationCenter) -> NotificationChannel {
        let channels = ChannelsOfACenter.of(center)
        return channels.channel(name) ?? channels.enter(NotificationChannel(name, center), name)
    }

    private init(_ name: Notification.Name, _ center: NotificationCenter) {
        self.name = name
        self.center = center
        // Releasing, paired with the load below: the thread sanitizer doesn't see that the center passes the channel
        // on.
        hasSenders.store(false, ordering: .releasing)
        unsafe registration = center.addObserver(forName: name, object: nil, queue: nil) { [weak self] notification in
            guard let self else { return }
            // A post that has to call an observer of one sender knows of that observer, and so sees the store in
            // `noteSender`. Without one, the sender isn't cast to `AnyObject`, which takes several times as long as a
            // call.
            let sender = hasSenders.load(ordering: .acquiring) ? notification.object.map { $0 as AnyObject } : nil
            posts.notify(Post(notification: notification, sender: sender))
        }
    }

    func noteSender() { hasSenders.store(true, ordering: .relaxed) }

    deinit {
        // If the center is gone, so are its registrations and its `ChannelsOfACenter`.
        guard let center, let registration = unsafe registration else { return }
        ChannelsOfACenter.existing(center)?.forget(name)
        center.removeObserver(registration)
    }
}

/// The channels of one center, which ends their observers when the center is deallocated.
///
/// Only the center holds it: see `NotificationChannel`. This object and its channels are found through weak references.
/// These are loaded under a lock, but what they refer to is released outside, because the `deinit` of a channel takes
/// the same lock.
private final class ChannelsOfACenter: Sendable {
    private let address: ObjectIdentifier
    private weak let center: NotificationCenter?
    private let channels = Lock<[Notification.Name: @Sendable () -> NotificationChannel?]>([:])

    /// The channels of all centers, by the centers' addresses.
    private static let table = Lock<[ObjectIdentifier: @Sendable () -> ChannelsOfACenter?]>([:])

    /// The channels of a center that the caller holds, or nil if the center has never been observed.
    static func existing(_ center: NotificationCenter) -> ChannelsOfACenter? {
        let found = table.withLock { $0[ObjectIdentifier(center)]?() }
        // These may be the channels of a deallocated center that had the same address, if another thread is still
        // releasing them.
        return found?.center === center ? found : nil
    }

    /// The channels of a center that the caller holds, which are created if the center has never been observed.
    static func of(_ center: NotificationCenter) -> ChannelsOfACenter {
        if let found = existing(center) { return found }
        let fresh = ChannelsOfACenter(center)
        // Another thread may have been faster.
        let found = table.withLock { table in
            let found = table[fresh.address]?()
            if found?.center !== center { table[fresh.address] = { [weak fresh] in fresh } }
            return found
        }
        if let found, found.center === center { return found }
        // The token is dropped on purpose: see `NotificationChannel`. Nobody posts this name.
        _ = center.addObserver(forName: Notification.Name("ObserverSet.ChannelsOfACenter"), object: nil, queue: nil) {
            _ in withExtendedLifetime(fresh) {}
        }
        return fresh
    }

    private init(_ center: NotificationCenter) {
        address = ObjectIdentifier(center)
        self.center = center
    }

    deinit {
        // The entry may already belong to another center with the same address.
        _ = Self.table.withLock { [address] table in
            let found = table[address]?()
            if found == nil { _ = table.removeAndTrim(address) }
            return found
        }
        let channels = channels.withLock { channels in channels.values.compactMap { $0() } }
        for channel in channels { channel.posts.removeAll(droppingPending: false) }
    }

    func channel(_ name: Notification.Name) -> NotificationChannel? { channels.withLock { $0[name]?() } }

    /// Enters a new channel and returns it, or returns the one that another thread has entered in the meantime.
    func enter(_ fresh: NotificationChannel, _ name: Notification.Name) -> NotificationChannel {
        channels.withLock { channels in
            if let found = channels[name]?() { return found }
            channels[name] = { [weak fresh] in fresh }
            return fresh
        }
    }

    /// Removes the entry of a channel with this name that is being deallocated.
    func forget(_ name: Notification.Name) {
        // The entry may already belong to another channel.
        _ = channels.withLock { channels in
            let found = channels[name]?()
            if found == nil { _ = channels.removeAndTrim(name) }
            return found
        }
    }
}
#endif
