/// Keeps the values that are pending for one observer that awaits: first in, first out, one call at a time.
///
/// While anything is pending, one task delivers it on the observer's actor. It takes a value, calls the observer,
/// awaits the end of the call, suspensions included, and takes the next value. Another task takes over in three cases:
/// the task's turn is over, the remaining values need another priority, or a call was cancelled. An idle mailbox has no
/// task, and holds nothing that belongs to the user.
///
/// If all values are kept, the mailbox holds the actor from the moment a value is posted until nothing is left. If
/// values may be dropped anyway, the actor is held only during each call. Otherwise, an actor for which values keep
/// coming would never be released.
final class AwaitingMailbox: Mailbox, @unchecked Sendable {
    /// A task that delivers; guarded by the state's lock.
    private final class Worker: @unchecked Sendable {
        let urgency: Urgency
        var isCancelled = false
        var task: Task<Void, Never>?

        init(_ urgency: Urgency) { self.urgency = urgency }
    }

    /// A task's next step.
    private enum Step: Sendable {
        case call(AwaitingJob)
        case drop(AwaitingJob)
        case resumeWaiters([SettledWait])
        /// Leave the rest to a new task of that urgency.
        case handOver(Urgency)
        case end
    }

    private struct State: Sendable {
        var jobs = AwaitingJobs()
        /// The call in progress, or the value that is just being dropped, while a task holds the value.
        ///
        /// It has the value's number, and not the value itself. So when it is cleared, nothing holds the value or its
        /// observer any longer.
        var current: (number: UInt64, stateAddress: UInt, isCancellable: Bool)?
        /// The task that delivers; nil if none has begun.
        var worker: Worker?
        var drains = Drains()
        /// The actor, if it must be held because values are pending or a call is in progress.
        var actor: (any Actor)?

        /// Records that a task is started, and returns true; returns false if no task is needed.
        mutating func reserveDrain(_ urgency: Urgency) -> Bool { worker == nil && drains.reserve(urgency) }

        /// Removes and returns the waiters with nothing left in front of them, neither a value nor a call.
        mutating func takeUnblockedWaiters() -> [SettledWait] { current == nil ? jobs.takeWaiters() : [] }

        /// Whether the caller is inside the call in progress, or in a task that was started there.
        func isCaller(in mailbox: Mailbox) -> Bool {
            guard let current, let call = AwaitingJobs.currentCall else { return false }
            return call.number == current.number && call.mailbox === mailbox
        }

        /// Marks the call in progress as cancelled, unless it must not be cancelled, or the caller is in it.
        ///
        /// Returns the task that the caller must cancel after unlocking.
        func cancelCall(in mailbox: Mailbox) -> Task<Void, Never>? {
            guard current?.isCancellable == true, !isCaller(in: mailbox) else { return nil }
            worker?.isCancelled = true
            return worker?.task
        }

        /// Chooses the task's next step, both at first and after each step.
        ///
        /// If its turn is over, the task lets other work onto the actor.
        mutating func step(_ worker: Worker, isOver: Bool) -> Step {
            guard self.worker === worker || begin(worker) else { return .end }
            current = nil
            let waiters = jobs.takeWaiters()
            if !waiters.isEmpty { return .resumeWaiters(waiters) }
            if !isOver, !worker.isCancelled, jobs.urgency == worker.urgency {
                let job = jobs.removeFirst()
                // The only call of an observer that is called once is never cancelled.
                current = (job.number, job.recipient.stateAddress, !job.recipient.isCalledOnce)
                return job.recipient.isActive ? .call(job) : .drop(job)
            }
            self.worker = nil
            drains.end()
            if let urgency = jobs.urgency { return reserveDrain(urgency) ? .handOver(urgency) : .end }
            // This isn't the last reference, because the task runs on the actor.
            actor = nil
            return .end
        }

        /// Checks what holds whenever the lock is free, in builds for which `LockCheck.isEnabled` is true.
        func checkInvariants() {
            guard LockCheck.isEnabled else { return }
            precondition((worker == nil) == (drains.running == nil))
            precondition(worker != nil || current == nil)
            // Nothing is forgotten: a task delivers, or is on its way. If there is nothing, no actor is held.
            precondition(worker != nil || (jobs.urgency == nil ? actor == nil : !drains.isNeeded(for: .lowest)))
            jobs.checkInvariants()
        }

        /// Makes a task that has arrived the one that delivers; returns false if another one is delivering.
        private mutating func begin(_ worker: Worker) -> Bool {
            guard drains.beginIfNoneIsRunning(worker.urgency) else { return false }
            self.worker = worker
            return true
        }
    }

    /// The actor's type, which is known even when the actor is gone; nil if there is no actor.
    private let actorType: (any Actor.Type)?
    private let buffering: Buffering
    private let state = Lock(State())

    init(on actor: (any Actor)?, _ buffering: Buffering) {
        actorType = actor.map { type(of: $0) }
        self.buffering = buffering
        super.init(of: actor)
    }

    override var description: String { "\(actorType.map { "\($0)" } ?? "no actor"), awaited" }

    /// Whether the actor must be held as long as values are pending.
    private var holdsActor: Bool { buffering == .unbounded && !isMain && actorType != nil }
    /// Whether a task must release the actor between two calls.
    private var releasesActor: Bool { buffering != .unbounded && !isMain && actorType != nil }

