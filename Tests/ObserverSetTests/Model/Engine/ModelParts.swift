import ObserverSet

// What the model's world consists of. None of these types does anything by itself.

extension ModelWorld {
    /// An object whose deallocation the tested world reports, unless the contract leaves the time open.
    class Mortal {
        /// How it is reported; nil if it isn't.
        let tag: Occurrence.Tag?
        let id: Int
        let farewell: Int
        /// How often it is held: for certain, and by what is being released at the moment.
        var holds = 0
        var waning = 0
        var isDead = false

        init(_ tag: Occurrence.Tag?, _ id: Int, _ farewell: Int) {
            self.tag = tag
            self.id = id
            self.farewell = farewell
        }
    }

    final class Owner: Mortal {
        let program: Int
        /// The owner as an actor.
        let actor = Mailbox()
        /// Those of its observers on it that await, and those of them that have no limit.
        var awaiting: [Mailbox] = []
        var unbounded: [Mailbox] = []

        init(_ id: Int, _ operation: Operation?) {
            program = operation?.program ?? 0
            super.init(.ownerDied, id, operation?.farewell ?? 0)
        }

        /// Whether something is pending for it as an actor, which keeps it alive.
        var isHeldByMailboxes: Bool { !actor.jobs.isEmpty || unbounded.contains(where: \.isBusy) }
        /// Whether a task may keep it alive that has been started, and has not ended.
        var mayHaveTask: Bool { actor.hasTask || awaiting.contains(where: \.hasTask) }
    }

    final class Sender {}

    struct Parcel {
        let number: Int
        var cargo: Mortal?

        func plus(_ difference: Int) -> Parcel { Parcel(number: number + difference, cargo: cargo) }
    }

    /// What stands between a set and an observer.
    enum Wrap {
        /// The program that the function runs, or nil if it isn't the client's.
        case function(Int?, (Parcel) -> Parcel?)
        case sender(Sender)
        case gate(Gate)

        static var identity: Wrap { .function(nil) { $0 } }

        var isGate: Bool { if case .gate = self { true } else { false } }
        var isPassed: Bool { if case .gate(let gate) = self { gate.isPassed } else { false } }
    }

    /// What lets only one call through; between its two steps, a removal may still prevent the call.
    final class Gate {
        var isPassed = false
        /// Whether a call has begun, or a removal has prevented it.
        var isDecided = false
        var token: Token?

        func decide() { (isPassed, isDecided) = (true, true) }
    }

    /// What the registrations of an observer share or not: whether it has ended, and how many values are pending.
    final class State {
        /// Whether the observer's other registrations are made from this one, and hold it.
        let isFirst: Bool
        var isClaimed = false
        private(set) var isRemoved = false
        /// The operation that has removed it.
        private(set) var removal = 0
        var pending = 0
        var dropped = 0

        init(isFirst: Bool = false) { self.isFirst = isFirst }

        var isRegistered: Bool { isClaimed && !isRemoved }

        func remove(in operation: Int) {
            if !isRemoved { (isRemoved, removal) = (true, operation) }
        }
    }

    /// An observer on its way to a set.
    struct Link {
        var chain: [Wrap] = []
        var state: State?

        func adding(_ wrap: Wrap) -> Link { Link(chain: chain + [wrap], state: state ?? State()) }

        var isCalledOnce: Bool { chain.contains(where: \.isGate) }
        var isClosed: Bool { chain.contains(where: \.isPassed) }
    }

    final class Observer {
        let id: Int
        let operation: Operation
        let owner: Owner?
        /// What its closure captures; for a stream, what finishes it.
        let capture: Mortal
        let mailbox: Mailbox?
        /// Whether it is being called with a value that was pending.
        var isInCall = false
        /// For a stream: its token, the elements in its buffer, what a task has received, and how many were dropped.
        var token: Token?
        var buffer: [Int] = []
        var arrived: Int?
        var dropped = 0
        var isCancelled = false
        var isReleased = false

        init(_ id: Int, _ operation: Operation, _ owner: Owner?) {
            self.id = id
            self.operation = operation
            self.owner = owner
            let isReported = !operation.kind.hasOwner && operation.kind != .stream
            capture = Mortal(isReported ? .captureDied : nil, id, operation.farewell)
            mailbox =
                switch operation.kind {
                case .actorOwner: owner!.actor
                case let kind where kind.isInPlace || kind == .stream: nil
                default: Mailbox()
                }
        }

