import Synchronization

/// A first-in, first-out queue of the values that are pending for the observers of one actor, whichever sets send them.
///
/// Notifiers append values to the inbox. A drain is a task that takes over the inbox as its batch and delivers it; one
/// drain runs at a time. Inbox and batch each have their own lock, so that a drain and the notifiers seldom wait for
/// each other. `ActorMailbox+Batch.swift` has the decisions that are made under the locks, and this file carries them
/// out.
///
/// When code on the actor calls `notify`, it doesn't wait for the whole mailbox. The values that are pending for the
/// observer in question are delivered ahead of all others, and then the observer is called in place (`catchUp`). Each
/// observer still receives its values in order.
///
/// Values are taken out only on the actor. If the actor has been deallocated, any thread may take them out, but only
/// one at a time (see `startDrain`). An idle mailbox keeps none of the user's objects alive.
@safe final class ActorMailbox: Mailbox, @unchecked Sendable {
    /// Keeps three groups of fields on separate cache lines: those that a drain writes, those that notifiers write, and
    /// those that both only read.
    ///
    /// It takes up two lines, because processors fetch lines in pairs.
    private typealias Gap = (UInt128, UInt128, UInt128, UInt128, UInt128, UInt128, UInt128, UInt128)

    private let executor: ActorExecutor
    /// The number of observers that use this mailbox, guarded by the lock of the mailbox's shard.
    private var uses = 1
    private let gapBeforeBatch: Gap = (0, 0, 0, 0, 0, 0, 0, 0)
    private let batch = Lock(Batch())
    private let gapBeforeInbox: Gap = (0, 0, 0, 0, 0, 0, 0, 0)
    private let inbox = Lock(Inbox())
    /// Whether a value was posted that has not been delivered yet; stored under the inbox's lock.
    private let isBusy = Atomic<Bool>(false)

    private init(of actor: any Actor, on executor: ActorExecutor) {
        self.executor = executor
        super.init(of: actor)
    }

    override var isCurrent: Bool { executor.isCurrent || !isMain && actor.map(executor.confirmsCaller) == true }

    // Acquiring, paired with the stores of `false`: a caller that sees the mailbox idle, and doesn't wait, also sees
    // what the observers' calls have written.
    override var isIdle: Bool { !isBusy.load(ordering: .acquiring) }

    override var description: String { actor.map { "\(type(of: $0))" } ?? "an actor that is gone" }

    // MARK: Posting

    override func post(
        _ value: any Sendable, to recipient: Registration, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        let urgency = notifier.urgency
        // The actor is loaded without the lock, when the first of several values is posted.
        var actor: (any Actor)?
        var isActorLoaded = isMain
        while true {
            let mustStartDrain = inbox.withLock { inbox -> Bool? in
                if !isMain, inbox.actor == nil {
                    guard isActorLoaded else { return nil }
                    inbox.actor = actor
                }
                pending.notePosted()
                recipient.notePosted()
                // Relaxed, because a caller that must wait for this value knows that it was posted, and so sees this
                // store or a later one.
                isBusy.store(true, ordering: .relaxed)
                return inbox.append(Job(value: value, recipient: recipient), urgency)
            }
            if let mustStartDrain { return mustStartDrain ? startDrain(urgency) : () }
            actor = self.actor
            isActorLoaded = true
        }
    }

    override func enqueueMarker(for settledWait: SettledWait) -> Bool {
        let urgency = Urgency.current
        let (mustWait, mustStartDrain) = inbox.withLock { inbox in
            if isIdle { return (false, false) }
            // The marker goes behind the pending values, so that the drain resumes the caller after them, and under no
            // lock.
            return (true, inbox.append(settledWait, urgency))
        }
        if mustStartDrain { startDrain(urgency) }
        return mustWait
    }

