import Synchronization

/// What has been notified to the observers of one actor and not yet delivered: first in, first out, whichever sets and
/// observers it concerns.
///
/// Code on the actor that notifies does not wait for others: what waits for the observer in question is delivered ahead of the
/// rest, and the observer called in place, see `deliverWaiting`. The order of each observer stays.
///
/// Values are taken out on the actor alone; if the actor is gone, on any thread, but by one at a time (see `send`). An idle
/// mailbox holds nothing of the user's.
///
/// It has two locks. Notifiers take that of the inbox. A drain takes that of its batch for each value, and that of the inbox
/// only when the batch is empty; then all that the inbox holds becomes the next batch. So a drain and the notifiers seldom
/// wait for each other.
@safe final class ActorMailbox: Mailbox, @unchecked Sendable {
    /// Jobs with ascending numbers; those that have been taken out are nil.
    private struct Jobs: Sendable {
        var jobs: [Job?] = []
        /// The number of the first one.
        var first: UInt64 = 1
        /// The urgencies of the notifiers.
        var urgencies = Urgency.Set()

        /// The number behind the last one.
        var end: UInt64 { first + UInt64(jobs.count) }

        /// The number of the job before this one for the same observer; nil if this one is not here.
        func previous(of number: UInt64) -> UInt64? {
            index(of: number).flatMap { jobs[$0]?.previous }
        }

        subscript(number: UInt64) -> Job? { index(of: number).flatMap { jobs[$0] } }

        /// Replaces a job's observer by an entry that calls nothing: the value is released, and the numbers stay.
        mutating func drop(_ number: UInt64, leaving rest: AnyEntry) {
            guard let index = index(of: number), let job = jobs[index] else { return }
            jobs[index] = Job((), to: rest, after: job.previous)
        }

        mutating func take(_ number: UInt64) -> Job? {
            index(of: number).flatMap { jobs[$0].take() }
        }

        private func index(of number: UInt64) -> Int? {
            number >= first && number < end ? Int(number - first) : nil
        }
    }

    private struct Inbox: Sendable {
        var posted = Jobs()
        /// The urgencies of the drains that are on their way to the actor: at most one drain of each.
        var sent = Urgency.Set()
        /// The urgency of the drain under way, if there is one.
        var running = Urgency.Set()

        /// Whether another drain has to be sent: none that is as urgent is under way or on its way.
        mutating func needsDrain(_ urgency: Urgency) -> Bool {
            !running.covers(urgency) && sent.insertUnlessCovered(urgency)
        }
    }

    /// What a drain has taken over from the inbox.
    private struct Batch: Sendable {
        var taken = Jobs()
        /// The index of the first job that may be left.
        var head = 0
        /// The number of the value with which a drain is calling an observer.
        var drained: UInt64 = 0
        /// The numbers of the values with which observers are being called ahead of others.
        var inPlace: [UInt64] = []

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
    }

    /// Keeps what a drain writes, what notifiers write, and what both only read, on cache lines of their own; two lines, since
    /// processors fetch lines in pairs.
    private struct Gap: Sendable {
        private typealias Words = (UInt64, UInt64, UInt64, UInt64)
        private let words: (Words, Words, Words, Words) = ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    }

    private let home: WeakActor
    /// How many observers use it; guarded by the table's lock.
    private var uses = 1
    private let gapBeforeBatch = Gap()
    private let batch = Lock(Batch())
    private let gapBeforeInbox = Gap()
    private let inbox = Lock(Inbox())
    /// Whether something was posted that has not been delivered; stored under the lock of the inbox.
    private let isBusy = Atomic<Bool>(false)

    /// The capacity, in jobs, that an idle mailbox keeps; what a burst needed beyond that is freed.
    private static let keptRoom = 32

    private init(_ actor: any Actor) {
        home = WeakActor(actor)
        super.init(at: actor)
    }

    // Relaxed: see `Pending`.
    override var isIdle: Bool { !isBusy.load(ordering: .relaxed) }

    override var description: String {
        home.actor.map { "\(type(of: $0))" } ?? "an actor that is gone"
    }

    // MARK: Posting

    override func post(
        _ value: any Sendable, to observer: AnyEntry, _ pending: borrowing Pending, by notifier: inout Notifier
    ) {
        let urgency = notifier.urgency
        let isToSend = inbox.withLock { inbox in
            let previous = pending.posting(inbox.posted.end)
            return append(Job(value, to: observer, after: previous), urgency, to: &inbox)
        }
        if isToSend { send(urgency) }
    }

