/// The contract as a sequential program, in which a set is a plain array of entries.
///
/// It runs after the tested world, and compares each step with what that has reported. Where the contract leaves
/// something open, it follows the report: the order of releases, and when the entry of a dead owner is removed that no
/// traversal has met.
final class ModelWorld: World {
    /// A deliberate mistake, to prove that the comparison notices one.
    enum Fault: CaseIterable {
        case callsAddedDuringThePass, callsRemoved, callsDeadOwners, callsOnceTwice, callsInReverse
        case removesTwice, removesForeign, releasesDuringThePass, countsDead, finishesNoPassOfADeadSet
        case endsOneMemberOnly
        case callsAddedDuringTheEvent, tellsTheSuperclass, tellsTheDynamicType, tellsNotAllEvents
        case tellsAllEventsLast
        case keepsLocalRemoved, deliversNestedAtOnce, callsAddedWhileQueued
        case makesTwoCallsAtATime, deliversRemoved, callsLaterForDeadOwners, letsOwnersDieInCalls
        case dropsWhatADeadSetLeft, deliversWhatADeadSetLeft
        case dropsAtTheOtherEnd, countsNoLosses, countsTheCallAsWaiting
        case cancelsNothing, cancelsItself, cancelsTheNextCall, cancelsWithTheSet
        case settlesTooEarly, settlesTooLate, waitsForItsOwnCall, waitsForNoRemoved
        case releasesDuringTheCall
        case deliversByObserver, overtakesInPlace, callsInsideItsOwnCall
    }

    fileprivate final class Owner {
        let id: Int
        let program: Int
        let farewell: Int
        /// The world's own reference, and one for each call that is under way.
        var holds = 1
        /// What waits for the observers of this owner as an actor, whichever sets it was notified by.
        let mailbox = Mailbox()

        init(id: Int, program: Int, farewell: Int) {
            self.id = id
            self.program = program
            self.farewell = farewell
        }
    }

    /// What a token stands for: an entry in one set, or one entry for each member of a group.
    fileprivate final class Registration {
        let id: Int
        let operation: Operation
        let kind: Operation.Kind
        let owner: Owner?
        /// Only for an observer that awaits, or that belongs to an actor.
        let mailbox: Mailbox?
        /// For an observer of an actor: whether it is being called with a value that has waited.
        var isInCall = false
        var entries: [Entry] = []
        /// For a group's registration: whether `remove` has already returned true.
        var hasBeenEnded = false
        /// For a one-time observer: whether it has been called, or removed by its token.
        var isOver = false
        /// How often the observer's capture is held: for certain, and by entries that are being released at the moment.
        var firmHolds = 0
        var waningHolds = 0
        var isCaptureDead = false

        init(id: Int, operation: Operation, owner: Owner?) {
            self.id = id
            self.operation = operation
            kind = operation.kind
            self.owner = owner
            mailbox =
                operation.kind == .actorOwner ? owner!.mailbox : operation.kind.isAwaiting ? Mailbox() : nil
        }

        var isGroup: Bool { operation.members != nil }
        var isAlive: Bool { owner.map { $0.holds > 0 } ?? true }
        var stands: Bool { entries.contains { !$0.isRemoved } }
        var isActive: Bool { isAlive && !isOver && stands }
    }

    fileprivate final class Entry {
        // The world keeps all registrations that were ever made.
        unowned let registration: Registration
        let set: Model
        /// The number of this entry among all that were ever made, in all places.
        let time: Int
        var isRemoved = false
        /// For an observer with a mailbox: whether it was removed other than by its set's deallocation.
        var isEnded = false
        /// For an observer that awaits: whether a call could not be made because the owner is dead.
        var isDeathNoted = false
        /// How many values were lost because the mailbox was full.
        var lost = 0

        init(_ registration: Registration, in set: Model, at time: Int) {
            self.registration = registration
            self.set = set
            self.time = time
            registration.firmHolds += 1
            registration.entries.append(self)
        }

        var owner: Owner? { registration.owner }
        var isAlive: Bool { registration.isAlive }
    }

