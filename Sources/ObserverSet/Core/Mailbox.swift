import Synchronization

/// Where values wait for an observer.
class AnyMailbox: @unchecked Sendable {
    /// Holds up a caller of `settled()` until what has been enqueued so far has been delivered or dropped; false if there
    /// is nothing of the kind.
    func holdUp(_ settlement: Settlement) -> Bool { fatalError("abstract") }

    /// What descriptions of a set say of an observer: who holds up `settled()`.
    static func progress(isInCall: Bool, waiting: Int) -> String {
        (isInCall ? ", in a call" : "") + (waiting == 0 ? "" : ", \(waiting) waiting")
    }

    /// Whether values still wait after their observer has been removed; if so, the keeper is called when none are left.
    func isBusy(telling keeper: any MailboxKeeper) -> Bool { false }
}

/// What has been notified to one observer and not yet delivered: first in, first out, one delivery at a time.
///
/// Values are taken out on the observer's own actor or queue alone; if that actor is gone, on any thread (see
/// `Destination.schedule`). An idle mailbox holds nothing of the user's except the actor or queue where it is drained.
final class Mailbox: AnyMailbox, @unchecked Sendable {
    private struct State: Sendable {
        /// Jobs that the last drain left when it reached its limit, in reverse order.
        var leftover: [Job] = []
        /// Newer jobs, in order.
        var jobs: [Job] = []
        var phase = Phase.idle
        /// Whether a drain is on its way to the observer's actor or queue.
        ///
        /// Then no other is scheduled, even if all that waited has been delivered in place meanwhile: while the actor is
        /// busy, drains would pile up.
        var isScheduled = false
        /// Who keeps this mailbox until it is idle, and is called then.
        var keepers: [Keeper] = []

        /// Whether a drain has to be scheduled, since none is on its way.
        mutating func schedule() -> Bool {
            defer { isScheduled = true }
            return !isScheduled
        }
    }

    /// What happens next.
    private enum Phase: Sendable {
        /// There is nothing to deliver.
        case idle
        /// A drain is on its way to the observer's actor or queue, or is about to begin in place.
        case waiting
        /// A drain is under way there.
        case delivering
    }

    /// Weak: a registry need not stay alive because something is still enqueued.
    private struct Keeper: Sendable {
        weak let object: (any MailboxKeeper)?
    }

    private let destination: Destination
    private let state = Lock(State())
    /// Whether `state.phase` is not idle.
    ///
    /// Stored under the lock.
    private let isBusy = Atomic<Bool>(false)

    /// The capacity that an idle mailbox keeps, in jobs; what a burst needed beyond that is freed.
    private static let keptRoom = 32
    /// How many deliveries a drain makes before it lets other work onto the actor or queue.
    private static let turn = 1_000

    init(_ destination: Destination) {
        self.destination = destination
    }

    /// Whether all that was posted has been delivered or dropped.
    ///
    /// Relaxed is enough for promise 7. A thread sees its own posts, and those of another thread that it knows of
    /// through any synchronisation; a notification that knows of no earlier one may go first. In the other direction, a
    /// drain that has ended ran on the observer's actor, and a caller that relies on its end is on that actor now. A
    /// removed observer's mailbox is asked when no traversal can post any more; those that posted have been seen to
    /// leave.
    var isIdle: Bool {
        @inline(__always) get { !isBusy.load(ordering: .relaxed) }
    }

    /// Whether it is not idle; if so, the keeper is called when it is.
    ///
    /// Called when no traversal can post for the removed observer any more.
    override func isBusy(telling keeper: any MailboxKeeper) -> Bool {
        guard !isIdle else { return false }
        return state.withLock { state in
            guard state.phase != .idle else { return false }
            state.keepers.append(Keeper(object: keeper))
            return true
        }
    }

    /// Appends a value for an observer, and makes sure that it is delivered.
    ///
    /// If the caller is on the observer's actor, what waits and then this value are delivered in place. (Inside a drain
    /// they are left to that drain.) Values that other threads post meanwhile are not: they must not hold up the
    /// caller.
    func post(_ value: any Sendable, to observer: AnyEntry, drainingInPlace: Bool) {
        let (isFirst, position) = state.withLock { state in
            state.jobs.append(.delivery(value, to: observer))
            let position = state.leftover.count + state.jobs.count
            guard state.phase == .idle else { return (false, position) }
            state.phase = .waiting
            isBusy.store(true, ordering: .relaxed)
            return (!drainingInPlace && state.schedule(), position)
        }
        if drainingInPlace {
            drain(limit: position)
        } else if isFirst {
            destination.schedule(self)
        }
    }

