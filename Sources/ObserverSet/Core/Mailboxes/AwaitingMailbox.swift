import Synchronization

/// The values that wait for one observer that awaits: first in, first out, one call at a time.
///
/// While there is something to deliver, one task delivers it, on the observer's actor: it takes a value, calls the observer,
/// awaits the end of the call, suspensions included, and takes the next. Another task takes over when it has had its turn,
/// if what waits needs another priority, or after a call that was cancelled. An idle mailbox has no task, and holds
/// nothing of the user's.
///
/// If all values are kept, the task holds the actor from the moment a value is posted until nothing is left. If values may be
/// dropped anyway, it holds the actor only for each call: otherwise an actor that is never idle would never go.
final class AwaitingMailbox: Mailbox, @unchecked Sendable {
    /// A task that delivers; guarded by the lock of the state.
    private final class Worker: @unchecked Sendable {
        let urgency: Urgency
        var isCancelled = false
        var task: Task<Void, Never>?

        init(_ urgency: Urgency) {
            self.urgency = urgency
        }
    }

    /// A task's next step.
    private enum Step: Sendable {
        case call(AwaitingJob)
        case drop(AwaitingJob)
        case resume([SettledWait])
        /// Leaves the rest to a new task of that urgency.
        case handOver(Urgency)
        case end
    }

    private struct State: Sendable {
        var jobs = AwaitingJobs()
        /// The value with which the observer is being called, or that is being dropped, while a task holds it.
        ///
        /// Not the value itself: when it is no longer noted as called, nothing holds it, or its observer.
        var called: (number: UInt64, registration: UInt, isCancellable: Bool)?
        /// The task that delivers; nil if none has begun.
        var worker: Worker?
        var drains = Drains()

        /// Whether a task has to be sent for that urgency: none is on its way, or delivers, which hands over to the next by
        /// itself.
        func needsTask(_ urgency: Urgency) -> Bool { worker == nil && drains.isNeeded(for: urgency) }

        /// Notes that a task is sent, and returns true, unless none has to be.
        mutating func claimTask(_ urgency: Urgency) -> Bool { worker == nil && drains.claim(urgency) }

        /// Removes and returns the waiters in front of which nothing is left, neither a value nor a call.
        mutating func takeFreeWaiters() -> [SettledWait] { called == nil ? jobs.takeWaiters() : [] }

        /// Whether the caller is inside the call in progress, or in a task that was started there.
        func isCaller(in mailbox: Mailbox) -> Bool {
            guard let called, let call = AwaitingJobs.currentCall else { return false }
            return call.number == called.number && call.mailbox === mailbox
        }

        /// Cancels the call in progress, unless it must not be, or the caller is in it; returns the task that is to be
        /// cancelled after unlocking.
        func cancelCall(in mailbox: Mailbox) -> Task<Void, Never>? {
            guard called?.isCancellable == true, !isCaller(in: mailbox) else { return nil }
            worker?.isCancelled = true
            return worker?.task
        }

        /// What the task does next, at first or after a step; if its turn is over, it lets other work onto the actor.
        mutating func step(_ worker: Worker, isOver: Bool) -> Step {
            guard self.worker === worker || begin(worker) else { return .end }
            called = nil
            let waiters = jobs.takeWaiters()
            if !waiters.isEmpty { return .resume(waiters) }
            if !isOver, !worker.isCancelled, jobs.urgency == worker.urgency {
                let job = jobs.removeFirst()
                // Nothing cancels the only call of an observer that is called once.
                called = (job.number, job.registration.identity, !job.registration.isCalledOnce)
                return job.registration.isActive ? .call(job) : .drop(job)
            }
            self.worker = nil
            drains.end()
            guard let urgency = jobs.urgency, claimTask(urgency) else { return .end }
            return .handOver(urgency)
        }

        /// Makes it the task that delivers, now that it has arrived; false if there is one already.
        private mutating func begin(_ worker: Worker) -> Bool {
            guard drains.begin(worker.urgency) else { return false }
            self.worker = worker
            return true
        }
    }

    private let actorType: (any Actor.Type)?
    private let buffering: Buffering
    private let state = Lock(State())

    init(on actor: (any Actor)?, _ buffering: Buffering) {
        actorType = actor.map { type(of: $0) }
        self.buffering = buffering
        super.init(of: actor)
    }

    override var description: String { "\(actorType.map { "\($0)" } ?? "no actor"), awaited" }

    /// Whether a task must hold the actor as long as values wait.
    private var holdsActor: Bool { buffering == .unbounded && !isMain && actorType != nil }
    /// Whether a task must let the actor go between two calls.
    private var releasesActor: Bool { buffering != .unbounded && !isMain && actorType != nil }