    /// Starts a drain on the actor; if the actor is gone, drains without it.
    ///
    /// `again` is true if this thread has just delivered some values, and must not go on with the rest itself.
    ///
    /// A separate task for each value would lose the order, because the runtime may start tasks in any order. The task
    /// is detached, because observers must not see the task-local values of the notifier that happened to start it.
    private func startDrain(_ urgency: Urgency, again: Bool = false) {
        let priority = urgency.priority
        if isMain {
            Task.detached(priority: priority) { @MainActor in self.drain(urgency) }
        } else if again || actor != nil {
            // The inbox keeps the actor alive until the actor has received the values that were sent to it. The task
            // doesn't, because it may begin long after a more urgent one has delivered them.
            Task.detached(priority: priority) {
                if let actor = self.actor { await self.drain(urgency, on: actor) } else { self.drain(urgency) }
            }
        } else {
            // The actor has been deallocated. If it was the observer's owner, delivering a value calls nothing.
            // Otherwise the observer has no isolation of its own and may be called anywhere. So drain here, but for no
            // longer than a turn.
            drain(urgency, isTimed: false)
        }
    }

    // MARK: Draining

    private func drain(_ urgency: Urgency, on actor: isolated any Actor) { drain(urgency) }

    /// Delivers the pending values, and those that arrive meanwhile, for one turn, and leaves the rest to another
    /// drain.
    private func drain(_ urgency: Urgency, isTimed: Bool = true) {
        guard inbox.withLock({ $0.drains.beginIfNoneIsRunning(urgency) }) else { return }
        var turn = Turn(isTimed: isTimed)
        while runNext() {
            if turn.isOver() { return handOverTheRest { _, inbox in inbox.drains.end() } }
        }
    }

    /// Runs the first job, and releases it before another drain can continue; returns false if there is no job.
    @inline(__always)
    private func runNext() -> Bool {
        guard let job = next() else { return false }
        job.run()
        return true
    }

    /// Takes out the first job, or ends the drain and returns nil if there is no job.
    private func next() -> Job? {
        var unheld: (any Actor)?
        // The actor is released here, after unlocking.
        defer { withExtendedLifetime(unheld) {} }
        return batch.withLock { batch in
            repeat {
                if let job = batch.popFirst() { return job }
            } while inbox.withLock { inbox in
                // fault: inbox-looked-into-once
                if batch.refill(from: &inbox) { return true }
                inbox.drains.end()
                unheld = noteIdleUnlessCatchingUp(batch.catchUps, &inbox)
                batch.checkInvariants(inbox)
                return false
            }
            return nil
        }
    }

    /// Ends a drain or a catch-up that may have left some values, and starts another drain for them.
    private func handOverTheRest(_ end: (inout Batch, inout Inbox) -> Void) {
        var unheld: (any Actor)?
        // The actor is released here, after unlocking.
        defer { withExtendedLifetime(unheld) {} }
        let urgency = withAll { batch, inbox -> Urgency? in
            end(&batch, &inbox)
            // Inside a call that a drain makes, that drain will continue and deliver the rest.
            if inbox.drains.running != nil { return nil }
            guard let urgency = batch.urgencyOfTheRest(&inbox) else {
                unheld = noteIdleUnlessCatchingUp(batch.catchUps, &inbox)
                return nil
            }
            return inbox.drains.reserve(urgency) ? urgency : nil
        }
        if let urgency { startDrain(urgency, again: true) }
    }

    /// Marks the mailbox as idle unless a catch-up is in progress, and returns the actor, which the caller must release
    /// after unlocking; called under both locks when no values are left.
    ///
    /// It may be the last reference: if two actors share an executor, code of the other one may be the caller.
    private func noteIdleUnlessCatchingUp(_ catchUps: Int, _ inbox: inout Inbox) -> (any Actor)? {
        // A catch-up has taken out values that it has not delivered yet, and a caller of `settled()` must wait for
        // them.
        guard catchUps == 0 else { return nil }
        isBusy.store(false, ordering: .releasing)
        return inbox.actor.take()
    }

