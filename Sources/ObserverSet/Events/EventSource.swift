/// The source to which observers of an event are added; it hides the rest of the set.
///
/// It holds the set weakly, so that the publisher's end releases the observers.
struct EventSource<Observed: Sendable>: NotificationSource, CustomDebugStringConvertible {
    weak let set: ObserverSet<Observed>?

    var debugDescription: String { self.set?.debugDescription ?? "\(Observed.self) of a publisher that is gone" }

    func register(_ observer: Observer<Observed>) -> ObserverToken {
        // A combination of no tokens is inactive.
        set?.register(observer) ?? ObserverToken([])
    }

    func settled() async {
        // Awaited without the set, which must be able to end with its publisher.
        let settledWait = set?.beginSettledWait()
        await settledWait?.wait()
    }
}

/// The set of the observers of one type of events, whatever the type.
protocol EventChannel: AnyObject, Sendable {
    var type: Any.Type { get }

    /// Calls the observers whose ids are at most `limit`, if the event is one of theirs.
    func publish(_ event: any Event, upTo limit: UInt64, from actor: (any Actor)?)

    func isOfSuperclass(of other: any EventChannel) -> Bool

    func removeAll(ownedBy owner: AnyObject) -> Int

    func beginSettledWait() -> SettledWait

    /// One line for each observer.
    var listing: Listing { get }
}

extension EventChannel {
    var name: String { String(reflecting: type) }
}

extension ObserverSet: EventChannel {
    var type: Any.Type { Parameters.self }

    func publish(_ event: any Event, upTo limit: UInt64, from actor: (any Actor)?) {
        guard let event = event as? Parameters else { return }
        notify(event, upTo: limit, from: actor)
    }

    func isOfSuperclass(of other: any EventChannel) -> Bool {
        other.type is Parameters.Type
    }
}
