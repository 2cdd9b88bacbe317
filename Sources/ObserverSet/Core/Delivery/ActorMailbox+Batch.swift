// The decisions of an `ActorMailbox` under its locks. Nothing here calls anybody, or knows of locks and tasks: each function says
// what there is to do.

extension ActorMailbox {
    /// Jobs with ascending numbers; those that have been taken out are nil.
    struct Jobs: Sendable {
        fileprivate var jobs: [Job?] = []
        /// The number of the first one.
        fileprivate var first: UInt64 = 1
        /// The urgencies of the notifiers.
        fileprivate var urgencies = Urgency.Set()

        var count: Int { jobs.count }
        /// The number behind the last one.
        var end: UInt64 { first + UInt64(jobs.count) }

        fileprivate subscript(number: UInt64) -> Job? { index(of: number).flatMap { jobs[$0] } }

        fileprivate mutating func take(_ number: UInt64) -> Job? {
            index(of: number).flatMap { jobs[$0].take() }
        }

        private func index(of number: UInt64) -> Int? {
            number >= first && number < end ? Int(number - first) : nil
        }
    }

    /// The values that have been posted since a drain last looked, and which drains there are.
    struct Inbox: Sendable {
        fileprivate(set) var posted = Jobs()
        /// The urgencies of the drains that are on their way to the actor: at most one drain of each.
        private var sent = Urgency.Set()
        /// The urgency of the drain under way, if there is one.
        fileprivate var running = Urgency.Set()

        /// Appends a job, and returns whether a drain has to be sent.
        @inline(__always)
        mutating func append(_ job: consuming Job, _ urgency: Urgency) -> Bool {
            posted.jobs.append(consume job)
            posted.urgencies.insert(urgency)
            return claimDrain(urgency)
        }

        /// Whether a drain has to be sent: none that is as urgent is under way or on its way.
        @inline(__always)
        func needsDrain(_ urgency: Urgency) -> Bool { !running.covers(urgency) && !sent.covers(urgency) }

        /// Notes that a drain is sent, and returns true, unless none has to be.
        @inline(__always)
        fileprivate mutating func claimDrain(_ urgency: Urgency) -> Bool {
            guard needsDrain(urgency) else { return false }
            sent.insert(urgency)
            return true
        }

        /// Notes that a drain has arrived, and returns whether it may begin.
        mutating func begin(_ urgency: Urgency) -> Bool {
            sent.remove(urgency)
            return occupy(urgency)
        }

        /// Notes that a drain is under way; false if there is one, as when the actor is gone, or a call runs an event loop.
        fileprivate mutating func occupy(_ urgency: Urgency) -> Bool {
            guard running.highest == nil else { return false }
            running.insert(urgency)
            return true
        }
    }

    /// The values that a drain has taken over from the inbox.
    struct Batch: Sendable {
        private var taken = Jobs()
        /// The index of the first job that may be left.
        private var head = 0
        /// The number of the value with which a drain is calling an observer.
        private var drained: UInt64 = 0
        /// The numbers of the values with which observers are being called ahead of others.
        private var inPlace: [UInt64] = []

        /// The number of a value behind which too much waits to be delivered ahead of others, for observers with so much.
        ///
        /// As long as that value waits, nothing need be counted.
        private var crowdEnds: [ObjectIdentifier: UInt64] = [:]

        /// The capacity, in jobs, that an idle mailbox keeps; what a burst needed beyond that is freed.
        private static let retainedCapacity = 32

        // MARK: For drains

        /// Takes out the first job.
        mutating func popFirst() -> (job: Job, number: UInt64)? {
            while head < taken.jobs.count {
                defer { head += 1 }
                if let job = taken.jobs[head].take() {
                    drained = taken.first + UInt64(head)
                    return (job, drained)
                }
            }
            drained = 0
            return nil
        }

