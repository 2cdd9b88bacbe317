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
