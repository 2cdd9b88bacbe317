import Synchronization

/// An observer of other parameters, which a function converts.
final class AdaptedEntry<Input: Sendable, Parameters: Sendable>: Entry<Input>, @unchecked Sendable {
    private let base: Observer<Parameters>
    private let transform: @Sendable (Input) -> Parameters?
    /// False once the registration has been removed, which `transform` itself may do.
    ///
    /// Relaxed: a thread is sure to see only its own removal, and no more is needed.
    private let isActive = Atomic<Bool>(true)

    init(base: Observer<Parameters>, transform: @escaping @Sendable (Input) -> Parameters?) {
        self.base = base
        self.transform = transform
    }

    override func deliver(_ input: Input, by notifier: inout Notifier) -> Bool {
        guard let parameters = transform(input) else { return isKnownAlive(by: notifier) }
        guard isActive.load(ordering: .relaxed) else { return true }
        return base.deliver(parameters, by: &notifier)
    }

    override func isKnownAlive(by notifier: Notifier) -> Bool { base.entry?.isKnownAlive(by: notifier) ?? true }

    override var owner: AnyObject? { base.entry?.owner }
    override var ownerType: Any.Type? { base.entry?.ownerType }
    override func note(line: UInt32) { base.entry?.note(line: line) }
    override var placeDescription: String { base.entry?.placeDescription ?? super.placeDescription }
    override var mailbox: Mailbox? { base.entry?.mailbox }
    override var droppedCount: Int { base.entry?.droppedCount ?? 0 }

    override func forRegistration() -> AnyEntry { AdaptedEntry(base: base.forRegistration(), transform: transform) }

    override func ending(_ registration: SelfEndingRegistration) -> Entry<Input> {
        AdaptedEntry(base: base.ending(registration), transform: transform)
    }

    override var isAwaited: Bool { base.entry?.isAwaited ?? false }
    override func cancel() { base.entry?.cancel() }
    override func cancelCalls() { base.entry?.cancelCalls() }

    override func end() {
        isActive.store(false, ordering: .relaxed)
        base.entry?.end()
    }
}