    override func holdUp(_ settlement: Settlement) -> Bool {
        // A job behind those that wait, so that the caller goes on where they are delivered, and under no lock.
        state.withLock { state in
            guard state.phase != .idle else { return false }
            state.jobs.append(.settlement(settlement))
            return true
        }
    }

    /// For descriptions; the values that a drain has taken with the one of the call are not counted.
    var progress: String {
        let (isInCall, waiting) = state.withLock { state in
            let waiting = state.leftover.count { $0.isDelivery } + state.jobs.count { $0.isDelivery }
            return (state.phase == .delivering, waiting)
        }
        return Self.progress(isInCall: isInCall, waiting: waiting)
    }

    /// The drain that was scheduled.
    func drain() { drain(limit: Self.turn, isScheduled: true) }

    /// Delivers what waits, and what arrives meanwhile.
    ///
    /// Called on the observer's actor or queue.
    ///
    /// Does nothing inside a drain that is under way: what waits stays queued behind the values that that drain has
    /// taken.
    ///
    /// - Parameters:
    ///   - limit: The number of deliveries after which it leaves the rest to another drain, to let other work onto the
    ///     actor or queue.
    ///   - isScheduled: Whether it is the drain that was on its way.
    private func drain(limit: Int, isScheduled: Bool = false) {
        // The batch is reversed and taken from its end, so that each job is released when it is done.
        var batch: [Job] = []
        var left = limit
        let isMine = state.withLock { state in
            if isScheduled { state.isScheduled = false }
            guard state.phase == .waiting else { return false }
            state.phase = .delivering
            swap(&batch, &state.leftover)
            return true
        }
        guard isMine else { return }
        var room: [Job] = []
        var keepers: [Keeper] = []
        while true {
            while left > 0, let job = batch.popLast() {
                CallOut.assertNoLockIsHeld()
                job.make()
                left -= 1
            }
            let (phase, isToSchedule) = state.withLock { state in
                if !batch.isEmpty {
                    swap(&batch, &state.leftover)
                    state.phase = .waiting
                    return (state.phase, state.schedule())
                } else if state.jobs.isEmpty {
                    state.phase = .idle
                    isBusy.store(false, ordering: .relaxed)
                    swap(&keepers, &state.keepers)
                    if state.jobs.capacity > Self.keptRoom { swap(&room, &state.jobs) }
                } else {
                    // Where few come after a burst, its room goes, too.
                    if batch.capacity > max(Self.keptRoom, 4 * state.jobs.count) { swap(&room, &batch) }
                    swap(&batch, &state.jobs)
                }
                return (state.phase, false)
            }
            switch phase {
            case .idle:
                // After unlocking.
                for keeper in keepers { keeper.object?.hasSettled(self) }
                return
            case .waiting:
                if isToSchedule { destination.schedule(self, again: true) }
                return
            case .delivering:
                room = []
                batch.reverse()
            }
        }
    }
}

/// A registry that keeps the mailbox of a removed observer until it is idle.
protocol MailboxKeeper: AnyObject, Sendable {
    func hasSettled(_ mailbox: Mailbox)
}

/// What waits in a mailbox.
///
/// The value is stored in the three words of an existential, so that a small one needs no allocation. The type is not
/// generic, since the runtime would have to look up a generic type for each value.
private enum Job: Sendable {
    /// A value; `deliverEnqueued` checks whether the observer may still receive it.
    case delivery(any Sendable, to: AnyEntry)
    /// A caller of `settled()`, which waits for the jobs in front of this one.
    case settlement(Settlement)

    var isDelivery: Bool {
        if case .delivery = self { true } else { false }
    }

    func make() {
        switch self {
        case .delivery(let value, let observer): observer.deliverEnqueued(value)
        case .settlement(let settlement): settlement.leave()
        }
    }
}
