import ObserverSet

/// A source that registers each observer with several other sources.
struct Everywhere<Parameters: Sendable>: NotificationSource {
    let sources: [any NotificationSource<Parameters>]

    init(_ sources: [any NotificationSource<Parameters>]) { self.sources = sources }

    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        ObserverToken(sources.map { $0.register(observer) })
    }

    func settled() async { for source in sources { await source.settled() } }
}
