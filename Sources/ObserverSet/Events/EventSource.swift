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
    var name: String { get }
    /// A line for each observer.
    var listing: Listing { get }
    func removeAll(ownedBy owner: AnyObject) -> Int
    func beginSettledWait() -> SettledWait
}

extension ObserverSet: EventChannel {
    var name: String { String(reflecting: Parameters.self) }
}
