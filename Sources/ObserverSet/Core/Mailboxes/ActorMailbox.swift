import Synchronization

/// The values that wait for the observers of one actor: first in, first out, whichever sets they come from.
///
/// Notifiers append to the inbox. A drain, of which one runs at a time, takes over the inbox as its batch. Each has a lock of
/// its own, so that a drain and the notifiers seldom wait for each other. What is decided under the locks is in
/// `ActorMailbox+Batch.swift`; what follows is done here.
///
/// Code on the actor that notifies does not wait for others: what waits for the observer in question is delivered ahead of the
/// rest, and the observer called in place (`catchUp`). The order of each observer stays.
///
/// Values are taken out on the actor alone; if the actor is gone, on any thread, but by one at a time (see `send`). An idle
/// mailbox holds nothing of the user's.
@safe final class ActorMailbox: Mailbox, @unchecked Sendable {
    /// Keeps what a drain writes, what notifiers write, and what both only read, on cache lines of their own; two lines, since
    /// processors fetch lines in pairs.
    private typealias Gap = (UInt128, UInt128, UInt128, UInt128, UInt128, UInt128, UInt128, UInt128)

    private let executor: ActorExecutor
    /// How many observers use it; guarded by the lock of its part of the table.
    private var uses = 1
    private let gapBeforeBatch: Gap = (0, 0, 0, 0, 0, 0, 0, 0)
    private let batch = Lock(Batch())
    private let gapBeforeInbox: Gap = (0, 0, 0, 0, 0, 0, 0, 0)
    private let inbox = Lock(Inbox())
    /// Whether something was posted that has not been delivered; stored under the lock of the inbox.
    private let isBusy = Atomic<Bool>(false)

    private init(of actor: any Actor, on executor: ActorExecutor) {
        self.executor = executor
        super.init(of: actor)
    }

    override var isCurrent: Bool { executor.isCurrent }

    // Acquiring, paired with the stores of false: who sees it idle, and does not wait, knows of all that its calls have done.
    override var isIdle: Bool { !isBusy.load(ordering: .acquiring) }

    override var description: String { actor.map { "\(type(of: $0))" } ?? "an actor that is gone" }

    // MARK: Posting

    override func post(
        _ job: Job, _ pending: borrowing Pending, _ status: borrowing RegistrationStatus,
        by context: inout NotifyContext
    ) {
        let urgency = context.urgency
        var actor: (any Actor)?
        // When a drain is sent, others rely on it, and may let the actor go: the caller must hold it by then.
        var isHeld = isMain
        while true {
            let isToSend = inbox.withLock { inbox -> Bool? in
                if !isHeld, inbox.drains.isNeeded(for: urgency) { return nil }
                pending.post()
                status.post()
                isBusy.store(true, ordering: .relaxed)
                return inbox.append(job, urgency)
            }
            if let isToSend { return isToSend ? send(urgency, to: actor) : () }
            actor = self.actor
            isHeld = true
        }
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        let urgency = Urgency.current
        // Before a drain is claimed, as for a value.
        let actor = actor
        let (isHeldUp, isToSend) = inbox.withLock { inbox in
            if isIdle { return (false, false) }
            // Behind those that wait, so that the caller goes on where they are delivered, and under no lock.
            return (true, inbox.append(Job(value: (), recipient: settledWait), urgency))
        }
        if isToSend { send(urgency, to: actor) }
        return isHeldUp
    }

