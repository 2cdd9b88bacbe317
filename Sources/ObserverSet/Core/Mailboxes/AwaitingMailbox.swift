import Synchronization

/// The values that wait for one observer that awaits: first in, first out, one call at a time.
///
/// While there is something to deliver, one task delivers it, on the observer's actor: it takes a value, calls the observer,
/// awaits the end of the call, suspensions included, and takes the next. Another task takes over when it has had its turn,
/// if what waits needs another priority, or after a call that was cancelled. An idle mailbox has no task, and holds
/// nothing of the user's.
final class AwaitingMailbox: Mailbox, @unchecked Sendable {
    private struct State: Sendable {
        var jobs = AwaitingJobs()
        /// The value with which the observer is being called, or that is being dropped.
        var called: Called?
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

        /// Cancels the call in progress; returns the task that is to be cancelled after unlocking.
        mutating func cancelCall() -> Task<Void, Never>? {
            worker?.isCancelled = true
            return worker?.task
        }

        /// Takes the next value for the task; nil if there is none that it may deliver.
        mutating func goOn(_ worker: Worker) -> Step? {
            guard let urgency = jobs.urgency, urgency == worker.urgency, !worker.isCancelled else { return nil }
            let job = jobs.removeFirst()
            called = Called(job)
            return job.observer.isActive ? .call(job) : .drop(job)
        }

        /// Ends the task; another one delivers what is left, if anything is.
        mutating func finish() -> Step {
            worker = nil
            drains.end()
            guard let urgency = jobs.urgency, claimTask(urgency) else { return .end }
            return .handOver(urgency)
        }

        /// Whether the caller is inside the call in progress, or in a task that was started there.
        func isCaller(in mailbox: Mailbox) -> Bool {
            guard let called, let call = AwaitingCall.current else { return false }
            return call.number == called.number && call.mailbox === mailbox
        }
    }

    /// The state of a value that was taken out, while a task holds it.
    ///
    /// The value itself is not here: when it is no longer noted as called, nothing holds it, or its observer.
    private struct Called: Sendable {
        let number: UInt64
        /// Nothing cancels the call of an observer that is called once.
        let isCancellable: Bool
        private let observer: ObjectIdentifier

        init(_ job: AwaitingJob) {
            number = job.number
            isCancellable = !job.observer.isCalledOnce
            observer = ObjectIdentifier(job.observer)
        }

        func isOf(_ other: any AwaitedObserver) -> Bool { ObjectIdentifier(other) == observer }
    }

    /// A task that delivers; guarded by the lock of `State`.
    private final class Worker: @unchecked Sendable {
        let urgency: Urgency
        var isCancelled = false
        var task: Task<Void, Never>?

        init(_ urgency: Urgency) {
            self.urgency = urgency
        }
    }

    /// The task's next step.
    private enum Step: Sendable {
        case call(AwaitingJob)
        case drop(AwaitingJob)
        case resume([SettledWait])
        /// Leaves the rest to a new task of that urgency.
        case handOver(Urgency)
        case end
    }

    /// The observer's actor; a task keeps it alive, from the moment a value is posted until nothing is left.
    private let home: WeakActor
    private let actorType: (any Actor.Type)?
    private let buffering: Buffering
    private let state = Lock(State())

    init(on actor: (any Actor)?, _ buffering: Buffering) {
        home = WeakActor(actor)
        actorType = actor.map { type(of: $0) }
        self.buffering = buffering
        super.init(at: nil)
    }

    override var description: String { "\(actorType.map { "\($0)" } ?? "no actor"), awaited" }

    // MARK: Posting and removing

    /// Appends a value for an observer, and makes sure that it is delivered.
    func post(_ value: any Sendable, to observer: any AwaitedObserver, _ urgency: Urgency) {
        let actor = home.isMain ? home.actor : nil
        post(AwaitingJob(value, to: observer, urgency), holding: actor, isHeld: home.isMain || actorType == nil)
    }

    private func post(_ job: AwaitingJob, holding actor: (any Actor)?, isHeld: Bool) {
        guard let posted = append(job, isHeld: isHeld) else { return post(job, holding: home.actor, isHeld: true) }
        if posted.isToSend { send(job.urgency, to: actor) }
        posted.cancelled?.cancel()
        posted.settled.leave()
        // Released here, and not under the lock.
        withExtendedLifetime((job, posted.dropped)) {}
    }