        var kind: Operation.Kind { operation.kind }
        var isAlive: Bool { owner?.isDead != true }
        /// Whether nothing will happen to it any more.
        var isOver: Bool { capture.isDead && mailbox?.isBusy != true && kind != .stream }
    }

    /// The registration of an observer in a set.
    final class Entry {
        let observer: Observer
        let link: Link
        let set: Model
        /// The number of this entry among all that were ever made.
        let time: Int
        var isRemoved = false
        /// Whether it was removed by its set's end, which drops nothing, while something was pending.
        var isLeft = false

        init(_ observer: Observer, _ link: Link, _ set: Model, _ time: Int) {
            self.observer = observer
            self.link = link
            self.set = set
            self.time = time
            observer.capture.holds += 1
        }
    }

    final class Token {
        enum Kind {
            case entry(Entry)
            case combined([Token])
            case once(Gate, Token)
            /// The registration of a first value that is in no set, and a stream's count.
            case unregistered(State, Observer)
            case dropped(Observer)
        }

        let kind: Kind
        let isLocal: Bool
        var hasBeenRemoved = false

        init(_ kind: Kind, isLocal: Bool = false) {
            self.kind = kind
            self.isLocal = isLocal
        }

        /// Combinations are never nested.
        static func combined(_ tokens: [Token]) -> Token {
            Token(.combined(tokens.flatMap { if case .combined(let parts) = $0.kind { parts } else { [$0] } }))
        }

        var standsForRegistrations: Bool {
            switch kind {
            case .entry, .once: true
            case .combined(let tokens): tokens.contains(where: \.standsForRegistrations)
            case .unregistered, .dropped: false
            }
        }

        func forEachEntry(_ body: (Entry) -> Void) {
            switch kind {
            case .entry(let entry): body(entry)
            case .combined(let tokens): for token in tokens { token.forEachEntry(body) }
            case .once(_, let token): token.forEachEntry(body)
            case .unregistered, .dropped: break
            }
        }

        /// The delegate's owner, if it is the token of a multicast.
        var delegate: Owner? {
            if case .entry(let entry) = kind, entry.set.place == Place.delegates { entry.observer.owner } else { nil }
        }
    }

    final class Bag {
        var tokens: [Token] = []
        var holds = 1
    }

    /// The values that are pending for an observer or an actor, and the current call of an observer that awaits.
    final class Mailbox {
        var jobs: [Job] = []
        var call: Call?
        /// Whether a task that delivers may be on its way.
        var hasTask = false

        var isBusy: Bool { call != nil || !jobs.isEmpty }
    }

    /// A value that has reached an observer; the set that has sent it is nil if it is a first value.
    struct Sent {
        let observer: Observer
        let link: Link
        let value: Parcel
        let set: Model?
    }

    /// A value that is pending, or with which an observer that awaits is being called.
    final class Job {
        let observer: Observer
        let link: Link
        let value: Parcel
        /// The set that has sent the value; nil if it is a first value.
        let set: Model?
        /// The number of this job among all that were ever made.
        let number: Int
        init(_ observer: Observer, _ link: Link, _ value: Parcel, _ set: Model?, _ number: Int) {
            self.observer = observer
            self.link = link
            self.value = value
            self.set = set
            self.number = number
            for object in objects { object.holds += 1 }
        }

        var sent: Sent { Sent(observer: observer, link: link, value: value, set: set) }

        var objects: [Mortal] { [observer.capture] + (value.cargo.map { [$0] } ?? []) }
    }

    final class Call {
        let job: Job
        var suspensions = 0
        var isSuspended = false
        var isCancelled = false
        /// Whether it may have been cancelled by what is called only perhaps.
        var mayBeCancelled = false

        init(with job: Job) { self.job = job }
    }

    /// A caller of `settled()` or `removeAndWait()` that is waiting.
    struct Waiter {
        /// What is reported when it goes on, and what `removeAndWait()` may return.
        let tag: Occurrence.Tag
        let number: Int
        var results = [false]
        /// The job of the call inside which it began to wait; zero if it was inside none.
        let caller: Int
        /// The last job for which it must wait, and the last one that may make it wait.
        let last: Int
        let latest: Int
        /// The sets for which it waits, and those of them that it keeps alive.
        let sets: [Model]
        let held: [Model]
        let cargo: [Mortal]
        /// The mailboxes for which it must wait, and those that may still make it wait; nil if all may.
        let least: [Mailbox]
        let most: [Mailbox]?
        /// How often the queue must have run before it goes on, if it began to wait while the queue ran.
        let queueRuns: Int

