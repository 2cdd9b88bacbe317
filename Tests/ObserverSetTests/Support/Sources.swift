import ObserverSet

/// A client's own counterpart of `compactMap`: it adapts its observers, and registers them with another source.
struct Mapped<Input: Sendable, Parameters: Sendable>: NotificationSource {
    let source: any NotificationSource<Input>
    let transform: @Sendable (Input) -> Parameters?

    init(source: any NotificationSource<Input>, _ transform: @escaping @Sendable (Input) -> Parameters?) {
        self.source = source
        self.transform = transform
    }

    func register(_ observer: Observer<Parameters>) -> ObserverToken { source.register(observer.adapted(transform)) }

    func settled() async { await source.settled() }
}

/// A source that only stores the observer that it is asked to register.
final class KeptObserver<Parameters: Sendable>: NotificationSource {
    let observer = Shared<Observer<Parameters>?>(nil)

    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        self.observer.value = observer
        return ObserverToken([])
    }

    func settled() async {}
}
