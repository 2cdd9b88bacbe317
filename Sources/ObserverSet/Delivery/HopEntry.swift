import Synchronization

/// An observer that belongs to an actor or a queue: called in place where the notifier is already there, and through
/// its mailbox otherwise.
///
/// The one place that decides.
final class HopEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    private let callee: Payload<Parameters>
    private let destination: Destination
    /// Identifies the actor; zero for a queue, on which nobody is ever known to be.
    private let identity: UInt
    private let box: Mailbox
    /// False when the registration has been removed.
    ///
    /// Relaxed: a removal in the observer's own isolation is ordered before any later delivery by that isolation, and
    /// no other removal promises more than "soon".
    private let isActive = Atomic<Bool>(true)
    /// Noticed where the observer runs: a notifier does not load an owner from elsewhere, lest the owner die there.
    private let ownerIsDead = Atomic<Bool>(false)

    init(callee: Payload<Parameters>, destination: Destination, identity: UInt, mailbox: Mailbox = Mailbox()) {
        self.callee = callee
        self.destination = destination
        self.identity = identity
        self.box = mailbox
    }

    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        let isHere = here == identity && here != 0
        if isHere, box.isIdle { return callee.deliver(parameters, from: here) }
        guard !ownerIsDead.load(ordering: .relaxed) else { return false }
        let (mustDrain, position) = box.post(parameters, to: self)
        if isHere {
            // Earlier values first, then this one: all in place. (Inside a drain, that drain comes to it.) What others
            // post meanwhile must not keep the notifier here.
            if box.drain(limit: position) { destination.schedule(box, again: true) }
        } else if mustDrain {
            destination.schedule(box)
        }
        return true
    }

    override func deliverEnqueued(_ value: any Sendable) {
        guard isActive.load(ordering: .relaxed) else { return }
        // What `deliver` has posted.
        let parameters = value as! Parameters
        if !callee.deliver(parameters, from: identity) { ownerIsDead.store(true, ordering: .relaxed) }
    }

    /// Whether a call in place would overtake nothing.
    var isIdle: Bool {
        @inline(__always) get { box.isIdle }
    }

    override var owner: AnyObject? { callee.entry?.owner }
    override var ownerType: Any.Type? { callee.entry?.ownerType }
    override var isolationDescription: String? { destination.description }
    override var mailbox: Mailbox? { box }

    override func registered() -> AnyEntry {
        HopEntry(callee: callee, destination: destination, identity: identity, mailbox: box)
    }

    override func end() {
        isActive.store(false, ordering: .relaxed)
    }
}
