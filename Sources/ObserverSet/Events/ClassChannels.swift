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
        let channel: (any ClassChannel)?
        let next: Atomic<Unmanaged<Link>?>

        init(_ channel: (any ClassChannel)?, before next: Link?) {
            self.channel = channel
            unsafe self.next = unsafe Atomic(next.map { unsafe .passUnretained($0) })
        }

        var following: Link? { unsafe next.load(ordering: .acquiring)?.takeUnretainedValue() }
    }

    private let start = Link(nil, before: nil)

    /// Tells each channel of the event's class and of its superclasses, the most derived first.
    func publish(_ event: any Event, at time: UInt64, isolation: isolated (any Actor)?) {
        var link = start.following
        while let channel = link?.channel {
            channel.publish(event, at: time, isolation: isolation)
            link = link?.following
        }
    }

    /// Puts a channel in its place: before the first superclass's.
    ///
    /// Its subclasses stand before that one, since they are subclasses of it too. Under the lock.
    func insert(_ channel: any ClassChannel) {
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

/// A channel whose events are objects.
protocol ClassChannel: Sendable {
    var type: Any.Type { get }

    /// Tells the observers, if the event is one of theirs.
    func publish(_ event: any Event, at time: UInt64, isolation: isolated (any Actor)?)

    func isOfSuperclass(of other: any ClassChannel) -> Bool
}

extension SharedChannel: ClassChannel {
    var type: Any.Type { Observed.self }

    func publish(_ event: any Event, at time: UInt64, isolation: isolated (any Actor)?) {
        guard let event = event as? Observed else { return }
        set.notify(TimedEvent(event: event, time: time), isolation: isolation)
    }

    func isOfSuperclass(of other: any ClassChannel) -> Bool {
        other.type is Observed.Type
    }
}
