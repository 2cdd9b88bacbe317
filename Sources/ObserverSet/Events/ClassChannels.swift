import Synchronization

/// A publisher's channels for classes, each before those of its superclasses.
///
/// A linked list, to which a link can be added at any position, and from which none is ever removed. Publishing walks
/// it without a lock, and asks each channel whether it is one of the event's. A class does not list its superclasses
/// cheaply, and usually only few classes are events.
///
/// Why a walk reaches only complete links: a link is initialised, with its successor, and then stored (releasing) in
/// the link before it, from which the walk loads it (acquiring). Writers hold the publisher's lock. The list retains
/// each link, and releases it in its `deinit`. No walk can be under way then, since a walk holds the publisher, which
/// holds the list.
@safe struct ClassChannels: ~Copyable, Sendable {
    @safe private final class Link: Sendable {
        /// Nil in the link that starts the list.
        let channel: (any EventChannel)?
        let next: Atomic<Unmanaged<Link>?>

        init(_ channel: (any EventChannel)?, before next: Link?) {
            self.channel = channel
            unsafe self.next = unsafe Atomic(next.map { unsafe .passUnretained($0) })
        }

        /// Relaxed: whether there is a link; a walk loads it again, acquiring.
        @inline(__always)
        var isLast: Bool { unsafe next.load(ordering: .relaxed) == nil }

        var following: Link? { unsafe next.load(ordering: .acquiring)?.takeUnretainedValue() }
    }

    private let start = Link(nil, before: nil)

    /// Publishes to the channels of the event's class and of its superclasses, the most derived first.
    func publish(_ event: any Event, upTo limit: UInt64, from actor: (any Actor)?) {
        var link = start.following
        while let channel = link?.channel {
            channel.publish(event, upTo: limit, from: actor)
            link = link?.following
        }
    }

    /// Whether no class was ever observed.
    @inline(__always)
    var isEmpty: Bool { start.isLast }

    /// Inserts a channel before that of its first superclass in the list; if there is none, at the end.
    ///
    /// Channels of its subclasses are already before that position, since they are subclasses of that superclass, too.
    /// Called under the lock.
    func insert(_ channel: any EventChannel) {
        var link = start
        while let next = link.following, let other = next.channel, !other.isOfSuperclass(of: channel) { link = next }
        let fresh = Link(channel, before: link.following)
        unsafe link.next.store(.passRetained(fresh), ordering: .releasing)
    }

    deinit {
        var next = unsafe start.next.load(ordering: .relaxed)
        while let link = unsafe next {
            unsafe next = link._withUnsafeGuaranteedRef { unsafe $0.next.load(ordering: .relaxed) }
            unsafe link.release()
        }
    }
}
