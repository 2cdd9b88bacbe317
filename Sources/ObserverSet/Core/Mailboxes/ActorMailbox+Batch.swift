// The decisions that an `ActorMailbox` makes under its locks. The code in this file calls nobody, and knows nothing of
// locks and tasks. Each function returns what there is to do.

extension ActorMailbox {
    /// The values that have been posted since a drain last looked, and the mailbox's drains.
    struct Inbox: Sendable {
        fileprivate var jobs: [Job?] = []
        /// The highest urgency of the notifiers that have posted these values.
        fileprivate var urgency = Urgency.lowest
        var drains = Drains()
        /// The actor, which is held while values are pending; nil if it has been deallocated, and for the main actor.
        var actor: (any Actor)?

        /// Appends a job, and returns whether a drain must be started.
        @inline(__always)
        mutating func append(_ job: consuming Job, _ urgency: Urgency) -> Bool {
            jobs.append(consume job)
            self.urgency = max(self.urgency, urgency)
            return drains.reserve(urgency)
        }

        /// Appends the marker of a caller of `settled()`, in the place of the last job if that is the marker of one
        /// that was cancelled.
        ///
        /// Otherwise, the markers of a caller that tries again and again would pile up behind a call that never ends.
        mutating func append(_ settledWait: SettledWait, _ urgency: Urgency) -> Bool {
            if (jobs.last??.recipient as? SettledWait)?.isOver == true { jobs.removeLast() }
            return append(Job(value: (), recipient: settledWait), urgency)
        }
    }

    /// The values that a drain has taken over from the inbox.
    struct Batch: Sendable {
        /// The jobs in order; those before `head` have been taken out, and are nil.
        private(set) var jobs: [Job?] = []
        /// The index of the first job that is still there.
        private(set) var head = 0
        private var urgency = Urgency.lowest
        /// The number of catch-ups in progress, each nested in a call that another one makes, or in a `deinit`.
        private(set) var catchUps = 0
        /// The jobs that a drain inside a catch-up has passed over: values for observers that are in a call or caught
        /// up with, and the markers of callers of `settled()`.
        private(set) var passedOver: [Job?] = []

        /// The number of jobs for which an idle mailbox keeps memory; what a burst needed beyond that is freed.
        private static var retainedCapacity: Int { 32 }

        /// Takes out the first job that may be delivered now.
        mutating func popFirst() -> Job? {
            while head < jobs.count {
                let job = jobs[head].take()!
                head += 1
                // A call, or the `deinit` of a value, has started an event loop, and this drain runs inside it. Values
                // for observers that are in a call or caught up with, and callers of `settled()`, must wait until the
                // catch-up ends.
                if catchUps > 0, job.recipient.innermost.isBeingCalled(for: job.recipient) {
                    passedOver.append(job)
                } else {
                    return job
                }
            }
            return nil
        }

        /// Takes over the inbox's jobs; returns false if there is still nothing to deliver.
        mutating func refill(from inbox: inout Inbox) -> Bool {
            if head == jobs.count {
                let room = max(Self.retainedCapacity, inbox.jobs.isEmpty ? 0 : 4 * inbox.jobs.count)
                // If a burst is followed by few values, or by none, the memory that it needed is freed.
                jobs.removeAll(keepingCapacity: jobs.capacity <= room)
                head = 0
                // The urgency is not reset inside a catch-up, because the jobs that were passed over still need a drain
                // of that urgency.
                if catchUps == 0 { urgency = .lowest }
                swap(&jobs, &inbox.jobs)
            } else {
                // This takes amortised O(1).
                if head > jobs.count / 2 {
                    jobs.removeFirst(head)
                    head = 0
                }
                jobs += inbox.jobs
                inbox.jobs.removeAll(keepingCapacity: inbox.jobs.capacity <= Self.retainedCapacity)
            }
            urgency = max(urgency, inbox.urgency)
            inbox.urgency = .lowest
            if !jobs.isEmpty { return true }
            if jobs.capacity > Self.retainedCapacity { jobs = [] }
            return false
        }

        /// Takes out all `count` pending jobs of an observer, and returns the newest one first.
        ///
        /// `observer` is the innermost target, so these are the jobs of all its registrations. Returns nil if they
        /// aren't all among the latest `Turn.limit` jobs, because otherwise each notification would search all values
        /// that are pending for the actor.
        mutating func beginCatchUp(of observer: AnyTarget, _ count: Int, from inbox: inout Inbox) -> [Job]? {
            _ = refill(from: &inbox)
            var indices: [Int] = []
            var index = jobs.count
            let first = max(head, jobs.count - Turn.limit)
            while indices.count < count, index > first {
                index -= 1
                if jobs[index]?.recipient.innermost === observer { indices.append(index) }
            }
            guard indices.count == count else { return nil }
            catchUps += 1
            // No gaps stay behind. While a single value is pending, they would pile up behind it, and they would count
            // among the latest jobs. Each removal moves fewer than `Turn.limit` jobs.
            return indices.map { jobs.remove(at: $0)! }
        }

        /// Ends a catch-up, and puts back the jobs that were passed over.
        ///
        /// The observer whose catch-up has ended may be caught up with again, or called in its turn. Markers, and jobs
        /// of observers that are still in a call or caught up with, are passed over again until the outermost catch-up
        /// ends.
        mutating func endCatchUp() {
            catchUps -= 1
            if passedOver.isEmpty { return }
            jobs.replaceSubrange(..<head, with: passedOver)
            (head, passedOver) = (0, [])
        }

        /// The urgency of the drain that the remaining jobs need; if there are none, frees most of their memory, and
        /// returns nil.
        mutating func urgencyOfTheRest(_ inbox: inout Inbox) -> Urgency? {
            guard head == jobs.count, inbox.jobs.isEmpty else { return max(urgency, inbox.urgency) }
            jobs.removeAll(keepingCapacity: jobs.capacity <= Self.retainedCapacity)
            inbox.jobs.removeAll(keepingCapacity: inbox.jobs.capacity <= Self.retainedCapacity)
            head = 0
            return nil
        }

        /// Checks the invariants that hold whenever both locks are free; called under both, in builds for which
        /// `LockCheck.isEnabled` is true.
        ///
        /// It looks at the jobs only if there are few, because that takes O(*n*).
        func checkInvariants(_ inbox: borrowing Inbox) {
            guard LockCheck.isEnabled else { return }
            precondition(passedOver.isEmpty || catchUps > 0)
            // No job is forgotten: a drain is running, or on its way.
            precondition(head == jobs.count && inbox.jobs.isEmpty || !inbox.drains.isNeeded(for: .lowest))
            guard jobs.count <= 64 else { return }
            precondition(jobs[..<head].allSatisfy { $0 == nil } && jobs[head...].allSatisfy { $0 != nil })
        }
    }
}