    /// The values that wait for an observer that awaits, and its current call.
    fileprivate final class Mailbox {
        var jobs: [Job] = []
        var call: Call?
        /// Whether the previous call was cancelled.
        var wasCancelled = false
        /// Whether a task that keeps the actor alive may be on its way.
        var hasTask = false

        var isBusy: Bool { call != nil || !jobs.isEmpty }

        /// Whether a job with at most that number must still be waited for; of any set, or only of the given one.
        func holds(upTo last: Int, of set: Model? = nil) -> Bool {
            func isOfThem(_ job: Job) -> Bool { job.number <= last && (set == nil || set === job.entry.set) }
            // A job for a dead owner, or for a removed observer of an actor, may be dropped at any time.
            // Their numbers ascend: those behind the last one are not looked at, of which there may be thousands.
            return jobs.lazy.prefix { $0.number <= last }
                .contains { isOfThem($0) && $0.entry.isAlive && !$0.entry.isEnded }
                || call.map { isOfThem($0.job) } ?? false
        }
    }

    /// A value that waits, or with which the observer has been called.
    fileprivate struct Job {
        let entry: Entry
        let value: Int
        /// The number of this job among all that were ever made, in all mailboxes.
        let number: Int
    }

    fileprivate final class Call {
        let job: Job
        var suspensions = 0
        var isSuspended = false
        var isCancelled = false

        init(with job: Job) { self.job = job }
    }

    /// A caller of `settled()` that is waiting.
    fileprivate struct Waiter {
        let number: Int
        /// The job of the call inside which it began to wait; zero if it was inside none.
        let caller: Int
        /// The last job that it waits for.
        let last: Int
        /// The set for which it waits, and which it keeps alive.
        let set: Model
        /// The mailboxes for which it must wait, and those that may still make it wait.
        let least: [Mailbox]
        var left: [Mailbox]
    }

    fileprivate final class Model {
        var entries: [Entry] = []
        var passes = 0
        /// For a local set: what was notified inside a notification, and has not been delivered yet.
        var queue: [(value: Int, time: Int)] = []
        var isNotifying = false
        /// The world's own reference, and one for each call of the set that is under way.
        var holds = 1
        /// Entries that were removed while a traversal was under way.
        var retired: [Entry] = []

        /// Those that were busy when an observer was removed, or when a traversal that was under way then ended.
        private var busyMailboxes: [Mailbox] = []

        var mailboxes: [Mailbox] {
            (entries.filter { !$0.isRemoved } + retired).compactMap(\.registration.mailbox) + busyMailboxes
        }

        func noteIfBusy(_ mailbox: Mailbox) {
            if mailbox.isBusy, !busyMailboxes.contains(where: { $0 === mailbox }) { busyMailboxes.append(mailbox) }
        }
    }

    /// The model of an `EventPublisher`, which owns the places of published events.
    fileprivate final class Publisher {
        let channels = [Model(), Model(), Model(), Model()]
        /// The world's own reference, and one for each call of the publisher that is under way.
        var holds = 1
    }

    private let fault: Fault?
    private var places: [Model] = []
    private var publisher = Publisher()
    private var owners: [Owner?]
    private var ownersMade = 0
    private var ownersAlive = 0
    private var registrations: [Registration] = []
    /// How many entries have ever been made.
    private var time = 0
    /// The registrations of observers that await which have a waiting value or a current call.
    private var busy: [Registration] = []
    private var waiters: [Waiter] = []
    /// How many jobs have ever been made.
    private var jobsMade = 0
    /// The job of the awaited call that is running now; zero if none is.
    private var inside = 0
    /// Whether waiting values are being delivered at the moment.
    private var isDelivering = false
    /// Owners that are kept alive by the delivery of what was notified to them.
    private var leaving: [Owner] = []
    /// Owners for whose observers, as an actor's, something waits.
    private var busyActors: [Owner] = []
    /// The actor on which an observer is being called, if it is an observer of an actor.
    private var here: Owner?

    private var told: [Occurrence] = []
    private var position = 0
    /// The first difference: what the contract says, and what was reported instead.
    private(set) var divergence: String?

    init(routines: [[Operation]], fault: Fault?) {
        self.fault = fault
        owners = Array(repeating: nil, count: OperationGenerator.ownerCount)
        for _ in 0..<Place.count { places.append(Model()) }
        super.init(routines: routines)
        enter(publisher)
    }

    /// Performs one operation, and compares it with what the tested world has reported for it.
    func follow(_ events: [Occurrence], _ body: (World) -> Void) {
        told = events
        position = 0
        body(self)
        if divergence == nil, position < told.count { diverge("nothing more") }
        told = []
    }