    /// The steps that are left when a value has been posted, and the mailbox is unlocked.
    private struct Posted: Sendable {
        var isToSend = false
        var dropped: AwaitingJob?
        var cancelled: Task<Void, Never>?
        var settled: [SettledWait] = []
    }

    /// Appends a value; nil if a task has to be sent, and the caller does not hold the actor.
    ///
    /// From then on others rely on that task, and may let the actor go.
    private func append(_ job: AwaitingJob, isHeld: Bool) -> Posted? {
        state.withLock { state in
            var posted = Posted()
            // Under the lock: a value that is posted after `end` must not wait behind a call that was cancelled.
            guard job.observer.isActive else { return posted }
            if !isHeld, state.needsTask(job.urgency) { return nil }
            if let room = buffering.room, state.jobs.values >= room {
                if case .oldest = buffering {
                    job.observer.noteDropped()
                    return posted
                }
                posted.dropped = state.jobs.removeFirst()
                posted.dropped?.observer.noteDropped()
                posted.settled = state.takeFreeWaiters()
            }
            if buffering == .latest, state.called?.isCancellable == true, !state.isCaller(in: self) {
                posted.cancelled = state.cancelCall()
            }
            state.jobs.append(job)
            posted.isToSend = state.claimTask(job.urgency)
            return posted
        }
    }

    /// Drops what waits for a removed observer, and cancels its call; but not if it is the call itself that removes the
    /// observer.
    func end(_ observer: any AwaitedObserver) {
        var settled: [SettledWait] = []
        var dropped: [AwaitingJob] = []
        let task = state.withLock { state -> Task<Void, Never>? in
            dropped = state.jobs.remove(for: observer)
            // They may have been all that was left in front of a waiter.
            settled = state.takeFreeWaiters()
            guard let called = state.called, called.isOf(observer), called.isCancellable, !state.isCaller(in: self)
            else { return nil }
            return state.cancelCall()
        }
        task?.cancel()
        settled.leave()
        // Released here, and not under the lock.
        dropped.removeAll()
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        state.withLock { state in
            // An observer that waited for its own call would wait for ever.
            guard state.called != nil || state.jobs.values > 0, !state.isCaller(in: self) else { return false }
            state.jobs.append(settledWait)
            return true
        }
    }

    override var isIdle: Bool { state.withLock { state in state.worker == nil && state.jobs.values == 0 } }

    func isCalling(_ observer: any AwaitedObserver) -> Bool { state.withLock { $0.called?.isOf(observer) == true } }

    // MARK: Delivering

    private func send(_ urgency: Urgency, to actor: (any Actor)?) {
        let worker = Worker(urgency)
        // Under the lock, which the task takes before its first call: no call begins that cannot be cancelled yet.
        state.withLock { _ in
            // Detached, so that the observer does not see the task-local values of whoever happened to start it.
            worker.task = Task.detached(priority: urgency.priority) { await self.deliver(worker, on: actor) }
        }
    }

    private func deliver(_ worker: Worker, on actor: isolated (any Actor)?) async {
        guard begin(worker) else { return }
        var turn = Turn()
        while true {
            switch next(worker, turn.isOver()) {
            case .call(let job):
                LockCheck.assertNoLockIsHeld()
                // Captures `actor`, and so stays on it. A closure that does not would leave the main actor for each call,
                // and come back to it: two changes of thread.
                let call = AwaitingCall(mailbox: self, number: job.number)
                await AwaitingCall.$current.withValue(call) { await job.observer.call(job.value, on: actor) }
            case .drop:
                break
            case .resume(let settlements):
                settlements.leave()
            case .handOver(let urgency):
                return send(urgency, to: actor)
            case .end:
                return
            }
        }
    }

    /// Makes it the task that delivers; false if there is one already.
    private func begin(_ worker: Worker) -> Bool {
        state.withLock { state in
            guard state.drains.begin(worker.urgency) else { return false }
            state.worker = worker
            return true
        }
    }

    /// Decides what the task does next, at first or after a step; if its turn is over, it lets other work onto the actor.
    private func next(_ worker: Worker, _ isOver: Bool) -> Step {
        state.withLock { state in
            state.called = nil
            let waiters = state.jobs.takeWaiters()
            if !waiters.isEmpty { return .resume(waiters) }
            return (isOver ? nil : state.goOn(worker)) ?? state.finish()
        }
    }
}