        /// Whether it waits for a value: for what these sets have sent, as long as they exist, or for everything.
        func concerns(_ job: Job) -> Bool {
            sets.isEmpty || sets.contains { $0 === job.set && !$0.isGone }
        }
    }

    /// A set, or the observers of one type of events, or of one name.
    final class Model {
        let place: Int
        var entries: [Entry] = []
        var passes = 0
        /// How many passes may be under way besides.
        var doubts = 0
        /// The world's own reference, and one for each use of the set that is under way.
        var holds = 1
        var isGone = false
        /// Entries that were removed while a notification was in progress.
        var retired: [Entry] = []
        /// Those that have been busy since an observer was removed, and those of its observers.
        var mailboxes: [Mailbox] = []
        /// For a local set: what was notified inside a notification.
        var queue: [Queued] = []
        var isNotifying = false
        /// What the producer has been told, and whether it is being told.
        var lastReported = false
        var isReporting = false
        /// The operations that change it, or look at it, while the producer is to be told.
        var users: Set<Int> = []
        /// The operation that is cancelling the calls of removed observers.
        var cancelling: Int?
        /// What stands for the call that tells the producer of the set's end.
        var farewell: Mortal?

        init(_ place: Int) { self.place = place }

        /// Whether the producer is to be told something else than what it has been told.
        var isDue: Bool { !isReporting && lastReported == registered.isEmpty }
        var registered: [Entry] { entries.filter { !$0.isRemoved } }
        var living: [Entry] { entries.filter { !$0.isRemoved && $0.observer.isAlive } }
    }

    /// A value that a local set will deliver after the current one.
    struct Queued {
        let value: Parcel
        let time: Int
        /// Whether all owners are dead, so that the value may not have been kept.
        let isDoubtful: Bool

        init(_ value: Parcel, _ time: Int, isDoubtful: Bool) {
            (self.value, self.time, self.isDoubtful) = (value, time, isDoubtful)
            if isDoubtful { value.cargo?.waning += 1 } else { value.cargo?.holds += 1 }
        }
    }

    /// A publisher or a center, with its sets.
    final class Container {
        let places: [Int]
        let sets: [Model]
        var holds = 1

        init(_ places: [Int]) {
            self.places = places
            sets = places.map(Model.init)
        }
    }

    /// A source's observer that it will register later, with what it holds until then.
    struct Kept {
        let observer: Observer
        let register: () -> Token
        let sets: [Model]
        let cargo: [Mortal]
    }
}

extension ModelWorld {
    /// A deliberate mistake, to prove that the comparison notices one.
    enum Fault: CaseIterable {
        case callsAddedDuringThePass, callsRemoved, callsDeadOwners, callsInReverse
        case removesTwice, removesForeign, releasesDuringThePass, countsDead, finishesNoPassOfADeadSet
        case endsOneMemberOnly, keepsOnceRegistered, callsWhatAFunctionRemoved, ignoresSenders
        case startsNothing
        case callsAddedDuringTheEvent, tellsTheSuperclass, tellsTheDynamicType, tellsNotAllEvents
        case tellsAllEventsLast
        case keepsLocalRemoved, deliversNestedAtOnce, addsDelegatesTwice
        case makesTwoCallsAtATime, deliversRemoved, callsLaterForDeadOwners, letsOwnersDieInCalls
        case dropsWhatADeadSetLeft, deliversWhatADeadSetLeft
        case dropsAtTheOtherEnd, countsNoDrops, countsTheCallAsPending
        case cancelsNothing, cancelsItself, cancelsNothingForTheLatest
        case settlesTooEarly, settlesTooLate, waitsForItsOwnCall
        case deliversByObserver, overtakesInPlace, callsInsideItsOwnCall, callsNoActorInPlace
        case keepsStreamsRegistered, forgetsInBags, endsBagsInReverse
        case deliversFirstValuesOfNoSet, holdsNoActors, waitsForNoRemoved
    }
}
