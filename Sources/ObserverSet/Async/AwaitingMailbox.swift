/// What has been notified to one observer that awaits, and not yet delivered: first in, first out, one call at a time.
///
/// While there is something to deliver, one task delivers it: it takes a value, calls the observer, awaits the end of
/// the call, suspensions included, and takes the next. A new task takes over if the next call needs another priority,
/// or after a call that was cancelled. An idle mailbox has no task, and holds nothing of the user's except the
/// observer's actor.
final class AwaitingMailbox: AnyMailbox, @unchecked Sendable {
    private struct State: Sendable {
        var jobs = AwaitingJobs()
        /// The value with which the observer is being called.
        var called: AwaitingJob?
        /// Whether the task was cancelled, and with it the call that is under way.
        var isCancelled = false
        /// The task; stored before its first call, so that `end` can cancel the call.
        var task: Task<Void, Never>?
        /// The task's continuation, if it began before it was stored in `task`, and waits for that.
        ///
        /// An array, since the layout of a continuation, and so of an optional one, is known only at run time.
        var earlyStart: [CheckedContinuation<Void, Never>] = []
        /// That of the task; see `AwaitingJob.priority`.
        var priority = TaskPriority.medium.rawValue

        /// Whether no call is under way, or only one that was cancelled, whose end no caller of `settled()` waits for.
        var isFree: Bool { called == nil || isCancelled }

        /// Removes and returns the waiters in front of which nothing is left.
        mutating func takeFreeWaiters() -> [Settlement] {
            isFree ? jobs.takeWaiters() : []
        }
    }

    /// What the task does next.
    private enum Step: Sendable {
        case call(AwaitingJob)
        case drop(AwaitingJob)
        case resume([Settlement])
        /// Makes a new task of that priority for the rest, and ends.
        case handOn(UInt8)
        /// Waits until it is stored in `State.task`.
        case wait
        case end
    }

    /// The observer's actor, on which its owner is loaded and from which it is called.
    ///
    /// Nil if it has none, or if a task must not keep that actor alive between two calls.
    private let actor: (any Actor)?
    private let buffering: Buffering
    private let state = Lock(State())
    // With a lock of its own, so that a notifier seldom meets the task: taken alone, or inside that of `state`.
    private let inbox = Lock(AwaitingInbox())

    /// The number of steps after which a task yields, to let other work onto the actor.
    private static var turn: Int { 1_000 }

    init(on actor: (any Actor)?, _ buffering: Buffering) {
        self.actor = actor
        self.buffering = buffering
    }

    // MARK: Posting and removing

    /// Appends a value for an observer, and makes sure that it is delivered.
    func post(_ value: any Sendable, to observer: any AwaitedObserver) {
        let job = AwaitingJob(value: value, observer: observer, priority: Self.priority)
        var settled: [Settlement] = []
        var dropped: AwaitingJob?
        // Checked under the lock: a value that is posted after `end` must not wait behind a call that was cancelled.
        let isFirst =
            if let room = buffering.room {
                withAll { state, inbox in
                    guard observer.isActive else { return false }
                    if state.jobs.values >= room {
                        if case .oldest = buffering {
                            observer.noteDropped()
                            return false
                        }
                        dropped = state.jobs.removeFirst()
                        dropped?.observer.noteDropped()
                        settled = state.takeFreeWaiters()
                    }
                    return inbox.append(job)
                }
            } else {
                inbox.withLock { observer.isActive && $0.append(job) }
            }
        if isFirst { makeTask(job.priority) }
        settled.leave()
        // Released here, and not under the lock.
        withExtendedLifetime((job, dropped)) {}
    }

    /// Gives access to everything that waits.
    private func withAll<Result: Sendable>(_ body: (inout State, inout AwaitingInbox) -> Result) -> Result {
        state.withLock { state in
            inbox.withLock { inbox in
                state.jobs.take(from: &inbox)
                return body(&state, &inbox)
            }
        }
    }

