// The decisions of an `ActorMailbox` under its locks. Nothing here calls anybody, or knows of locks and tasks: each function says
// what there is to do.

extension ActorMailbox {
    /// The values that have been posted since a drain last looked, and which drains there are.
    struct Inbox: Sendable {
        fileprivate var jobs: [Job?] = []
        /// The highest of the notifiers'.
        fileprivate var urgency = Urgency.lowest
        var drains = Drains()

        /// Appends a job, and returns whether a drain has to be sent.
        @inline(__always)
        mutating func append(_ job: consuming Job, _ urgency: Urgency) -> Bool {
            jobs.append(consume job)
            self.urgency = max(self.urgency, urgency)
            return drains.claim(urgency)
        }
    }

    /// The values that a drain has taken over from the inbox.
    struct Batch: Sendable {
        /// Those that have been taken out are nil.
        private var jobs: [Job?] = []
        /// The index of the first job that may be left.
        private var head = 0
        private var urgency = Urgency.lowest
        /// How many observers are being caught up with, one inside a call of another.
        private(set) var catchUps = 0
        /// What a drain inside such a call has passed over: values for observers that are in a call, and callers of
        /// `settled()`.
        private var held: [Job?] = []

        /// The capacity, in jobs, that an idle mailbox keeps; what a burst needed beyond that is freed.
        private static var retainedCapacity: Int { 32 }

        /// Takes out the first job that may be delivered.
        mutating func popFirst() -> Job? {
            while head < jobs.count {
                defer { head += 1 }
                guard let job = jobs[head].take() else { continue }
                // An event loop runs inside a call. No value overtakes the one of the call, nor may anybody go on who waits
                // for the call.
                if catchUps > 0, job.recipient.isInCall { held.append(job) } else { return job }
            }
            return nil
        }

        /// Appends what has been posted; false if nothing is left then.
        mutating func refill(from inbox: inout Inbox) -> Bool {
            if head == jobs.count {
                let room = max(Self.retainedCapacity, inbox.jobs.isEmpty ? 0 : 4 * inbox.jobs.count)
                // Where few come after a burst, or none, its room is freed.
                jobs.removeAll(keepingCapacity: jobs.capacity <= room)
                head = 0
                // Not inside a call: what has been passed over still needs a drain of its urgency.
                if catchUps == 0 { urgency = .lowest }
                swap(&jobs, &inbox.jobs)
            } else {
                // In amortised O(1).
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

        /// Takes out that many jobs of an observer, which waits for no more; returns the last one first.
        ///
        /// Nil if they are not all here: a catch-up under way has the others, which come first. It is releasing a value whose
        /// `deinit` notifies.
        mutating func beginCatchUp(of observer: Recipient, _ count: Int, from inbox: inout Inbox) -> [Job]? {
            _ = refill(from: &inbox)
            var places: [Int] = []
            var place = jobs.count
            while places.count < count, place > head {
                place -= 1
                if jobs[place]?.recipient.isFor(observer) == true { places.append(place) }
            }
            guard places.count == count else { return nil }
            catchUps += 1
            return places.map { jobs[$0].take()! }
        }

        /// Puts back what was passed over: an observer whose call has ended may be caught up with, or called in its turn.
        mutating func endCatchUp() {
            catchUps -= 1
            if held.isEmpty { return }
            jobs.replaceSubrange(..<head, with: held)
            (head, held) = (0, [])
        }

        /// The urgency of the drain that what is left needs; nil if nothing is left.
        mutating func urgencyOfTheRest(_ inbox: inout Inbox) -> Urgency? {
            while head < jobs.count, jobs[head] == nil { head += 1 }
            guard head == jobs.count, inbox.jobs.isEmpty else { return max(urgency, inbox.urgency) }
            jobs.removeAll(keepingCapacity: jobs.capacity <= Self.retainedCapacity)
            inbox.jobs.removeAll(keepingCapacity: inbox.jobs.capacity <= Self.retainedCapacity)
            head = 0
            return nil
        }
    }
}