    // MARK: Posting and removing

    /// Appends a value for an observer, and makes sure that it is delivered.
    func post(_ value: any Sendable, to registration: Recipient, _ urgency: Urgency) {
        post(AwaitingJob(value, to: registration, urgency), holding: nil, isHeld: !holdsActor)
    }

    private func post(_ job: AwaitingJob, holding actor: (any Actor)?, isHeld: Bool) {
        var dropped: AwaitingJob?
        var cancelled: Task<Void, Never>?
        var settled: [SettledWait] = []
        let isToSend = state.withLock { state -> Bool? in
            // Under the lock: a value that is posted after `end` must not wait behind a call that was cancelled.
            guard job.registration.isActive else { return false }
            // When a task is sent, others rely on it, and may let the actor go: the caller must hold it by then.
            if !isHeld, state.needsTask(job.urgency) { return nil }
            if let room = buffering.room, state.jobs.values >= room {
                if case .oldest = buffering {
                    job.registration.noteDropped()
                    return false
                }
                dropped = state.jobs.removeFirst()
                dropped?.registration.noteDropped()
                settled = state.takeFreeWaiters()
            }
            if buffering == .latest { cancelled = state.cancelCall(in: self) }
            state.jobs.append(job)
            return state.claimTask(job.urgency)
        }
        guard let isToSend else { return post(job, holding: self.actor, isHeld: true) }
        if isToSend { send(job.urgency, to: actor) }
        cancelled?.cancel()
        settled.leave()
        // Released here, and not under the lock.
        withExtendedLifetime((job, dropped)) {}
    }

    /// Drops what waits for a removed observer, and cancels its call; but not if it is the call itself that removes the
    /// observer.
    func dropAll(for registration: Recipient) {
        var settled: [SettledWait] = []
        var dropped: [AwaitingJob] = []
        let task = state.withLock { state -> Task<Void, Never>? in
            dropped = state.jobs.remove(for: registration)
            // They may have been all that was left in front of a waiter.
            settled = state.takeFreeWaiters()
            return state.called?.registration == registration.identity ? state.cancelCall(in: self) : nil
        }
        task?.cancel()
        settled.leave()
        // Released here, and not under the lock.
        dropped.removeAll()
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        let urgency = Urgency.current
        // Before a task is claimed, as for a value.
        let actor = holdsActor ? actor : nil
        let (isHeldUp, isToSend) = state.withLock { state in
            // An observer that waited for its own call would wait for ever.
            guard state.called != nil || state.jobs.values > 0, !state.isCaller(in: self) else { return (false, false) }
            state.jobs.append(settledWait, urgency)
            return (true, state.claimTask(urgency))
        }
        if isToSend { send(urgency, to: actor) }
        return isHeldUp
    }

    override var isIdle: Bool { state.withLock { state in state.worker == nil && state.jobs.values == 0 } }

    func isCalling(_ registration: Recipient) -> Bool {
        state.withLock { $0.called?.registration == registration.identity }
    }

    // MARK: Delivering

    private func send(_ urgency: Urgency, to actor: (any Actor)?) {
        let worker = Worker(urgency)
        // Under the lock, which the task takes before its first call: no call begins that cannot be cancelled yet.
        state.withLock { _ in
            // Detached, so that the observer does not see the task-local values of whoever happened to start it.
            worker.task = Task.detached(priority: urgency.priority) { await self.deliver(worker, holding: actor) }
        }
    }

    private func deliver(_ worker: Worker, holding actor: (any Actor)?) async {
        // What is not held is loaded each time.
        while await deliver(worker, on: holdsActor ? actor : self.actor) {}
    }

    /// Delivers on the actor for one turn; returns true if the actor must be let go before the next call, and false at the end.
    private func deliver(_ worker: Worker, on actor: isolated (any Actor)?) async -> Bool {
        var turn = Turn()
        // Each task that begins makes at least one step.
        var isOver = false
        while true {
            switch state.withLock({ $0.step(worker, isOver: isOver) }) {
            case .call(let job):
                LockCheck.assertNoLockIsHeld()
                // Captures `actor`, and so stays on it. A closure that does not would leave the main actor for each call,
                // and come back to it: two changes of thread.
                await AwaitingJobs.$currentCall.withValue((self, job.number)) {
                    await job.registration.receive(job.value, on: actor)
                }
                if releasesActor { return true }
            case .drop:
                break
            case .resume(let waiters):
                waiters.leave()
            case .handOver(let urgency):
                send(urgency, to: holdsActor ? actor : nil)
                return false
            case .end:
                return false
            }
            isOver = turn.isOver()
        }
    }
}