    /// The priority of the notifying task; a thread outside tasks may have none.
    private static var priority: UInt8 {
        let priority = Task.currentPriority.rawValue
        return priority == 0 ? TaskPriority.medium.rawValue : priority
    }

    /// Drops what waits for a removed observer, and cancels its call, for whose end nothing waits any longer.
    func end(_ observer: any AwaitedObserver) {
        var settled: [Settlement] = []
        var dropped: [AwaitingJob] = []
        let task = withAll { state, _ -> Task<Void, Never>? in
            dropped = state.jobs.remove(for: observer)
            let isCalled = state.called?.observer === observer
            if isCalled { state.isCancelled = true }
            // Not only if this observer is being called: the call in progress may be a cancelled one of another
            // registration, and the dropped values may have been all that was left in front of a waiter.
            settled = state.takeFreeWaiters()
            return isCalled ? state.task : nil
        }
        task?.cancel()
        settled.leave()
        // Released here, and not under the lock.
        dropped.removeAll()
    }

    override func holdUp(_ settlement: Settlement) -> Bool {
        let caller = AwaitingCall.number
        return withAll { state, _ in
            // An observer that waited for its own call would wait for ever.
            guard caller == 0 || state.called?.number != caller, !(state.isFree && state.jobs.isEmpty) else {
                return false
            }
            state.jobs.append(settlement)
            return true
        }
    }

    func progress(of observer: any AwaitedObserver) -> String {
        let (isCalled, waiting) = withAll { state, _ in (state.called?.observer === observer, state.jobs.values) }
        return Self.progress(isInCall: isCalled, waiting: waiting)
    }

    // MARK: Delivering

    private func makeTask(_ priority: UInt8) {
        let taskPriority = TaskPriority(rawValue: priority)
        let task = AwaitingCall.outside { Task(priority: taskPriority) { await deliver(on: actor) } }
        var earlyStart: [CheckedContinuation<Void, Never>] = []
        state.withLock { state in
            state.task = task
            state.priority = priority
            swap(&earlyStart, &state.earlyStart)
        }
        for continuation in earlyStart { continuation.resume() }
    }

    private func waitUntilStored(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isStored = state.withLock { state in
                guard state.task == nil else { return true }
                state.earlyStart = [continuation]
                return false
            }
            if isStored { continuation.resume() }
        }
    }

    private func deliver(on actor: isolated (any Actor)?) async {
        var left = Self.turn
        while true {
            switch next() {
            case .call(let job):
                CallOut.assertNoLockIsHeld()
                // Captures `actor`, and so stays on it. A closure that does not would leave the main actor for each call,
                // and come back to it: two changes of thread.
                await AwaitingCall.$number.withValue(job.number) {
                    await job.observer.call(job, on: job.observer.actor ?? actor)
                }
            case .drop:
                break
            case .resume(let settlements):
                settlements.leave()
            case .handOn(let priority):
                return makeTask(priority)
            case .wait:
                await waitUntilStored()
            case .end:
                return
            }
            left -= 1
            if left == 0 {
                await Task.yield()
                left = Self.turn
            }
        }
    }

    /// Decides what the task does next, at first or after a step.
    private func next() -> Step {
        let (last, step) = state.withLock { state -> (AwaitingJob?, Step) in
            guard state.task != nil else { return (nil, .wait) }
            let last = state.called.take()
            let waiters = state.takeFreeWaiters()
            if !waiters.isEmpty { return (last, .resume(waiters)) }
            if state.jobs.values == 0 {
                inbox.withLock { inbox in
                    state.jobs.take(from: &inbox)
                    if state.jobs.values == 0 { inbox.becomeIdle() }
                }
            }
            let first = state.jobs.first
            guard let job = first, !state.isCancelled, job.priority == state.priority else {
                state.isCancelled = false
                state.task = nil
                return (last, first.map { .handOn($0.priority) } ?? .end)
            }
            _ = state.jobs.removeFirst()
            guard job.observer.isActive else { return (last, .drop(job)) }
            state.called = job
            return (last, .call(job))
        }
        // Released here, and not under the lock.
        withExtendedLifetime(last) {}
        return step
    }
}
