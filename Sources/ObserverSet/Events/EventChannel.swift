import Synchronization

/// Those who observe one type's events, or all events.
protocol EventChannel<Observed>: AnyObject, Sendable {
    /// What the observers are told.
    associatedtype Observed: Sendable
    /// What the set is notified with.
    associatedtype Told: Sendable

    /// The observers; kept by the channel alone, so that they go with the publisher.
    var set: ObserverSet<Told> { get }
    /// What users hold.
    var source: EventSource<Observed> { get }
}

extension EventChannel {
    var name: String { String(reflecting: Observed.self) }

    /// One line for each observer.
    var lines: [String] { self.set.customMirror.children.map { "\($0.value)" } }

    var anySource: AnyObject { source }

    func removeAll(ownedBy owner: AnyObject) -> Int { set.removeAll(ownedBy: owner) }

    func settled() async { await set.settled() }
}

/// Where observers of an event are added: what a publisher shows of a channel.
///
/// An object that lives as long as its publisher or whoever holds it. It does not keep the observers: they go with the
/// publisher.
final class EventSource<Observed: Sendable>: NotificationSource {
    /// Returns nil if the publisher is gone.
    private let registration: @Sendable (Observer<Observed>) -> ObserverToken?

    init(_ registration: @escaping @Sendable (Observer<Observed>) -> ObserverToken?) {
        self.registration = registration
    }

    func register(_ observer: Observer<Observed>) -> ObserverToken {
        // A token of none is inactive.
        registration(observer) ?? ObserverToken([])
    }
}

/// Those who observe the events of one type that is no class: a set, and nothing between it and its observers.
final class ValueChannel<Observed: Event>: EventChannel {
    let set: ObserverSet<Observed>
    let source: EventSource<Observed>

    init() {
        let set = ObserverSet<Observed>()
        self.set = set
        source = EventSource { [weak set] observer in set?.register(observer) }
    }
}

/// Those who observe the events of a class and its subclasses, or all events.
///
/// An event passes several such channels one after the other. None of them may call an observer that was added since
/// the event was published (promise 3), though its turn comes later: so the event carries its time, and each observer
/// is stamped with that of its registration.
final class SharedChannel<Observed: Sendable>: EventChannel {
    let set: ObserverSet<TimedEvent<Observed>>
    let source: EventSource<Observed>

    init(_ clock: EventClock) {
        let set = ObserverSet<TimedEvent<Observed>>()
        self.set = set
        source = EventSource { [weak set] observer in
            guard let set else { return nil }
            let registration = clock.advance()
            return set.register(
                observer.adapted { published in published.time >= registration ? published.event : nil })
        }
    }
}

/// An event, and when it was published.
struct TimedEvent<Observed: Sendable>: Sendable {
    let event: Observed
    let time: UInt64
}

/// Counts the registrations in a publisher's shared channels.
final class EventClock: Sendable {
    private let registrations = Atomic<UInt64>(0)

    /// The number of registrations so far.
    ///
    /// Relaxed: a registration that has been made before the caller's event, on this thread or as far as this thread
    /// can know, is counted; of one that is made meanwhile either number is right.
    var now: UInt64 {
        @inline(__always) get { registrations.load(ordering: .relaxed) }
    }

    /// Counts one more, and returns its number.
    func advance() -> UInt64 {
        registrations.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