    private func enter(_ publisher: Publisher) {
        self.publisher = publisher
        for place in Place.value...Place.all { places[place] = publisher.channels[place - Place.value] }
    }

    // MARK: Changes

    override func add(_ operation: Operation) {
        var owner: Owner?
        if operation.kind.hasOwner {
            owner = owners[operation.owner] ?? newOwner(nil)
            owners[operation.owner] = owner
        }
        let registration = Registration(id: registrations.count, operation: operation, owner: owner)
        registrations.append(registration)
        homes.append(operation.place)
        for place in operation.places { append(registration, to: places[place]) }
    }

    private func append(_ registration: Registration, to set: Model) {
        time += 1
        set.entries.append(Entry(registration, in: set, at: time))
    }

    override func remove(_ registration: Int, by place: Int?) {
        let registration = registrations[registration]
        let caller = place.map { places[$0] }
        let isAddressed =
            caller == nil || (!registration.isGroup && caller === registration.entries[0].set)
            || fault == .removesForeign
        caller?.holds += 1
        let isEnded = isAddressed && end(registration)
        if let caller { release(caller) }
        expect(Occurrence(.removed, registration.id, isEnded))
    }

    /// Does what a token's `remove` does, and returns the same.
    private func end(_ registration: Registration) -> Bool {
        if registration.kind.isOnce {
            if registration.isOver { return fault == .removesTwice }
            registration.isOver = true
        }
        var isEnded = fault == .removesTwice
        for entry in registration.entries {
            if entry.isRemoved {
                if fault != .deliversWhatADeadSetLeft { dropWhatIsLeft(for: entry) }
                continue
            }
            if entry.isAlive { isEnded = true }
            if fault == .keepsLocalRemoved, Place.isLocal(registration.operation.place) { continue }
            remove([entry], from: entry.set)
            if fault == .endsOneMemberOnly { break }
        }
        if registration.isGroup, isEnded {
            // An observer or a `deinit` may have removed the rest meanwhile.
            if registration.hasBeenEnded { return false }
            registration.hasBeenEnded = true
        }
        return isEnded
    }

    /// Drops what a set enqueued before it was deallocated.
    private func dropWhatIsLeft(for entry: Entry) {
        if entry.isEnded { return }
        cancel([entry])
        endCaptureIfUnheld(of: entry.registration)
    }

    override func removeAll(place: Int) {
        let set = places[place]
        set.holds += 1
        removeAll(from: set, dropping: true)
        release(set)
    }

    override func removeAll(place: Int, owner: Int) {
        guard let owner = owners[owner] else { return }
        var count = 0
        for set in Place.isPublished(place) ? publisher.channels : [places[place]] {
            let owned = set.entries.filter { $0.owner === owner && !$0.isRemoved }
            remove(owned, from: set)
            count += owned.count
        }
        expect(Occurrence(.removedOwned, owner.id, count))
    }

    /// Ends registrations as their tokens do: what waits for them is dropped.
    private func remove(_ entries: [Entry], from set: Model) {
        for entry in entries { entry.isRemoved = true }
        cancel(entries)
        retire(entries, from: set)
    }

    private func removeAll(from set: Model, dropping: Bool) {
        set.queue = []
        let all = set.entries.filter { !$0.isRemoved }
        for entry in all { entry.isRemoved = true }
        if dropping || fault == .dropsWhatADeadSetLeft { cancel(all) }
        if fault == .cancelsWithTheSet { for entry in all { entry.registration.mailbox?.call?.isCancelled = true } }
        retire(all, from: set)
    }

    // MARK: Lifetimes

    override func replaceOwner(_ owner: Int, by successor: Operation?) {
        let old = owners[owner]
        owners[owner] = successor.map(newOwner)
        if let old { release(old) }
    }

    override func replace(place: Int) {
        if Place.isPublished(place) {
            let old = publisher
            enter(Publisher())
            silently { release(old) }
        } else {
            let old = places[place]
            places[place] = Model()
            release(old)
        }
    }

    private func newOwner(_ operation: Operation?) -> Owner {
        ownersMade += 1
        ownersAlive += 1
        return Owner(id: ownersMade, program: operation?.program ?? 0, farewell: operation?.farewell ?? 0)
    }

    // MARK: Releasing

    private func release(_ owner: Owner) {
        owner.holds -= 1
        guard owner.holds == 0 else { return }
        if mayBeKept(owner) {
            owner.holds = 1
            return leaving.append(owner)
        }
        ownersAlive -= 1
        expect(death(of: owner))
        run(owner.farewell)
    }

