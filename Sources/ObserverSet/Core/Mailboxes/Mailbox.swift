import Synchronization

/// Where values wait until their observers can be called.
///
/// An actor has one mailbox for all its observers, see `ActorMailbox`. On a dispatch queue, each observer has one, and so
/// has each observer that awaits.
@usableFromInline
class Mailbox: @unchecked Sendable {
    /// The address of the actor, as `Notifier` has that of the caller's; zero if there is none.
    final let identity: UInt
    final let isMain: Bool
    /// Not held: a set must not keep an actor alive.
    ///
    /// Nil for the main actor, which is always there: a weak reference to it would make each retain of it slower in the
    /// whole process.
    private weak let weakActor: (any Actor)?

    init(of actor: (any Actor)?) {
        identity = Isolation.identity(of: actor)
        isMain = actor === MainActor.shared
        weakActor = isMain ? nil : actor
    }

    /// The actor; nil if it is gone, or if there is none.
    final var actor: (any Actor)? { isMain ? MainActor.shared : weakActor }

    /// Whether the runtime, or Dispatch, confirms that the caller is on the actor.
    var isCurrent: Bool { false }

    /// Whether everything that was posted has been delivered or dropped.
    var isIdle: Bool { fatalError("abstract") }

    /// Delivers what waits for an observer, and returns whether the observer may now be called in place; if not, the next
    /// value has to be posted.
    ///
    /// Called on the actor.
    func catchUp(_ observer: Recipient, _ pending: borrowing PendingCount) -> Bool { false }

    /// Appends a value for an observer, and makes sure that it is delivered.
    func post(
        _ value: any Sendable, to registration: Recipient, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        fatalError("abstract")
    }

    /// Enqueues a marker, so that a caller waits for what has been posted so far; false if the mailbox is idle.
    func enqueueMarker(for settledWait: SettledWait) -> Bool { fatalError("abstract") }

    /// Called by each observer that was made with this mailbox, when it is deallocated.
    func endUse() {}

    /// The actor's type or the queue's label, as descriptions of a set show it.
    var description: String { fatalError("abstract") }

    /// The words of a description for an observer that holds up `settled()`, or has lost values.
    static func describe(isInCall: Bool = false, pending: Int = 0, dropped: Int = 0) -> String {
        (isInCall ? ", in a call" : "") + (pending == 0 ? "" : ", \(pending) pending")
            + (dropped == 0 ? "" : ", \(dropped) dropped")
    }
}

/// An item of a mailbox: a value, and whom to call with it.
///
/// The value is stored in the three words of an existential, so that a small one needs no allocation. The type is not
/// generic, since the runtime would have to look up a generic type for each value.
struct Job: Sendable {
    let value: any Sendable
    let recipient: Recipient

    /// Called where the observer runs, under no lock.
    func run() {
        LockCheck.assertNoLockIsHeld()
        recipient.receive(value)
    }
}
