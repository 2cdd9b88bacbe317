import Synchronization

/// Where values wait for an observer.
class AnyMailbox: @unchecked Sendable {
    /// Waits until what has been enqueued so far has been delivered or dropped.
    func settled() async { fatalError("abstract") }

    /// Whether there is something to wait for after its observer has been removed; then the keeper will be told of the end.
    func isBusy(telling keeper: any MailboxKeeper) -> Bool { false }
}

/// What has been notified to one observer and not yet delivered: first in, first out, one delivery at a time.
///
/// Only the observer's own actor or queue takes from it (or, if the owner that was the actor is dead, whoever finds
/// that). Idle, it holds nothing of the user's but where it is drained.
final class Mailbox: AnyMailbox, @unchecked Sendable {
    private struct State: Sendable {
        /// What a drain left when its turn was over, last first; then what came after it, first first.
        var rest: [Job] = []
        var jobs: [Job] = []
        var phase = Phase.idle
        /// Those who keep it until it is idle, and are told then.
        var keepers: [Keeper] = []
    }

    /// Whose turn it is to deliver.
    private enum Phase: Sendable {
        /// Nobody's: there is nothing to deliver.
        case idle
        /// That of a job that is on its way to the observer's actor or queue.
        case scheduled
        /// That of a `drain` that is under way there.
        case delivering
    }

    /// Weak: nobody need live because something is still enqueued.
    private struct Keeper: Sendable {
        weak let object: (any MailboxKeeper)?
    }

    private let destination: Destination
    private let state = Lock(State())
    /// Whether `state.phase` is not idle.
    ///
    /// Stored under the lock.
    private let isBusy = Atomic<Bool>(false)

    /// How many jobs there is room for in an idle mailbox; what a burst took beyond goes with it.
    private static let keptRoom = 32
    /// How many deliveries a drain makes before it lets others onto the actor or queue.
    private static let turn = 1_000

    init(_ destination: Destination) {
        self.destination = destination
    }

    /// Whether all that was posted has been delivered or dropped.
    ///
    /// Relaxed is enough to keep promise 7: a thread sees its own posts, and what it learned of another thread's
    /// through any synchronisation; a notification that knows of no earlier one may go first. The other way, a drain
    /// that has ended did so on the observer's actor, on which the caller that relies on it now is. A removed
    /// observer's mailbox is asked when no notification can post any more, and those that posted have been seen to leave.
    var isIdle: Bool {
        @inline(__always) get { !isBusy.load(ordering: .relaxed) }
    }

    /// Whether it is not idle; then whoever keeps it until it is will be told.
    ///
    /// Called when the observer's registration can post no more.
    override func isBusy(telling keeper: any MailboxKeeper) -> Bool {
        guard !isIdle else { return false }
        return state.withLock { state in
            guard state.phase != .idle else { return false }
            state.keepers.append(Keeper(object: keeper))
            return true
        }
    }

    /// Puts a value for an observer at the end, and sees to it that it is delivered.
    ///
    /// In place, with what waits before it, if the caller is where the observer belongs. (Inside a drain, that drain comes to
    /// it.) What others post meanwhile must not keep the caller there.
    func post(_ value: any Sendable, to observer: AnyEntry, drainingInPlace: Bool) {
        let (isFirst, position) = state.withLock { state in
            state.jobs.append(.delivery(value, to: observer))
            let position = state.rest.count + state.jobs.count
            guard state.phase == .idle else { return (false, position) }
            state.phase = .scheduled
            isBusy.store(true, ordering: .relaxed)
            return (true, position)
        }
        if drainingInPlace {
            drain(limit: position)
        } else if isFirst {
            destination.schedule(self)
        }
    }

    /// Returns when everything that was posted before the call has been delivered or dropped.
    override func settled() async {
        await withCheckedContinuation { continuation in
            // A job of its own, behind what is there: it is resumed where that is delivered, and under no lock.
            let isWaiting = state.withLock { state in
                guard state.phase != .idle else { return false }
                state.jobs.append(.resumption(continuation))
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    /// Delivers what is there, and what comes meanwhile.
    ///
    /// On the observer's actor or queue.
    ///
    /// Called inside a drain that is under way it does nothing: what is there stays queued behind what that drain
    /// holds.
    ///
    /// - Parameter limit: The number of deliveries after which it leaves the rest to another drain, to let others onto the
    ///   actor or queue.
    func drain(limit: Int = turn) {
        // The batch is reversed and taken from the end, so that each job is released when it is done.
        var batch: [Job] = []
        var left = limit
        let isMine = state.withLock { state in
            guard state.phase == .scheduled else { return false }
            state.phase = .delivering
            swap(&batch, &state.rest)
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
            let phase = state.withLock { state in
                if !batch.isEmpty {
                    swap(&batch, &state.rest)
                    state.phase = .scheduled
                } else if state.jobs.isEmpty {
                    state.phase = .idle
                    isBusy.store(false, ordering: .relaxed)
                    swap(&keepers, &state.keepers)
                    if state.jobs.capacity > Self.keptRoom { swap(&room, &state.jobs) }
                } else {
                    swap(&batch, &state.jobs)
                }
                return state.phase
            }
            switch phase {
            case .idle:
                // When the lock is free again.
                for keeper in keepers { keeper.object?.hasSettled(self) }
                return
            case .scheduled:
                return destination.schedule(self, again: true)
            case .delivering:
                batch.reverse()
            }
        }
    }
}

/// What keeps the mailbox of a removed observer until it is idle.
protocol MailboxKeeper: AnyObject, Sendable {
    func hasSettled(_ mailbox: Mailbox)
}

/// What waits in a mailbox.
///
/// The value in the three words of an existential, so that a small one needs no allocation. Not a generic structure, whose
/// type the runtime would have to look up for each value.
private enum Job: Sendable {
    /// Looks for itself whether the observer still wants it.
    case delivery(any Sendable, to: AnyEntry)
    /// Whoever waits for what is in front of it.
    case resumption(CheckedContinuation<Void, Never>)

    func make() {
        switch self {
        case .delivery(let value, let observer): observer.deliverEnqueued(value)
        case .resumption(let continuation): continuation.resume()
        }
    }
}