    override func holdUp(_ settlement: Settlement, isForRemoval: Bool) -> Bool {
        let urgency = Urgency.current
        let (isHeldUp, isToSend) = inbox.withLock { inbox in
            if isIdle { return (false, false) }
            // Behind those that wait, so that the caller goes on where they are delivered, and under no lock.
            return (true, append(Job(settlement), urgency, to: &inbox))
        }
        if isToSend { send(urgency) }
        return isHeldUp
    }

    /// Returns whether a drain has to be sent.
    @inline(__always)
    private func append(_ job: consuming Job, _ urgency: Urgency, to inbox: inout Inbox) -> Bool {
        isBusy.store(true, ordering: .relaxed)
        inbox.posted.jobs.append(consume job)
        inbox.posted.urgencies.insert(urgency)
        return inbox.needsDrain(urgency)
    }

    /// Sends a drain to the actor; `again` is true if the drain before it has used up its turn.
    ///
    /// One task for each value would lose the order, since the runtime may start tasks in any order. The task is detached:
    /// observers must not see the task-local values of the notifier that happened to start it.
    private func send(_ urgency: Urgency, again: Bool = false) {
        let priority = urgency.priority
        if home.isMain {
            Task.detached(priority: priority) { @MainActor in self.drain(urgency) }
        } else if let actor = home.actor {
            // The task keeps the actor alive until the actor has received what was notified to it.
            Task.detached(priority: priority) { await self.drain(urgency, on: actor) }
        } else if again {
            Task.detached(priority: priority) { self.drain(urgency) }
        } else {
            // The actor is gone. If it was the owner, no delivery calls anything. Otherwise the observer has no isolation
            // of its own, and may be called anywhere: here, but for no longer than a turn.
            drain(urgency, isTimed: false)
        }
    }

    // MARK: Draining

    private func drain(_ urgency: Urgency, on actor: isolated any Actor) { drain(urgency) }

    /// Delivers what waits, and what arrives meanwhile, for one turn; leaves the rest to another drain.
    private func drain(_ urgency: Urgency, isTimed: Bool = true) {
        guard begin(urgency) else { return }
        var turn = Turn(isTimed: isTimed)
        while deliverNext() {
            if turn.isOver() { return leaveTheRest() }
        }
    }

    /// Delivers the first job, and releases it before another drain may go on; false if there is none.
    @inline(__always)
    private func deliverNext() -> Bool {
        guard let (job, number) = next() else { return false }
        job.deliver(number)
        return true
    }

    private func begin(_ urgency: Urgency) -> Bool {
        inbox.withLock { inbox in
            inbox.sent.remove(urgency)
            // Another drain may be under way if the actor is gone, or if a call runs an event loop.
            guard inbox.running.highest == nil else { return false }
            inbox.running.insert(urgency)
            return true
        }
    }

    /// Takes out the first job; nil if there is none, and the drain has ended.
    private func next() -> (job: Job, number: UInt64)? {
        batch.withLock { batch in
            repeat {
                if let next = batch.popFirst() { return next }
                // fault: inbox-looked-into-once
            } while refill(&batch)
            return nil
        }
    }

    /// Replaces an empty batch by what has been posted; false if there is nothing, and the drain has ended.
    private func refill(_ batch: inout Batch) -> Bool {
        batch.head = 0
        batch.taken.jobs.removeAll(keepingCapacity: true)
        return inbox.withLock { inbox in
            let count = inbox.posted.jobs.count
            // Where few come after a burst, or none, its room is freed.
            if batch.taken.jobs.capacity > max(Self.keptRoom, 4 * count) { batch.taken.jobs = [] }
            swap(&batch.taken, &inbox.posted)
            inbox.posted.first = batch.taken.end
            inbox.posted.urgencies = Urgency.Set()
            if count > 0 { return true }
            if batch.taken.jobs.capacity > Self.keptRoom { batch.taken.jobs = [] }
            inbox.running = Urgency.Set()
            isBusy.store(false, ordering: .relaxed)
            return false
        }
    }

    private func leaveTheRest() {
        let urgency = withAll { batch, inbox -> Urgency? in
            batch.drained = 0
            inbox.running = Urgency.Set()
            let urgencies = batch.taken.urgencies.union(inbox.posted.urgencies)
            guard let urgency = urgencies.highest else { return nil }
            return inbox.needsDrain(urgency) ? urgency : nil
        }
        if let urgency { send(urgency, again: true) }
    }

    private func withAll<Result: Sendable>(_ body: (inout Batch, inout Inbox) -> Result) -> Result {
        batch.withLock { batch in
            inbox.withLock { inbox in body(&batch, &inbox) }
        }
    }

    // MARK: In place

