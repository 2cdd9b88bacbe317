import Synchronization

/// An observer of other parameters, which a function converts.
final class AdaptedEntry<Input: Sendable, Parameters: Sendable>: Entry<Input>, @unchecked Sendable {
    private let adapted: Observer<Parameters>
    private let transform: @Sendable (Input) -> Parameters?
    /// False once the registration has been removed, which `transform` itself may do.
    ///
    /// Relaxed: a thread is sure to see only its own removal, and no more is needed.
    private let isActive = Atomic<Bool>(true)

    init(_ adapted: Observer<Parameters>, transform: @escaping @Sendable (Input) -> Parameters?) {
        self.adapted = adapted
        self.transform = transform
    }

    override func deliver(_ input: Input, by context: inout NotifyContext) -> Bool {
        guard let parameters = transform(input) else { return isKnownAlive(by: &context) }
        guard isActive.load(ordering: .relaxed) else { return true }
        return adapted.deliver(parameters, by: &context)
    }

    override var base: AnyEntry? { adapted.entry }

    override func forRegistration(_ gates: [OnceGate]) -> Entry<Input> {
        AdaptedEntry(adapted.forRegistration(gates), transform: transform)
    }

    override func claim() -> Bool { adapted.entry?.claim() ?? true }
    override var posted: AnyEntry? { base?.posted }

    override func end() {
        isActive.store(false, ordering: .relaxed)
        super.end()
    }
}
