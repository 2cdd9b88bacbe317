/// The target of an observer that awaits: each call begins only when the previous call has returned.
final class AwaitingTarget<Parameters: Sendable>: Target<Parameters>, @unchecked Sendable {
    /// Calls the user's function with its owner, if it has one; runs on the observer's actor.
    typealias Function = nonisolated(nonsending) @Sendable (Owner?, Parameters) async -> Void
    typealias Owner = any AnyObject & Sendable

    private let function: Function
    private weak let weakOwner: Owner?
    private let isOwned: Bool
    private let ownMailbox: AwaitingMailbox
    private let ownState = RegistrationState()

    init(owner: Owner?, in mailbox: AwaitingMailbox, _ function: @escaping Function) {
        self.function = function
        weakOwner = owner
        isOwned = owner != nil
        ownMailbox = mailbox
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        guard registration.isActive else { return registration.reportOwnerIfDead(to: &notifier) }
        ownMailbox.post(value, to: registration, notifier.urgency)
    }

    override func receive(_ value: any Sendable, for registration: Registration, on actor: isolated (any Actor)?) async
    {
        // Code on that actor may have removed the registration after the mailbox had taken out the value.
        guard registration.isActive else { return }
        let owner = weakOwner
        guard owner != nil || !isOwned else { return registration.noteDeadOwner() }
        if registration.passGates() { await function(owner, unboxed(value)) }
    }

    override var state: UnsafePointer<RegistrationState>? { unsafe withUnsafePointer(to: ownState) { unsafe $0 } }
    override var owner: AnyObject? { weakOwner }
    override var mailbox: Mailbox? { ownMailbox }

    override func isBeingCalled(for registration: Registration) -> Bool { ownMailbox.isCalling(registration) }
    override var traits: UInt { Self.hasMailbox | Self.isAwaited | (isOwned ? Self.hasOwner : 0) }
    override func cancel(_ registration: Registration) { ownMailbox.dropAll(for: registration) }
}
