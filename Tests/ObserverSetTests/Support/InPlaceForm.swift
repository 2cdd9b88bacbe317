import ObserverSet

/// The forms of `add` whose observers are called in place, for what must hold for each of them.
enum InPlaceForm: CaseIterable, Sendable {
    case closure, nonisolated, owner, nonisolatedOwner, adapted

    /// Adds `body` in this form; `owner` is used by the forms that have one.
    @discardableResult
    func add<Parameters: Sendable>(
        to set: ObserverSet<Parameters>, owner: some AnyObject & Sendable,
        _ body: @escaping @Sendable (Parameters) -> Void
    ) -> ObserverToken {
        switch self {
        case .closure: set.add { body($0) }
        case .nonisolated: set.addNonisolated(body)
        case .owner: set.add(owner) { _, parameters in body(parameters) }
        case .nonisolatedOwner: set.addNonisolated(owner) { _, parameters in body(parameters) }
        case .adapted: Unchanged(source: set).add { body($0) }
        }
    }
}

/// A source of one's own that passes on what another one tells, as it is.
private struct Unchanged<Parameters: Sendable>: NotificationSource {
    let source: any NotificationSource<Parameters>

    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        source.register(observer.adapted { (parameters: Parameters) in parameters })
    }
}