    private func death(of owner: Owner) -> Occurrence { Occurrence(.ownerDied, owner.id, here?.id ?? 0) }

    private func release(_ set: Model) {
        set.holds -= 1
        if set.holds == 0 { removeAll(from: set, dropping: false) }
    }

    private func release(_ publisher: Publisher) {
        publisher.holds -= 1
        guard publisher.holds == 0 else { return }
        var all: [Entry] = []
        for channel in publisher.channels {
            all += channel.entries.filter { !$0.isRemoved }
            channel.entries = []
        }
        for entry in all { entry.isRemoved = true }
        release(all)
    }

    /// Releases entries at once, or when the traversals under way have ended.
    private func retire(_ entries: [Entry], from set: Model) {
        if entries.isEmpty { return }
        if set.passes == 0 { set.entries.removeAll { $0.isRemoved } }
        if set.passes == 0 || fault == .releasesDuringThePass {
            release(entries)
        } else {
            set.retired += entries
        }
    }

    /// Captures are deallocated one after another, in an order that the contract leaves open.
    ///
    /// A capture that several entries hold is deallocated with the last of them. If an outer call is releasing others
    /// of these entries at the moment, that may happen here or there. The operation that was reported with the
    /// deallocation says which.
    private func release(_ entries: [Entry]) {
        var waiting: [Registration] = []
        for entry in entries where entry.owner == nil {
            // Captures of observers with an owner do not report their deallocation.
            entry.registration.firmHolds -= 1
            entry.registration.waningHolds += 1
            waiting.append(entry.registration)
        }
        if waiting.isEmpty { return }
        while divergence == nil,
            let index = waiting.firstIndex(where: {
                $0.firmHolds == 0 && !$0.isCaptureDead && next == Occurrence(.captureDied, $0.id, innermost)
            })
        {
            position += 1
            let registration = waiting.remove(at: index)
            registration.waningHolds -= 1
            registration.isCaptureDead = true
            run(registration.operation.farewell)
        }
        for registration in waiting { registration.waningHolds -= 1 }
        let late = waiting.filter { $0.firmHolds == 0 && $0.waningHolds == 0 && !$0.isCaptureDead }
        if !late.isEmpty { diverge("the end of the captures \(Set(late.map(\.id)).sorted()), in any order") }
    }

    // MARK: Traversals

    override func notify(place: Int, form: Int, _ value: Int) {
        if Place.isPublished(place) { return publish(place: place, form: form, value) }
        let set = places[place]
        if Place.isLocal(place), set.isNotifying, fault != .deliversNestedAtOnce {
            return set.queue.append((value, fault == .callsAddedWhileQueued ? .max : time))
        }
        set.holds += 1
        set.isNotifying = true
        pass(over: set, place: place, value, time: time)
        while !set.queue.isEmpty {
            let (value, time) = set.queue.removeFirst()
            pass(over: set, place: place, value, time: time)
        }
        set.isNotifying = false
        release(set)
    }

    private func publish(place: Int, form: Int, _ value: Int) {
        let publisher = publisher
        publisher.holds += 1
        let time = fault == .callsAddedDuringTheEvent ? Int.max : time
        // Form 1 publishes an object as one of the superclass.
        let isOfSuperclass = place == Place.derived && form == 1 && fault != .tellsTheDynamicType
        var channels = [isOfSuperclass ? Place.base : place]
        if fault == .tellsTheSuperclass, channels == [Place.derived] { channels.append(Place.base) }
        if place != Place.all, fault != .tellsNotAllEvents {
            channels.insert(Place.all, at: fault == .tellsAllEventsLast ? channels.count : 0)
        }
        for channel in channels {
            pass(over: publisher.channels[channel - Place.value], place: channel, value, time: time)
        }
        silently { release(publisher) }
    }

    /// Calls the observers that were there at that time.
    private func pass(over set: Model, place: Int, _ value: Int, time: Int) {
        var met: [Entry] = []
        set.passes += 1
        call(set, place: place, value, time: time, &met)
        set.passes -= 1
        if set.passes == 0 {
            if !set.retired.isEmpty {
                set.entries.removeAll { $0.isRemoved }
                let retired = set.retired
                set.retired = []
                retired.compactMap(\.registration.mailbox).forEach(set.noteIfBusy)
                release(retired)
            }
        }
        // A traversal removes the entries of dead owners that it has met. For an observer that awaits, the death may
        // not have been noted on each entry, so all of its entries in this set are removed.
        met += met.flatMap { $0.registration.mailbox == nil ? [] : $0.registration.entries.filter { $0.set === set } }
        for entry in met where !entry.isRemoved {
            remove([entry], from: set)
        }
    }