    private func withAll<Result: Sendable>(_ body: (inout Batch, inout Inbox) -> Result) -> Result {
        batch.withLock { batch in
            inbox.withLock { inbox in
                defer { batch.checkInvariants(inbox) }
                return body(&batch, &inbox)
            }
        }
    }

    // MARK: In place, and the end of use

    /// Delivers the values that are pending for one observer, ahead of the values for other observers.
    ///
    /// If any are pending, this returns false in three cases:
    ///
    /// 1. Inside a call of that observer, because no value may overtake the value of the call. Inside a catch-up, too:
    ///    it may be releasing a value whose `deinit` notifies, or runs an event loop.
    /// 2. If the pending values aren't all among the latest `Turn.limit` pending values of the mailbox, because the
    ///    caller, perhaps an event handler, must not be delayed. Only the number counts, and not the time, so that
    ///    whether a call is made in place doesn't depend on the machine.
    /// 3. If the actor has been deallocated.
    override func catchUp(_ observer: AnyTarget, _ pending: borrowing PendingCount) -> Bool {
        if pending.isSettled { return true }
        // If the actor has been deallocated, another actor may now have its address, and another thread may be
        // delivering. The count is asked first, so that an observer with a large backlog isn't searched for.
        guard actor != nil, !pending.isInCallOrCatchUp, pending.count <= Turn.limit else { return false }
        // The values are counted under the lock under which they are posted. So these are all of them, the oldest
        // included.
        guard
            var jobs = withAll({ batch, inbox in batch.beginCatchUp(of: observer, pending.count, from: &inbox) })
        else { return false }
        // From here on, a drain in an event loop passes over the observer, so that no value overtakes those in `jobs`.
        pending.noteCatchUp()
        // The newest job comes first, so `popLast` takes the oldest one. Each job is released before the next one is
        // delivered.
        // fault: last-of-what-waits-first
        while let job = jobs.popLast() { job.run() }
        pending.noteReturn()
        handOverTheRest { batch, _ in batch.endCatchUp() }
        return true
    }

    override func endUse() {
        if isMain { return }
        let last = Shard.of(actorAddress).table.withLock { table -> ActorMailbox? in
            uses -= 1
            guard uses == 0, table[actorAddress] === self else { return nil }
            return table.removeAndTrim(actorAddress)
        }
        // The mailbox is released here, after unlocking, and not under the lock.
        withExtendedLifetime(last) {}
    }
}

// MARK: - The mailbox of an actor

extension ActorMailbox {
    private static let main = ActorMailbox(of: MainActor.shared, on: ActorExecutor(of: MainActor.shared))

    /// A part of the table of mailboxes, so that threads that add observers on different actors seldom wait for each
    /// other.
    private final class Shard: Sendable {
        /// The mailboxes that observers use, by the actors' addresses; the main actor's isn't among them.
        let table = Lock([UInt: ActorMailbox]())
        private let gap: Gap = (0, 0, 0, 0, 0, 0, 0, 0)

        private static let all = (0..<32).map { _ in Shard() }

        /// The shard of an actor, chosen by the bits in which the addresses of neighbouring objects differ.
        static func of(_ address: UInt) -> Shard { all[Int((address >> 5 ^ address >> 10) % 32)] }
    }

    /// Returns the mailbox of an actor for one more observer, which calls `endUse` when it is deallocated.
    static func of(_ actor: any Actor) -> ActorMailbox {
        if actor === MainActor.shared { return main }
        let (address, executor) = (Isolation.address(of: actor), ActorExecutor(of: actor))
        return Shard.of(address).table.withLock { table in
            // A deallocated actor may have had this address. To load a weak reference under the lock is safe here,
            // because that can't release the last strong reference: if it isn't nil, it refers to the caller's actor.
            // fault: mailbox-for-each-observer
            if let mailbox = table[address], mailbox.actor === actor {
                mailbox.uses += 1
                return mailbox
            }
            let fresh = ActorMailbox(of: actor, on: executor)
            table[address] = fresh
            return fresh
        }
    }
}
