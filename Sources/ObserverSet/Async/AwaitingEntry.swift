import Synchronization

/// What a mailbox needs of an observer that awaits.
protocol AwaitedObserver: AnyObject, Sendable {
    /// Whether a value from the mailbox may be delivered.
    var isActive: Bool { get }
    /// The actor on which the observer runs, if the mailbox must not keep it alive.
    var actor: (any Actor)? { get }
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
    /// The actor on which the observer runs, if this entry must not keep it alive: the owner, or the actor that added
    /// it.
    private weak let weakActor: (any Actor)?
    /// Whether the owner is that actor.
    private let isOwnedByActor: Bool
    /// The type of the actor on which it runs; nil if it runs on none.
    private let actorType: (any Actor.Type)?
    private let home: AwaitingMailbox
    private let status: RegistrationStatus
    private let dropped = Atomic<Int>(0)

    init(
        owner: Owner?, _ ownerType: Any.Type?, on isolation: (any Actor)?, addedOn adder: (any Actor)?,
        _ buffering: Buffering, _ function: @escaping Function
    ) {
        self.function = function
        weakOwner = owner
        staticOwnerType = ownerType
        let actor = Destination.actor(for: isolation, addedOn: adder)
        let isKept = isolation != nil && isolation !== owner
        weakActor = isKept ? nil : actor
        isOwnedByActor = owner != nil && owner === actor
        actorType = actor.map { type(of: $0) }
        home = AwaitingMailbox(on: isKept ? isolation : nil, buffering)
        status = RegistrationStatus()
    }

    /// For a further registration of the same observer, which shares the mailbox.
    private init(sharing other: AwaitingEntry) {
        function = other.function
        weakOwner = other.weakOwner
        staticOwnerType = other.staticOwnerType
        weakActor = other.weakActor
        isOwnedByActor = other.isOwnedByActor
        actorType = other.actorType
        home = other.home
        status = RegistrationStatus(isClaimed: true)
    }

    var actor: (any Actor)? { weakActor }

    func call(_ job: AwaitingJob, on actor: isolated (any Actor)?) async {
        // The observer may have been removed on that actor meanwhile.
        guard isActive else { return }
        let owner: Owner? = if isOwnedByActor { actor } else { weakOwner }
        guard owner != nil || staticOwnerType == nil else { return noteDeadOwner() }
        await function(owner, job.value as! Parameters)
    }

    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        guard status.isOpen else { return !status.isOwnerKnownDead }
        home.post(parameters, to: self)
        return true
    }

    override func isKnownAlive(from here: UInt) -> Bool { !status.isOwnerKnownDead }

    var isActive: Bool { status.isActive }

    func noteDeadOwner() { status.noteDeadOwner() }

    func noteDropped() { dropped.wrappingAdd(1, ordering: .relaxed) }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { staticOwnerType }
    override var mailbox: AnyMailbox? { home }
    override var droppedCount: Int { dropped.load(ordering: .relaxed) }

    override var placeDescription: String? {
        let dropped = droppedCount
        let actor = actorType.map { "\($0)" } ?? "no actor"
        return "\(actor), awaited\(home.progress(of: self))" + (dropped == 0 ? "" : ", \(dropped) dropped")
    }

    override func claimed() -> AnyEntry { status.claim() ? self : AwaitingEntry(sharing: self) }

    override func end() { status.end() }
    override var isAwaited: Bool { true }
    override func cancel() { home.end(self) }
}
