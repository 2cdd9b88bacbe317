import Synchronization

/// An observer that awaits: each of its calls begins when the one before has returned.
final class AwaitingEntry<Parameters: Sendable>: WaitingEntry<Parameters>, AwaitedObserver, @unchecked Sendable {
    /// Calls the observer with its owner, if it has one, from the actor on which it runs.
    typealias Function = nonisolated(nonsending) @Sendable (Owner?, Parameters) async -> Void
    typealias Owner = any AnyObject & Sendable

    private let function: Function
    private weak let weakOwner: Owner?
    /// Nil if it has no owner.
    private let staticOwnerType: Any.Type?
    private let home: AwaitingMailbox
    private let gates: [OnceGate]
    private let dropped = Atomic<Int>(0)

    /// An entry for one registration; all of an observer have one mailbox, and so one order.
    init(
        owner: Owner?, _ ownerType: Any.Type?, in mailbox: AwaitingMailbox, gates: [OnceGate] = [],
        _ function: @escaping Function
    ) {
        self.function = function
        weakOwner = owner
        staticOwnerType = ownerType
        home = mailbox
        self.gates = gates
    }

    func call(_ value: any Sendable, on actor: isolated (any Actor)?) async {
        // The observer may have been removed on that actor meanwhile.
        guard isActive else { return }
        let owner = weakOwner
        guard owner != nil || staticOwnerType == nil else { return status.noteDeadOwner() }
        if gates.pass() { await function(owner, unboxed(value)) }
    }

    override func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        guard isActive else { return !status.isOwnerKnownDead }
        home.post(parameters, to: self, context.urgency)
        return true
    }

    // A value for an observer that has had its only call must neither wait nor cancel that call.
    var isActive: Bool { status.isActive && !gates.contains(where: \.isPassed) }
    var isCalledOnce: Bool { !gates.isEmpty }

    func noteDropped() { dropped.wrappingAdd(1, ordering: .relaxed) }
    func notePosted() { status.post() }
    func noteTakenOut() { status.begin() }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { staticOwnerType }
    override var mailbox: Mailbox? { home }
    override var counts: (waiting: Int, dropped: Int) { (status.waiting, dropped.load(ordering: .relaxed)) }

    override var placeDescription: String {
        let (waiting, dropped) = counts
        return "on " + home.description
            + Mailbox.describe(isInCall: home.isCalling(self), waiting: waiting, dropped: dropped)
    }

    override func forRegistration(_ more: [OnceGate]) -> Entry<Parameters> {
        if more.isEmpty, !status.isClaimed { return self }
        return AwaitingEntry(owner: weakOwner, staticOwnerType, in: home, gates: gates + more, function)
    }

    override var isAwaited: Bool { true }

    override func cancel() { home.end(self) }
}
