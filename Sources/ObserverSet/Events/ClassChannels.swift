import Synchronization

/// A publisher's channels for classes, each before those of its superclasses.
///
/// A linked list that only grows, at any place. Publishing walks it without a lock, and asks each channel whether it is
/// one of the event's: there is no other way to a class's superclasses, and rarely more than a few classes are events.
///
/// Why a walk meets only what is complete: a link is made with what follows it, and then stored, releasing, in the one
/// before it, where the walk loads it, acquiring. Writers hold the publisher's lock. Each link is retained by the list
/// and released in its `deinit`, which no walk can meet, since whoever walks holds the publisher that holds the list.
@safe struct ClassChannels: ~Copyable, Sendable {
    @safe private final class Link: Sendable {
        /// Nil in the link before the first.
        let channel: (any EventChannel)?
        let next: Atomic<Unmanaged<Link>?>

        init(_ channel: (any EventChannel)?, before next: Link?) {
            self.channel = channel
            unsafe self.next = unsafe Atomic(next.map { unsafe .passUnretained($0) })
        }

        @inline(__always)
        var isLast: Bool { unsafe next.load(ordering: .relaxed) == nil }

        var following: Link? { unsafe next.load(ordering: .acquiring)?.takeUnretainedValue() }
    }

    private let start = Link(nil, before: nil)

    /// Tells each channel of the event's class and of its superclasses, the most derived first.
    func publish(_ event: any Event, upTo limit: UInt64, isolation: isolated (any Actor)?) {
        var link = start.following
        while let channel = link?.channel {
            channel.publish(event, upTo: limit, isolation: isolation)
            link = link?.following
        }
    }

    /// Whether no class was ever observed.
    @inline(__always)
    var isEmpty: Bool { start.isLast }

    /// Puts a channel in its place: before the first superclass's.
    ///
    /// Its subclasses stand before that one, since they are subclasses of it too. Under the lock.
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