        /// Replaces an empty batch by what has been posted; false if there is nothing, and the drain has ended.
        mutating func refill(from inbox: inout Inbox) -> Bool {
            head = 0
            taken.jobs.removeAll(keepingCapacity: true)
            let count = inbox.posted.jobs.count
            // Where few come after a burst, or none, its room is freed.
            if taken.jobs.capacity > max(Self.retainedCapacity, 4 * count) { taken.jobs = [] }
            swap(&taken, &inbox.posted)
            inbox.posted.first = taken.end
            inbox.posted.urgencies = Urgency.Set()
            // fault: inbox-looked-into-once
            if count > 0 { return true }
            if taken.jobs.capacity > Self.retainedCapacity { taken.jobs = [] }
            inbox.running = Urgency.Set()
            crowdEnds = [:]
            return false
        }

        /// Ends a drain before everything has been delivered; returns the urgency of another one that has to be sent.
        mutating func endTurn(_ inbox: inout Inbox) -> Urgency? {
            drained = 0
            inbox.running = Urgency.Set()
            let urgency = taken.urgencies.union(inbox.posted.urgencies).highest
            return urgency.flatMap { inbox.claimDrain($0) ? $0 : nil }
        }

        // MARK: For calls ahead of others

        /// The numbers of the jobs that wait for an observer, the last one first; nil if they are more than that many, or if
        /// the observer is being called with the one before them.
        mutating func jobsToCatchUp(upTo last: UInt64, _ inbox: Inbox, atMost limit: Int) -> [UInt64]? {
            let observer = job(last, inbox)?.observer.map { ObjectIdentifier($0) }
            let crowd = observer.flatMap { crowdEnds[$0] }
            if let crowd, job(crowd, inbox) != nil { return nil }
            let (isInCall, numbers, values) = waiting(upTo: last, inbox, atMost: limit + 1)
            if isInCall { return nil }
            if values <= limit { return numbers }
            if let observer { crowdEnds[observer] = numbers.last }
            return nil
        }

        /// The same, and whether their delivery counts as the drain under way, so that `endTurn` has to follow.
        ///
        /// It does so if there is no other. A drain that arrived while one of the calls runs an event loop would otherwise tell
        /// a caller of `settled()` that the call is over.
        mutating func beginCatchUp(
            upTo last: UInt64, _ inbox: inout Inbox, atMost limit: Int
        ) -> (numbers: [UInt64], isDrain: Bool)? {
            guard let numbers = jobsToCatchUp(upTo: last, inbox, atMost: limit) else { return nil }
            return (numbers, !numbers.isEmpty && inbox.occupy(.highest))
        }

        /// The job of that number, if it waits.
        private func job(_ number: UInt64, _ inbox: Inbox) -> Job? { inbox.posted[number] ?? taken[number] }

        /// The numbers of the jobs that wait for an observer, the last one first, how many of them are values, and whether it
        /// is being called with the one before them.
        func waiting(
            upTo last: UInt64, _ inbox: Inbox, atMost limit: Int
        ) -> (isInCall: Bool, numbers: [UInt64], values: Int) {
            var numbers: [UInt64] = []
            var values = 0
            var number = last
            while values < limit, let job = job(number, inbox) {
                numbers.append(number)
                if job.isValue { values += 1 }
                number = job.previous
            }
            return (number != 0 && (number == drained || inPlace.contains(number)), numbers, values)
        }

        /// Takes out a job that is delivered ahead of others; nil if a drain has delivered it meanwhile, inside a call that
        /// runs an event loop.
        mutating func beginInPlace(_ number: UInt64, from inbox: inout Inbox) -> Job? {
            inPlace.append(number)
            return inbox.posted.take(number) ?? taken.take(number)
        }

        mutating func endInPlace(_ number: UInt64) { inPlace.removeAll { $0 == number } }

        // MARK: For one observer

        /// Whether an observer is being called with a value from here, and how many values wait for it.
        func progress(upTo last: UInt64, _ inbox: Inbox) -> (isInCall: Bool, waiting: Int) {
            let (isInCall, _, values) = waiting(upTo: last, inbox, atMost: .max)
            return (isInCall, values)
        }
    }
}
