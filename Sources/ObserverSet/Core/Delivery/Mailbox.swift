import Synchronization

/// Where values wait until their observers can be called.
///
/// An actor has one mailbox for all its observers, see `ActorMailbox`. On a dispatch queue, each observer has one, and so
/// has each observer that awaits.
@usableFromInline
class Mailbox: @unchecked Sendable {
    /// The address of the actor or queue.
    ///
    /// A notifier on the actor with this address may call the observer in place. No notifier has the address of a
    /// queue.
    final let identity: UInt

    init(at object: AnyObject?) {
        identity = object.map { UInt(bitPattern: ObjectIdentifier($0)) } ?? 0
    }

    /// Whether everything that was posted has been delivered or dropped.
    var isIdle: Bool { fatalError("abstract") }

    /// Whether an observer is being called that is called once; asked of mailboxes of observers that await.
    var isInOnlyCall: Bool { fatalError("abstract") }

    /// Delivers what waits for an observer if the caller is where the observer runs, and returns whether the observer may
    /// now be called in place; if not, the next value has to be posted.
    func catchUp(_ pending: borrowing Pending, by notifier: inout Notifier) -> Bool { false }

    /// Appends a value for an observer, and makes sure that it is delivered.
    func post(
        _ value: any Sendable, to observer: AnyEntry, _ pending: borrowing Pending, by notifier: inout Notifier
    ) {
        fatalError("abstract")
    }

    /// Enqueues a marker, so that a caller waits for what has been posted so far; false if the mailbox is idle.
    ///
    /// `isForRemoval` is true for `removeAndWait()`, which also waits for a call that the removal has cancelled.
    func enqueueMarker(for settledWait: SettledWait, isForRemoval: Bool) -> Bool { fatalError("abstract") }

    /// For descriptions: whether an observer is being called with a value from the mailbox, and how many wait for it.
    func progress(_ pending: borrowing Pending) -> (isInCall: Bool, waiting: Int) { fatalError("abstract") }

    /// The same mailbox, for one more observer; called while another one uses it.
    func beginUse() -> Mailbox { self }

    /// Called by each observer that was made with this mailbox, when it is deallocated.
    func endUse() {}

    /// The actor's type or the queue's label, as descriptions of a set show it.
    var description: String { fatalError("abstract") }

    /// The words of a description for an observer that holds up `settled()`.
    static func describe(_ progress: (isInCall: Bool, waiting: Int)) -> String {
        (progress.isInCall ? ", in a call" : "") + (progress.waiting == 0 ? "" : ", \(progress.waiting) waiting")
    }
}

/// Whether values wait for an observer in a mailbox, and the number of the last of them.
///
/// Relaxed throughout. A thread sees its own posts, and those of another thread that it knows of through any
/// synchronisation; a notification that knows of no earlier one may go first. Only code on the observer's actor clears
/// the number, and only code there depends on that. (If the actor is gone, the one thread that drains does.)
struct Pending: ~Copyable, Sendable {
    /// The number of the last value that was posted for the observer and has not been delivered; zero if there is none.
    ///
    /// A value counts as delivered when its call has returned. So a value that is notified inside that call is posted,
    /// too. Otherwise an observer that always notifies again would call itself without end, where it now takes turns.
    private let last = Atomic<UInt64>(0)

    var lastNumber: UInt64 {
        @inline(__always) get { last.load(ordering: .relaxed) }
    }

    /// Notes that a value is being posted, and returns the number of the one before; called under the mailbox's lock.
    func posting(_ number: UInt64) -> UInt64 {
        defer { last.store(number, ordering: .relaxed) }
        return lastNumber
    }

    /// Notes that the value of that number has been delivered.
    func delivered(_ number: UInt64) {
        guard lastNumber == number else { return }
        // Exchanged, since another value may be posted at the same moment.
        _ = last.compareExchange(expected: number, desired: 0, ordering: .relaxed)
    }
}

/// An item of a mailbox: a value for an observer, or a caller of `settled()`.
///
/// The value is stored in the three words of an existential, so that a small one needs no allocation. The type is not
/// generic, since the runtime would have to look up a generic type for each value. It is a structure, since a `switch`
/// over an enumeration would copy the existential.
struct Job: Sendable {
    let value: any Sendable
    /// The observer; nil if the value is a caller of `settled()`, which waits for the jobs in front of this one.
    let observer: AnyEntry?
    /// The number of the job before this one for the same observer, which may have been delivered; zero if there was none.
    var previous: UInt64

    init(_ value: any Sendable, to observer: AnyEntry, after previous: UInt64 = 0) {
        self.value = value
        self.observer = observer
        self.previous = previous
    }

    init(_ settledWait: SettledWait) {
        value = settledWait
        observer = nil
        previous = 0
    }

    /// Whether it is a value, and not a caller of `settled()`.
    var isValue: Bool { observer != nil }

    /// Called where the observer runs, under no lock.
    func deliver(_ number: UInt64) {
        UserCode.assertNoLockIsHeld()
        if let observer {
            observer.deliverEnqueued(value, number)
        } else {
            (value as! SettledWait).leave()
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
