/// What has been notified to one observer that awaits, and not yet delivered: first in, first out, one call at a time.
///
/// While there is something to deliver, one task does: it takes a value, calls the observer and awaits the end of the call,
/// across its suspensions, and takes the next. A fresh task takes its place where the next call needs another priority, and
/// after a call that was cancelled. Idle, a mailbox has no task, and holds nothing of the user's.
final class AwaitingMailbox: AnyMailbox, @unchecked Sendable {
    private struct State: Sendable {
        var jobs = AwaitingJobs()
        /// Whether a task delivers, or is to be made.
        var isBusy = false
        /// What the observer is being called with.
        var called: AwaitingJob?
        /// Whether the task has been cancelled, with the call that is under way.
        var isCancelled = false
        /// The task, from before its first call on, so that whoever ends a call has something to cancel.
        var task: Task<Void, Never>?
        /// That task, if it has begun, and waits until it is known here.
        var unknown: CheckedContinuation<Void, Never>?
        var priority = TaskPriority.medium

        /// A task of that priority is to be made.
        mutating func start(_ priority: TaskPriority) {
            isBusy = true
            isCancelled = false
            task = nil
            self.priority = priority
        }

        /// Whether no call is under way that anybody waits for.
        var isFree: Bool { called == nil || isCancelled }

        /// Takes those who wait for nothing any more: the values before them have been dropped.
        mutating func takeFreeWaiters() -> [CheckedContinuation<Void, Never>] {
            var waiters: [CheckedContinuation<Void, Never>] = []
            while isFree, let waiter = jobs.takeWaiter() { waiters.append(waiter) }
            return waiters
        }
    }

    /// What the task does next.
    private enum Step: Sendable {
        case call(AwaitingJob)
        case drop(AwaitingJob)
        case resume(CheckedContinuation<Void, Never>)
        /// Leaves the rest to a task of its own.
        case handOn(TaskPriority)
        /// Waits until it is known.
        case wait
        case end
    }

    /// The observer's actor, on which its owner is loaded and from which it is called; nil if it has none, or if a task must
    /// not keep that alive between two calls.
    private let actor: (any Actor)?
    private let buffering: Buffering
    private let state = Lock(State())

    /// How many calls a task makes before it lets others onto the actor.
    private static var turn: Int { 1_000 }

    init(on actor: (any Actor)?, _ buffering: Buffering) {
        self.actor = actor
        self.buffering = buffering
    }

    // MARK: Coming in

    /// Puts a value for an observer at the end, and sees to it that it is delivered.
    func post(_ value: any Sendable, to observer: any AwaitedObserver) {
        let job = AwaitingJob(value: value, observer: observer, priority: Self.priority)
        var resumed: [CheckedContinuation<Void, Never>] = []
        let (dropped, start) = state.withLock { state -> (AwaitingJob?, TaskPriority?) in
            // Looked at under the lock: what comes after `end` must not wait behind a call that nobody waits for.
            guard observer.isActive else { return (job, nil) }
            var dropped: AwaitingJob?
            if let room = buffering.room, state.jobs.values >= room {
                if case .oldest = buffering {
                    observer.noteDropped()
                    return (job, nil)
                }
                dropped = state.jobs.removeFirst()
                dropped?.observer.noteDropped()
                resumed = state.takeFreeWaiters()
            }
            state.jobs.append(job)
            if state.isBusy { return (dropped, nil) }
            state.start(job.priority)
            return (dropped, job.priority)
        }
        if let start { makeTask(start) }
        for continuation in resumed { continuation.resume() }
        // Here, and not under the lock.
        withExtendedLifetime(dropped) {}
    }

    /// That of the task which notifies; a thread may have none.
    private static var priority: TaskPriority {
        let priority = Task.currentPriority
        return priority.rawValue == 0 ? .medium : priority
    }

    /// Drops what waits for an observer that has been removed, and cancels its call, which nobody waits for any more.
    func end(_ observer: any AwaitedObserver) {
        var resumed: [CheckedContinuation<Void, Never>] = []
        var dropped: [AwaitingJob] = []
        let task = state.withLock { state -> Task<Void, Never>? in
            dropped = state.jobs.remove(for: observer)
            let isCalled = state.called?.observer === observer
            if isCalled { state.isCancelled = true }
            // Also if it was another registration of the same observer that was called.
            resumed = state.takeFreeWaiters()
            return isCalled ? state.task : nil
        }
        task?.cancel()
        for continuation in resumed { continuation.resume() }
        // Here, and not under the lock.
        dropped.removeAll()
    }

    override func settled() async {
        let caller = AwaitingCall.number
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                // An observer that waited for its own call would wait for ever.
                guard caller == 0 || state.called?.number != caller, !(state.isFree && state.jobs.isEmpty) else {
                    return false
                }
                state.jobs.append(continuation)
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    // MARK: Going out

    private func makeTask(_ priority: TaskPriority) {
        let task = Task(priority: priority) { await deliver(on: actor) }
        let unknown = state.withLock { state in
            state.task = task
            return state.unknown.take()
        }
        unknown?.resume()
    }

    private func waitUntilKnown(isolation: isolated (any Actor)? = #isolation) async {
        await withCheckedContinuation { continuation in
            let isKnown = state.withLock { state in
                guard state.task == nil else { return true }
                state.unknown = continuation
                return false
            }
            if isKnown { continuation.resume() }
        }
    }

    private func deliver(on actor: isolated (any Actor)?) async {
        var left = Self.turn
        // Held until the state knows that its call is over: the last reference is not dropped under the lock.
        var last: AwaitingJob?
        while true {
            let step = withExtendedLifetime(last) { next() }
            last = nil
            switch step {
            case .call(let job):
                last = job
                CallOut.assertNoLockIsHeld()
                let isAlive = await AwaitingCall.$number.withValue(job.number) {
                    await job.observer.call(job.value, from: actor)
                }
                if !isAlive { job.observer.noteDeadOwner() }
            case .drop:
                break
            case .resume(let continuation):
                continuation.resume()
            case .handOn(let priority):
                return makeTask(priority)
            case .wait:
                await waitUntilKnown()
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

    /// What comes after a call, or at first.
    private func next() -> Step {
        state.withLock { state in
            guard state.task != nil else { return .wait }
            // Not the last reference to it.
            state.called = nil
            if let continuation = state.jobs.takeWaiter() { return .resume(continuation) }
            guard let job = state.jobs.first else {
                state.isBusy = false
                state.isCancelled = false
                state.task = nil
                return .end
            }
            if state.isCancelled || job.priority != state.priority {
                state.start(job.priority)
                return .handOn(job.priority)
            }
            _ = state.jobs.removeFirst()
            guard job.observer.isActive else { return .drop(job) }
            state.called = job
            return .call(job)
        }
    }
}

/// The call of an observer that awaits, inside which a task or one of its children runs.
enum AwaitingCall {
    /// Unique in the process; zero if there is none.
    @TaskLocal static var number: UInt64 = 0
}
