import Synchronization

/// An observer that awaits, as its mailbox sees it.
protocol AwaitedObserver: AnyObject, Sendable {
    /// Whether a value from the mailbox may be delivered.
    var isActive: Bool { get }
    /// Whether it is called only once.
    var isCalledOnce: Bool { get }
    /// Calls the observer with a value that `deliver` has posted, if its owner is alive.
    ///
    /// Runs on the observer's actor, so that the owner is loaded there, and its `deinit` cannot run elsewhere.
    func call(_ job: AwaitingJob, on actor: isolated (any Actor)?) async
    func noteDropped()
}

/// An observer that awaits: each of its calls begins when the one before has returned.
final class AwaitingEntry<Parameters: Sendable>: Entry<Parameters>, AwaitedObserver, @unchecked Sendable {
    /// Calls the observer with its owner, if it has one, from the actor on which it runs.
    typealias Function = nonisolated(nonsending) @Sendable (Owner?, Parameters) async -> Void
    typealias Owner = any AnyObject & Sendable

    private let function: Function
    private weak let weakOwner: Owner?
    /// Nil if it has no owner.
    private let staticOwnerType: Any.Type?
    private let home: AwaitingMailbox
    let isCalledOnce: Bool
    private let status: RegistrationStatus
    private let dropped = Atomic<Int>(0)

    init(
        owner: Owner?, _ ownerType: Any.Type?, on actor: (any Actor)?, _ buffering: Buffering,
        _ function: @escaping Function
    ) {
        self.function = function
        weakOwner = owner
        staticOwnerType = ownerType
        home = AwaitingMailbox(on: actor, buffering)
        isCalledOnce = false
        status = RegistrationStatus()
    }

    /// The same observer, with the same mailbox, for another registration.
    private init(
        sharing other: AwaitingEntry, isClaimed: Bool, isCalledOnce: Bool, _ function: @escaping Function
    ) {
        self.function = function
        weakOwner = other.weakOwner
        staticOwnerType = other.staticOwnerType
        home = other.home
        self.isCalledOnce = isCalledOnce
        status = RegistrationStatus(isClaimed: isClaimed)
    }

    func call(_ job: AwaitingJob, on actor: isolated (any Actor)?) async {
        // The observer may have been removed on that actor meanwhile.
        guard isActive else { return }
        let owner = weakOwner
        guard owner != nil || staticOwnerType == nil else { return noteDeadOwner() }
        await function(owner, unboxed(job.value))
    }

    override func deliver(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        guard isActive else { return !status.isOwnerKnownDead }
        home.post(parameters, to: self, notifier.urgency)
        return true
    }

    override func isKnownAlive(by notifier: Notifier) -> Bool { !status.isOwnerKnownDead }

    var isActive: Bool { status.isActive }

    func noteDeadOwner() { status.noteDeadOwner() }

    func noteDropped() { dropped.wrappingAdd(1, ordering: .relaxed) }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { staticOwnerType }
    override var mailbox: Mailbox? { home }
    override var droppedCount: Int { dropped.load(ordering: .relaxed) }

    override var placeDescription: String {
        let dropped = droppedCount
        return "on " + home.description + home.progress(of: self) + (dropped == 0 ? "" : ", \(dropped) dropped")
    }

    override func forRegistration() -> AnyEntry {
        if status.claim() { return self }
        return AwaitingEntry(sharing: self, isClaimed: true, isCalledOnce: isCalledOnce, function)
    }

    override func ending(_ registration: SelfEndingRegistration) -> Entry<Parameters> {
        AwaitingEntry(sharing: self, isClaimed: false, isCalledOnce: true) { [function] owner, parameters in
            if registration.end() { await function(owner, parameters) }
        }
    }

    override func end() { status.end() }
    override var isAwaited: Bool { true }
    override func cancel() { home.end(self) }
}
