/// Where observers of an event are added: what a publisher shows of a set.
///
/// It does not keep the set, so that the observers go with the publisher.
struct EventSource<Observed: Sendable>: NotificationSource {
    weak let set: ObserverSet<Observed>?

    func register(_ observer: Observer<Observed>) -> ObserverToken {
        // A token of none is inactive.
        set?.register(observer) ?? ObserverToken([])
    }

    func settled() async { await set?.settled() }
}

/// The set of those who observe one type of events, whatever the type.
protocol EventChannel: AnyObject, Sendable, CustomReflectable {
    var type: Any.Type { get }

    /// Tells the observers whose ids are not above the limit, if the event is one of theirs.
    func publish(_ event: any Event, upTo limit: UInt64, isolation: isolated (any Actor)?)

    func isOfSuperclass(of other: any EventChannel) -> Bool

    func removeAll(ownedBy owner: AnyObject) -> Int

    func settled() async
}

extension EventChannel {
    var name: String { String(reflecting: type) }

    /// One line for each observer.
    var lines: [String] { customMirror.children.map { "\($0.value)" } }
}

extension ObserverSet: EventChannel {
    var type: Any.Type { Parameters.self }

    func publish(_ event: any Event, upTo limit: UInt64, isolation: isolated (any Actor)?) {
        guard let event = event as? Parameters else { return }
        notify(event, upTo: limit, isolation: isolation)
    }

    func isOfSuperclass(of other: any EventChannel) -> Bool {
        other.type is Parameters.Type
    }
}