    /// Calls the observers, and notes those whose owners are dead.
    private func call(_ set: Model, place: Int, _ value: Int, time: Int, _ met: inout [Entry]) {
        // Entries that are added meanwhile come after this index.
        let end = set.entries.count
        var index = 0
        while index < (fault == .callsAddedDuringThePass ? set.entries.count : end), divergence == nil {
            let entry = set.entries[fault == .callsInReverse ? end - 1 - index : index]
            index += 1
            if fault == .finishesNoPassOfADeadSet, places[place] !== set { break }
            if entry.isRemoved, fault != .callsRemoved { continue }
            if entry.time > time, fault != .callsAddedDuringThePass { continue }
            if entry.registration.mailbox != nil {
                // Whether the owner is alive is checked where the observer runs.
                if entry.isDeathNoted {
                    met.append(entry)
                } else if entry.registration.kind == .actorOwner {
                    deliver(value, to: entry, here: Place.sets.contains(place) ? here : nil)
                } else {
                    post(value, to: entry)
                }
            } else if entry.isAlive || fault == .callsDeadOwners {
                call(entry, value)
            } else {
                met.append(entry)
            }
        }
    }

    private func call(_ entry: Entry, _ value: Int) {
        let registration = entry.registration
        let value = registration.isGroup ? 0 : value
        if registration.kind == .method {
            let owner = entry.owner!
            owner.holds += 1
            expect(Occurrence(.methodCalled, owner.id, value))
            run(owner.program)
            return release(owner)
        }
        if registration.kind.isOnce, registration.isOver { return }
        entry.owner?.holds += 1
        // One that is called once is removed before it is called.
        if registration.kind.isOnce, fault != .callsOnceTwice { _ = end(registration) }
        expect(Occurrence(.called, registration.id, value))
        run(registration.operation.program)
        if let owner = entry.owner { release(owner) }
    }

    // MARK: Observers of an actor

    /// Calls the observer at once if the notifier is on its actor, and posts the value otherwise.
    private func deliver(_ value: Int, to entry: Entry, here: Owner?) {
        let registration = entry.registration
        let value = registration.isGroup ? 0 : value
        let owner = entry.owner!
        guard here === owner, !registration.isInCall || fault == .callsInsideItsOwnCall else {
            return postToActor(value, entry)
        }
        // What waits for this observer comes first, and nothing else.
        if fault != .overtakesInPlace {
            for job in owner.mailbox.jobs where job.entry.registration === registration {
                owner.mailbox.jobs.removeAll { $0.number == job.number }
                callFromMailbox(job)
            }
        }
        if !entry.isEnded { call(entry, value, onActorOf: owner) }
    }

    private func postToActor(_ value: Int, _ entry: Entry) {
        let owner = entry.owner!
        guard owner.holds > 0 else {
            // A value for an actor that is gone finds that out at once.
            entry.isDeathNoted = true
            return
        }
        jobsMade += 1
        let job = Job(entry: entry, value: value, number: jobsMade)
        let mailbox = owner.mailbox
        let last = mailbox.jobs.lastIndex { $0.entry.registration === entry.registration }
        mailbox.jobs.insert(
            job, at: fault == .deliversByObserver ? last.map { $0 + 1 } ?? mailbox.jobs.count : mailbox.jobs.count)
        mailbox.hasTask = true
        if !busyActors.contains(where: { $0 === owner }) { busyActors.append(owner) }
    }

    private func callFromMailbox(_ job: Job) {
        guard !job.entry.isEnded || fault == .deliversRemoved else { return }
        let registration = job.entry.registration
        registration.isInCall = true
        call(job.entry, job.value, onActorOf: registration.owner!)
        registration.isInCall = false
    }

    private func call(_ entry: Entry, _ value: Int, onActorOf owner: Owner) {
        let before = here
        here = owner
        owner.holds += 1
        expect(Occurrence(.called, entry.registration.id, value))
        run(entry.registration.operation.program)
        here = before
        release(owner)
    }