    override func catchUp(_ pending: borrowing Pending, by notifier: inout Notifier) -> Bool {
        if notifier.identity == identity { return deliverWaiting(upTo: pending.lastNumber) }
        // Code without isolation may happen to run on the main actor. Not asked for each value of a burst from elsewhere.
        return home.isMain && pending.lastNumber == 0 && notifier.isOnMainQueue
    }

    /// Delivers what waits for one observer, ahead of what waits for others, and returns whether nothing is left.
    ///
    /// Inside a call of that observer it delivers nothing: values do not overtake the one of the call. Nor if more waits than
    /// fits in a turn: the caller, an event handler perhaps, must not be held up. The clock is not looked at, so that it does
    /// not depend on the machine whether a call is made in place.
    private func deliverWaiting(upTo last: UInt64) -> Bool {
        let (isInCall, numbers) = waiting(upTo: last, atMost: Turn.limit + 1)
        if isInCall || numbers.count > Turn.limit { return false }
        // fault: last-of-what-waits-first
        for number in numbers.reversed() {
            let job = withAll { batch, inbox in
                batch.inPlace.append(number)
                return inbox.posted.take(number) ?? batch.taken.take(number)
            }
            job?.deliver(number)
            batch.withLock { batch in batch.inPlace.removeAll { $0 == number } }
        }
        return true
    }

    /// The numbers of the jobs that wait for an observer, the last one first, and whether it is being called with the one
    /// before them.
    private func waiting(upTo last: UInt64, atMost limit: Int) -> (isInCall: Bool, numbers: [UInt64]) {
        withAll { batch, inbox in
            var numbers: [UInt64] = []
            var number = last
            while numbers.count < limit,
                let previous = inbox.posted.previous(of: number) ?? batch.taken.previous(of: number)
            {
                numbers.append(number)
                number = previous
            }
            return (number != 0 && (number == batch.drained || batch.inPlace.contains(number)), numbers)
        }
    }

    override func progress(_ pending: borrowing Pending) -> (isInCall: Bool, waiting: Int) {
        let (isInCall, numbers) = waiting(upTo: pending.lastNumber, atMost: .max)
        let jobs = withAll { batch, inbox in numbers.compactMap { inbox.posted[$0] ?? batch.taken[$0] } }
        return (isInCall, jobs.count { $0.observer?.isDropped == false })
    }

    override func drop(for observer: AnyEntry, _ pending: borrowing Pending, leaving rest: AnyEntry) {
        let dropped = withAll { batch, inbox in
            var dropped: [Job] = []
            var number = pending.lastNumber
            while let job = inbox.posted[number] ?? batch.taken[number] {
                if job.observer === observer {
                    inbox.posted.drop(number, leaving: rest)
                    batch.taken.drop(number, leaving: rest)
                    dropped.append(job)
                }
                number = job.previous
            }
            return dropped
        }
        // Released here, and not under the lock.
        withExtendedLifetime(dropped) {}
    }

    override func used() -> Mailbox {
        if !home.isMain { Self.table.withLock { _ in uses += 1 } }
        return self
    }

    override func endUse() {
        if home.isMain { return }
        let last = Self.table.withLock { table -> ActorMailbox? in
            uses -= 1
            guard uses == 0, table[identity] === self else { return nil }
            return table.removeAndTrim(identity)
        }
        // Released here, and not under the lock.
        withExtendedLifetime(last) {}
    }
}

// MARK: - The mailbox of an actor

extension ActorMailbox {
    private static let main = ActorMailbox(MainActor.shared)

    /// The mailboxes of other actors, by the actors' addresses, as long as an observer uses them.
    private static let table = Lock([UInt: ActorMailbox]())

    /// The mailbox of an actor, for one more observer; `endUse` is called when that is deallocated.
    static func of(_ actor: any Actor) -> ActorMailbox {
        if actor === MainActor.shared { return main }
        return table.withLock { table in
            let identity = Isolation.identity(of: actor)
            // A dead actor may have had this address. Loading the weak reference, under the lock for once, cannot drop the
            // last one: if it is not nil, it is the caller's own actor.
            // fault: mailbox-for-each-observer
            if let mailbox = table[identity], mailbox.home.actor === actor {
                mailbox.uses += 1
                return mailbox
            }
            let fresh = ActorMailbox(actor)
            table[identity] = fresh
            return fresh
        }
    }
}

extension Dictionary {
    /// Removes a value, and frees the memory of a dictionary that has become almost empty.
    mutating func removeAndTrim(_ key: Key) -> Value? {
        let removed = removeValue(forKey: key)
        // A filter that leaves nothing out would keep the memory.
        if capacity > 64, count < capacity / 8 {
            self = Dictionary(uniqueKeysWithValues: lazy.map { ($0.key, $0.value) })
        }
        return removed
    }
}
