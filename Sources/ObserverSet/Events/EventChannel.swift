/// A publisher's set for one type of events, seen without its type parameter.
///
/// A publisher keeps the sets of all types in one array, as values of this protocol.
protocol EventChannel: AnyObject, Sendable {
    /// The name of the events' type.
    var name: String { get }
    /// A line for each observer.
    var listing: Listing { get }
    func removeAll(ownedBy owner: AnyObject) -> Int
    func beginSettledWait() -> SettledWait
}

extension ObserverSet: EventChannel {
    var name: String { String(reflecting: Parameters.self) }
}