    /// Whether that call is what the actor's mailbox has first; then it is made.
    private func follow(_ event: Occurrence, of owner: Owner) -> Bool {
        let mailbox = owner.mailbox
        mailbox.jobs.removeAll { $0.entry.isEnded && fault != .deliversRemoved }
        guard let job = mailbox.jobs.first, event == Occurrence(.called, job.entry.registration.id, job.value) else {
            return false
        }
        mailbox.jobs.removeFirst()
        callFromMailbox(job)
        return true
    }

    // MARK: Observers that await

    private func post(_ value: Int, to entry: Entry) {
        let registration = entry.registration
        guard let mailbox = registration.mailbox else { return }
        jobsMade += 1
        let job = Job(entry: entry, value: registration.isGroup ? 0 : value, number: jobsMade)
        let room = registration.operation.room - (fault == .countsTheCallAsWaiting && mailbox.call != nil ? 1 : 0)
        if mailbox.jobs.count >= room {
            guard registration.operation.keepsNewest != (fault == .dropsAtTheOtherEnd), !mailbox.jobs.isEmpty else {
                return lose(job)
            }
            lose(mailbox.jobs.removeFirst())
            registration.firmHolds -= 1
        }
        mailbox.jobs.append(job)
        mailbox.hasTask = true
        registration.firmHolds += 1
        if !busy.contains(where: { $0 === registration }) { busy.append(registration) }
    }

    private func lose(_ job: Job) { if fault != .countsNoLosses { job.entry.lost += 1 } }

    /// Drops the values that wait for removed observers, and cancels their calls.
    private func cancel(_ entries: [Entry]) {
        for entry in entries {
            guard let mailbox = entry.registration.mailbox else { continue }
            entry.isEnded = true
            entry.set.noteIfBusy(mailbox)
            // What waits for it in the actor's mailbox is dropped when its turn comes.
            if entry.registration.kind == .actorOwner { continue }
            // A call that removes its own observer goes on.
            if let call = mailbox.call, call.job.entry === entry, inside != call.job.number || fault == .cancelsItself {
                if fault != .cancelsNothing { call.isCancelled = true }
                if fault == .releasesDuringTheCall { entry.registration.firmHolds -= 1 }
            }
            if fault == .deliversRemoved { continue }
            // The entry itself is released later.
            entry.registration.firmHolds -= mailbox.jobs.count { $0.entry === entry }
            mailbox.jobs.removeAll { $0.entry === entry }
            // An actor that was held only for these values goes now.
            let owner = entry.registration.owner
            if mailbox.jobs.isEmpty, let index = leaving.firstIndex(where: { $0 === owner && next == death(of: $0) }) {
                release(leaving.remove(at: index))
            }
        }
    }

    /// The contract leaves the order between the calls of different observers open.
    ///
    /// So this follows the reported order, as long as each call is allowed at that moment.
    override func deliver() {
        isDelivering = true
        while divergence == nil, let next, follow(next) {}
        isDelivering = false
        if divergence == nil { rest() }
    }

    /// Performs the reported event, if it is allowed at this moment.
    private func follow(_ event: Occurrence) -> Bool {
        if event.isAbout(.settled, event.subject) { return endWaiting(event.subject) }
        if event.isAbout(.ownerDied, event.subject) {
            // Not before it has received what was notified to it.
            guard let index = leaving.firstIndex(where: { $0.id == event.subject }),
                !leaving[index].mailbox.jobs.contains(where: { !$0.entry.isEnded })
            else { return false }
            release(leaving.remove(at: index))
            return true
        }
        if busyActors.contains(where: { follow(event, of: $0) }) { return true }
        guard let registration = busy.first(where: { $0.id == event.subject }), let mailbox = registration.mailbox
        else {
            return false
        }
        if event.isAbout(.called, registration.id) {
            guard mailbox.call == nil, registration.isAlive, let job = mailbox.jobs.first, job.value == event.value
            else {
                return false
            }
            mailbox.jobs.removeFirst()
            begin(Call(with: job), of: registration, mailbox)
            return true
        }
        if event.isAbout(.resumed, registration.id) {
            guard let call = mailbox.call, !call.isSuspended else { return false }
            inside = call.job.number
            expect(Occurrence(.resumed, registration.id, call.isCancelled))
            run(registration.operation.sequel)
            goOn(call, of: registration, mailbox)
            return true
        }
        return false
    }

