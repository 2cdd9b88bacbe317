import Synchronization

/// The target of an observer that awaits: each call begins only when the previous call has returned.
final class AwaitingTarget<Parameters: Sendable>: Target<Parameters>, @unchecked Sendable {
    /// Calls the user's function with its owner, if it has one; runs on the observer's actor.
    typealias Function = nonisolated(nonsending) @Sendable (Owner?, Parameters) async -> Void
    typealias Owner = any AnyObject & Sendable

    private let function: Function
    private weak let weakOwner: Owner?
    private let isOwned: Bool
    /// Whether a call has found the owner dead; relaxed, because it only says sooner what another call would find.
    ///
    /// The observer's other registrations, in merged sources, learn it from here. If their values are dropped for want
    /// of room, no call finds it out for them.
    private let isOwnerKnownDead = Atomic<Bool>(false)
    private let ownMailbox: AwaitingMailbox
    private let ownState = RegistrationState()

    init(owner: Owner?, in mailbox: AwaitingMailbox, _ function: @escaping Function) {
        self.function = function
        weakOwner = owner
        isOwned = owner != nil
        ownMailbox = mailbox
    }

    override func send(_ value: Parameters, for registration: Registration, by notifier: inout Notifier) {
        if isOwnerKnownDead.load(ordering: .relaxed), registration.isRegistered { registration.noteDeadOwner() }
        guard registration.isActive else { return registration.reportOwnerIfKnownDead(to: &notifier) }
        ownMailbox.post(value, to: registration, notifier.urgency)
    }

    override func deliver(_ value: any Sendable, for registration: Registration, on actor: isolated (any Actor)?) async
    {
        // Code on that actor may have removed the registration after the mailbox had taken out the value.
        guard registration.isActive else { return }
        let owner = weakOwner
        guard owner != nil || !isOwned else {
            isOwnerKnownDead.store(true, ordering: .relaxed)
            return registration.noteDeadOwner()
        }
        if registration.passGates() { await function(owner, unboxed(value)) }
    }

    override var state: UnsafePointer<RegistrationState>? { unsafe withUnsafePointer(to: ownState) { unsafe $0 } }
    override var owner: AnyObject? { weakOwner }
    override var mailbox: Mailbox? { ownMailbox }

    override func isBeingCalled(for registration: Registration) -> Bool { ownMailbox.isBusy(with: registration) }
    override var traits: UInt { Self.hasMailbox | Self.isAwaited | (isOwned ? Self.hasOwner : 0) }
    override func cancel(_ registration: Registration) { ownMailbox.dropRemoved(cancellingCallOf: registration) }
}