    private func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { state in
            defer { state.checkInvariants() }
            return body(&state)
        }
    }

    // MARK: Posting and removing

    /// Appends a value for an observer, and makes sure that it will be delivered.
    func post(_ value: any Sendable, to recipient: Registration, _ urgency: Urgency) {
        // If the actor must be held, this loads it without the lock, and posts once more.
        post(AwaitingJob(value, to: recipient, urgency), holding: nil, isActorLoaded: !holdsActor)
    }

    private func post(_ job: AwaitingJob, holding actor: (any Actor)?, isActorLoaded: Bool) {
        var dropped: AwaitingJob?
        var cancelled: Task<Void, Never>?
        var unblocked: [SettledWait] = []
        let mustStart = withState { state -> Bool? in
            // This is checked under the lock, because a value that is posted after `dropRemoved` must not wait behind
            // a call that was cancelled.
            guard job.recipient.isActive else { return false }
            // The actor is loaded without the lock, when the first of several values is posted.
            if state.actor == nil {
                guard isActorLoaded else { return nil }
                state.actor = actor
            }
            if let room = buffering.room, state.jobs.values >= room {
                if case .oldest = buffering {
                    job.recipient.noteDropped()
                    return false
                }
                dropped = state.jobs.removeFirst()
                dropped?.recipient.noteDropped()
                unblocked = state.takeUnblockedWaiters()
            }
            if buffering == .latest { cancelled = state.cancelCall(in: self) }
            state.jobs.append(job)
            return state.reserveDrain(job.urgency)
        }
        guard let mustStart else { return post(job, holding: self.actor, isActorLoaded: true) }
        if mustStart { startDrain(job.urgency) }
        cancelled?.cancel()
        unblocked.countDown()
        // They are released here, and not under the lock.
        withExtendedLifetime((job, dropped)) {}
    }

    /// Drops the values of all registrations that have been removed, and cancels the call in progress if its value was
    /// sent to `recipient`, unless that call itself removes it.
    func dropRemoved(cancellingCallOf recipient: Registration) {
        var unblocked: [SettledWait] = []
        var dropped: [AwaitingJob] = []
        var unheld: (any Actor)?
        let task = withState { state -> Task<Void, Never>? in
            dropped = state.jobs.removeEnded()
            if state.worker == nil, state.jobs.values == 0 { unheld = state.actor.take() }
            // These values may have been all that was left in front of a waiter.
            unblocked = state.takeUnblockedWaiters()
            return state.current?.stateAddress == recipient.stateAddress ? state.cancelCall(in: self) : nil
        }
        task?.cancel()
        unblocked.countDown()
        // They are released here, and not under the lock.
        withExtendedLifetime((dropped, unheld)) {}
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        let urgency = Urgency.current
        let (mustWait, mustStart) = withState { state in
            // An observer that waited for its own call would wait forever.
            guard state.current != nil || state.jobs.values > 0, !state.isCaller(in: self) else {
                return (false, false)
            }
            state.jobs.append(settledWait, urgency)
            return (true, state.reserveDrain(urgency))
        }
        if mustStart { startDrain(urgency) }
        return mustWait
    }

    override var isIdle: Bool { withState { state in state.worker == nil && state.jobs.values == 0 } }

    /// Whether the task holds a value for this registration: its call is in progress, or it is just being dropped.
    func isBusy(with recipient: Registration) -> Bool {
        withState { $0.current?.stateAddress == recipient.stateAddress }
    }

    // MARK: Delivering

    private func startDrain(_ urgency: Urgency) {
        let worker = Worker(urgency)
        // No lock is held here, because an executor, which may be user code, enqueues the task. The task is detached,
        // because the observer must not see the task-local values of the notifier that happened to start it.
        let task = Task.detached(priority: urgency.priority) { while await self.drain(worker, on: self.actor) {} }
        // The task's call may have begun, and may have been cancelled, before the task is stored.
        let isCancelled = withState { _ in
            worker.task = task
            return worker.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    /// Delivers on the actor for one turn at most; returns true after a call if the actor must be released before the
    /// next one, and false if this drain has ended, because nothing is left or another one has taken over.
    private func drain(_ worker: Worker, on actor: isolated (any Actor)?) async -> Bool {
        var turn = Turn()
        // This is false at first, so that each task that begins makes at least one step.
        var isOver = false
        while true {
            switch withState({ $0.step(worker, isOver: isOver) }) {
            case .call(let job):
                LockCheck.assertNoLockIsHeld()
                // This closure captures `actor`, and so it stays on the actor. A closure that doesn't would leave the
                // main actor for each call, and come back to it, which takes two changes of thread.
                await AwaitingJobs.$currentCall.withValue((self, job.number)) {
                    await job.recipient.innermost.deliver(job.value, for: job.recipient, on: actor)
                }
                // The call may have cancelled its own task, which must not make the next calls.
                if Task.isCancelled { withState { _ in worker.isCancelled = true } }
                if releasesActor { return true }
            case .drop:
                break
            case .resumeWaiters(let waiters):
                waiters.countDown()
            case .handOver(let urgency):
                startDrain(urgency)
                return false
            case .end:
                return false
            }
            isOver = turn.isOver()
        }
    }
}