    private func begin(_ call: Call, of registration: Registration, _ mailbox: Mailbox) {
        if fault == .cancelsTheNextCall { call.isCancelled = mailbox.wasCancelled }
        if let owner = registration.owner, fault != .letsOwnersDieInCalls {
            owner.holds += 1
            if let index = leaving.firstIndex(where: { $0 === owner }) { release(leaving.remove(at: index)) }
        }
        mailbox.call = call
        inside = call.job.number
        expect(Occurrence(.called, registration.id, call.job.value))
        run(registration.operation.program)
        goOn(call, of: registration, mailbox)
    }

    /// Continues the call until it is suspended again, or to its end.
    private func goOn(_ call: Call, of registration: Registration, _ mailbox: Mailbox) {
        defer { inside = 0 }
        if call.suspensions < registration.operation.suspensions {
            call.suspensions += 1
            call.isSuspended = true
            return suspended.append(registration.id)
        }
        expect(Occurrence(.returned, registration.id, call.isCancelled))
        if let owner = registration.owner, fault != .letsOwnersDieInCalls { release(owner) }
        inside = 0
        mailbox.wasCancelled = call.isCancelled
        mailbox.call = nil
        if fault != .releasesDuringTheCall || !call.isCancelled { registration.firmHolds -= 1 }
        endCaptureIfUnheld(of: registration)
    }

    private func endCaptureIfUnheld(of registration: Registration) {
        guard registration.owner == nil, registration.firmHolds == 0, !registration.isCaptureDead else { return }
        // As in `release`, an outer call may be the one that releases it.
        if registration.waningHolds > 0, next != Occurrence(.captureDied, registration.id, innermost) { return }
        registration.isCaptureDead = true
        expect(Occurrence(.captureDied, registration.id, innermost))
        run(registration.operation.farewell)
    }

    override func letOn(_ index: Int) {
        let id = suspended.remove(at: index)
        registrations[id].mailbox?.call?.isSuspended = false
    }

    /// Checks, when nothing more was reported, that nothing is left that should have happened by itself.
    private func rest() {
        for registration in busy {
            guard let mailbox = registration.mailbox else { continue }
            if let call = mailbox.call, !call.isSuspended { diverge("that the call of \(registration.id) goes on") }
            guard let job = mailbox.jobs.first, mailbox.call == nil || fault == .makesTwoCallsAtATime else { continue }
            if registration.isAlive || fault == .callsLaterForDeadOwners {
                diverge("\(Occurrence(.called, registration.id, job.value))")
            }
            for job in mailbox.jobs { job.entry.isDeathNoted = true }
            mailbox.jobs = []
        }
        for owner in busyActors {
            owner.mailbox.jobs.removeAll { $0.entry.isEnded }
            if let job = owner.mailbox.jobs.first {
                diverge("\(Occurrence(.called, job.entry.registration.id, job.value))")
            }
            owner.mailbox.hasTask = false
        }
        busyActors = []
        // A task goes on where a call is suspended.
        for registration in busy { registration.mailbox!.hasTask = registration.mailbox!.call != nil }
        if let owner = leaving.first { diverge("\(death(of: owner))") }
        busy.removeAll { !$0.mailbox!.isBusy }
        for index in waiters.indices where divergence == nil {
            let waiter = waiters[index]
            waiters[index].left.removeAll { mailbox in
                if waiter.caller != 0, mailbox.call?.job.number == waiter.caller { return true }
                return switch fault {
                case .settlesTooEarly: mailbox.jobs.isEmpty
                case .waitsForNoRemoved where mailbox.call?.isCancelled == true: true
                default: !mailbox.holds(upTo: waiter.last)
                }
            }
            if waiters[index].left.isEmpty { diverge("\(Occurrence(.settled, waiter.number, 0))") }
        }
    }

    /// Whether the owner, an actor, is kept alive by a task that delivers what was notified to it, or is on its way.
    ///
    /// It is not reported when such a task ends, nor whether values are still pending that keep the owner. So the owner is
    /// taken to be kept unless its deallocation was reported.
    private func mayBeKept(_ owner: Owner) -> Bool {
        let isKept =
            owner.mailbox.hasTask
            || busy.contains { registration in
                registration.owner === owner && registration.kind == .awaitedActorOwner && registration.mailbox!.hasTask
            }
        return isKept && next != death(of: owner)
    }

    // MARK: Waiting until a source is settled

