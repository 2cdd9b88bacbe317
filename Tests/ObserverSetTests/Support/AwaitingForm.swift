import ObserverSet

/// Every way in which an observer that awaits can be added.
enum AwaitingForm: CaseIterable, Sendable {
    case closure, closureOnMainActor, closureOnActor
    case owner, ownerOnMainActor, actorOwner

    static let owned: [AwaitingForm] = [.owner, .ownerOnMainActor, .actorOwner]

    /// Adds an observer of this form that calls `call`.
    func add<Parameters>(
        to source: some NotificationSource<Parameters>, buffering: Buffering = .unbounded,
        _ call: @escaping @Sendable (Parameters) async -> Void
    ) -> KeptRegistration {
        let owner = PlainListener<Int> { _ in }
        let keeper = Keeper()
        return switch self {
        case .closure: KeptRegistration(source.addAsync(buffering: buffering) { await call($0) })
        case .closureOnMainActor:
            KeptRegistration(source.addAsync(buffering: buffering) { @MainActor in await call($0) })
        case .closureOnActor: KeptRegistration(source.addAsync(buffering: buffering) { @Elsewhere in await call($0) })
        case .owner:
            KeptRegistration(source.addAsync(owner, buffering: buffering) { _, value in await call(value) }, owner)
        case .ownerOnMainActor:
            KeptRegistration(
                source.addAsync(owner, buffering: buffering) { @MainActor _, value in await call(value) }, owner)
        case .actorOwner:
            KeptRegistration(
                source.addAsync(keeper, buffering: buffering) { (_: isolated Keeper, value) in await call(value) },
                keeper)
        }
    }
}