    /// Sends a drain to the actor; `again` is true if the drain before it has used up its turn.
    ///
    /// One task for each value would lose the order, since the runtime may start tasks in any order. The task is detached:
    /// observers must not see the task-local values of the notifier that happened to start it.
    private func send(_ urgency: Urgency, to actor: (any Actor)?, again: Bool = false) {
        let priority = urgency.priority
        if isMain {
            Task.detached(priority: priority) { @MainActor in self.drain(urgency) }
        } else if let actor {
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
        guard inbox.withLock({ $0.drains.begin(urgency) }) else { return }
        var turn = Turn(isTimed: isTimed)
        while deliverNext() {
            if turn.isOver() { return leaveTheRest { _, inbox in inbox.drains.end() } }
        }
    }

    /// Delivers the first job, and releases it before another drain may go on; false if there is none.
    @inline(__always)
    private func deliverNext() -> Bool {
        guard let job = next() else { return false }
        job.deliver()
        return true
    }

    /// Takes out the first job; nil if there is none, and the drain has ended.
    private func next() -> Job? {
        batch.withLock { batch in
            repeat {
                if let job = batch.popFirst() { return job }
            } while inbox.withLock { inbox in
                // fault: inbox-looked-into-once
                if batch.refill(from: &inbox) { return true }
                inbox.drains.end()
                rest(batch.catchUps)
                return false
            }
            return nil
        }
    }

    /// Ends a drain or a catch-up when something may be left, for which another drain is then sent.
    private func leaveTheRest(_ end: (inout Batch, inout Inbox) -> Void) {
        let urgency = withAll { batch, inbox -> Urgency? in
            end(&batch, &inbox)
            // Inside a call of a drain, that one goes on.
            if inbox.drains.running != nil { return nil }
            guard let urgency = batch.urgencyOfTheRest(&inbox) else {
                rest(batch.catchUps)
                return nil
            }
            return inbox.drains.claim(urgency) ? urgency : nil
        }
        if let urgency { send(urgency, to: actor, again: true) }
    }

    /// Called under both locks when nothing is left.
    private func rest(_ catchUps: Int) {
        // What a catch-up has taken out is not delivered yet, and a caller of `settled()` must wait for its call.
        if catchUps == 0 { isBusy.store(false, ordering: .releasing) }
    }

    private func withAll<Result: Sendable>(_ body: (inout Batch, inout Inbox) -> Result) -> Result {
        batch.withLock { batch in
            inbox.withLock { inbox in body(&batch, &inbox) }
        }
    }

    // MARK: In place

    /// Delivers what waits for an observer, ahead of what waits for others.
    ///
    /// Not inside a call of that observer: values do not overtake the one of the call. Nor if more waits than fits in a turn:
    /// the caller, an event handler perhaps, must not be held up. The clock is not looked at, so that it does not depend on the
    /// machine whether a call is made in place.
    override func catchUp(_ observer: Recipient, _ pending: borrowing Pending) -> Bool {
        if pending.isEmpty { return true }
        // If the actor is gone, and another has its address, another thread may be delivering.
        guard actor != nil, !pending.isInCall, pending.waiting <= Turn.limit else { return false }
        // Counted under the lock under which they are posted: so these are all, and the oldest is among them.
        guard
            var jobs = withAll({ batch, inbox in batch.beginCatchUp(of: observer, pending.waiting, from: &inbox) })
        else { return false }
        // Each is released before the next is delivered.
        // fault: last-of-what-waits-first
        while let job = jobs.popLast() { job.deliver() }
        leaveTheRest { batch, _ in batch.endCatchUp() }
        return true
    }

    override func endUse() {
        if isMain { return }
        let last = Shard.of(identity).table.withLock { table -> ActorMailbox? in
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
    private static let main = ActorMailbox(of: MainActor.shared, on: ActorExecutor(of: MainActor.shared))

    /// A part of the table of mailboxes: those who add observers on different actors seldom wait for each other.
    private final class Shard: Sendable {
        /// The mailboxes of actors other than the main one, by the actors' addresses, as long as an observer uses them.
        let table = Lock([UInt: ActorMailbox]())
        private let gap: Gap = (0, 0, 0, 0, 0, 0, 0, 0)

        private static let all = (0..<32).map { _ in Shard() }

        /// By the bits of the address in which neighbouring objects differ.
        static func of(_ identity: UInt) -> Shard { all[Int((identity >> 5 ^ identity >> 10) % 32)] }
    }

    /// The mailbox of an actor, for one more observer; `endUse` is called when that is deallocated.
    static func of(_ actor: any Actor) -> ActorMailbox {
        if actor === MainActor.shared { return main }
        let (identity, executor) = (Isolation.identity(of: actor), ActorExecutor(of: actor))
        return Shard.of(identity).table.withLock { table in
            // A dead actor may have had this address. Loading the weak reference, under the lock for once, cannot drop the
            // last one: if it is not nil, it is the caller's own actor.
            // fault: mailbox-for-each-observer
            if let mailbox = table[identity], mailbox.actor === actor {
                mailbox.uses += 1
                return mailbox
            }
            let fresh = ActorMailbox(of: actor, on: executor)
            table[identity] = fresh
            return fresh
        }
    }
}

extension Mailbox {
    /// The mailbox of a function of that isolation that is added on `home`; nil if it runs on the notifying thread.
    @usableFromInline
    static func of(_ isolation: (any Actor)?, addedOn home: (any Actor)? = nil) -> Mailbox? {
        actor(for: isolation, addedOn: home).map { ActorMailbox.of($0) }
    }

    /// The actor on which a function of that isolation runs if it was added on `home`; nil if on none.
    ///
    /// A partially applied method of an actor's instance (`set.add(hear)`) has lost its isolation, and no signature can
    /// reject it. So a function without an isolation of its own runs on the actor that adds it. Not so for the main actor:
    /// no one passes methods of `MainActor` itself.
    static func actor(for isolation: (any Actor)?, addedOn home: (any Actor)?) -> (any Actor)? {
        isolation ?? (home === MainActor.shared ? nil : home)
    }
}

extension Dictionary {
    /// Removes a value, and frees the memory of a dictionary that has become almost empty.
    mutating func removeAndTrim(_ key: Key) -> Value? {
        let removed = removeValue(forKey: key)
        // A filter that leaves nothing out would keep the memory.
        if capacity > 64, count < capacity / 8 {
            // `Dictionary(uniqueKeysWithValues:)` would bring two kilobytes with it.
            var smaller = Dictionary(minimumCapacity: count)
            for (key, value) in self { smaller[key] = value }
            self = smaller
        }
        return removed
    }
}