    override func settle(place: Int, _ number: Int) {
        let set = places[place]
        let least = set.mailboxes.filter { mailbox in
            inside == 0 || mailbox.call?.job.number != inside || fault == .waitsForItsOwnCall
        }
        set.holds += 1
        waiters.append(
            Waiter(number: number, caller: inside, last: jobsMade, set: set, least: least, left: set.mailboxes))
        // It finishes at once if there is nothing to wait for.
        if next == Occurrence(.settled, number, 0) { _ = endWaiting(number) }
    }

    private func endWaiting(_ number: Int) -> Bool {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return false }
        let waiter = waiters[index]
        // If sets share a mailbox, another set's jobs in it are waited for only as long as this set has the mailbox. So they
        // are not required here.
        let last = fault == .settlesTooLate ? .max : waiter.last
        if waiter.least.contains(where: { $0.holds(upTo: last, of: waiter.set) }) { return false }
        waiters.remove(at: index)
        expect(Occurrence(.settled, number, 0))
        // The set is released by the task that has waited; it was started inside the call `waiter.caller`.
        let outside = inside
        inside = waiter.caller
        release(waiter.set)
        inside = outside
        return true
    }

    override func countLost(_ registration: Int) {
        let registration = registrations[registration]
        let lost = registration.entries.reduce(0) { $0 + ($1.isRemoved || !$1.isAlive ? 0 : $1.lost) }
        expect(Occurrence(.lost, registration.id, lost))
    }

    // MARK: Questions

    override func count(place: Int) {
        // Whether the place is empty is asked as well.
        let count = livingCount(place: place)
        expect(Occurrence(.counted, place, count))
        expect(Occurrence(.isEmpty, place, count == 0))
    }

    override func isActive(_ registration: Int) {
        expect(Occurrence(.isActive, registration, registrations[registration].isActive))
    }

    /// How many tracked objects may be alive: owners and captures of living observers; at most, also captures of dead
    /// owners' observers.
    var trackedObjects: ClosedRange<Int> {
        var least = ownersAlive
        var most = ownersAlive
        var sets = places
        for set in waiters.map(\.set) where !sets.contains(where: { $0 === set }) { sets.append(set) }
        for set in sets {
            for entry in set.entries where !entry.isRemoved && entry.registration.kind != .method {
                // The entries of one registration share the capture.
                if entry.registration.isGroup {
                    guard entry.registration.entries.first(where: { !$0.isRemoved }) === entry else { continue }
                }
                most += 1
                if entry.isAlive { least += 1 }
            }
        }
        let calledAfterwards = busy.count { !$0.stands && $0.mailbox!.isBusy }
        return least + calledAfterwards...most + calledAfterwards
    }

    /// Whether a caller of `settled()` keeps a set alive that is in no place any more, and so is not notified any more.
    var isOldSetKept: Bool { waiters.contains { waiter in !places.contains { $0 === waiter.set } } }

    /// How many entries there are, including those of dead owners.
    var entryCount: Int { places.reduce(0) { $0 + $1.entries.count } }

    /// How many observers of the place have a living owner, or no owner at all.
    private func livingCount(place: Int) -> Int {
        places[place].entries.count { !$0.isRemoved && ($0.isAlive || fault == .countsDead) }
    }

    // MARK: Comparing

    private var next: Occurrence? { position < told.count ? told[position] : nil }

    override func tell(_ event: Occurrence) { expect(event) }

    private func expect(_ event: Occurrence) {
        guard divergence == nil else { return }
        guard position < told.count, told[position].bits == event.bits else { return diverge("\(event)") }
        position += 1
    }

    /// Releases everything without comparing it with what was reported.
    func abandon() {
        divergence = divergence ?? "abandoned"
        close()
        breakCycles()
    }

    /// Breaks reference cycles at the end: after a divergence, or with a deliberate mistake, sets may still have
    /// entries, which refer to their sets.
    func breakCycles() {
        for registration in registrations {
            for entry in registration.entries {
                entry.set.entries = []
                entry.set.retired = []
            }
            registration.entries = []
        }
    }

    private func diverge(_ expected: String) {
        guard divergence == nil else { return }
        let before = told[..<position].suffix(12).map { "  \($0)" }.joined(separator: "\n")
        divergence = """
            told, as the contract says:
            \(before)
            then the contract says: \(expected)
            but it was told: \(next.map { "\($0)" } ?? "nothing more")
            """
    }
}
