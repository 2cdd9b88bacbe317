/// Keeps values until their observers can be called.
///
/// An actor has one mailbox for all its observers (see `ActorMailbox`). Each observer on a dispatch queue has its own
/// mailbox, and so does each observer that awaits.
@usableFromInline
class Mailbox: @unchecked Sendable {
    /// The actor's address, in the form in which a `Notifier` knows the caller's actor; zero if there is no actor.
    final let actorAddress: UInt
    final let isMain: Bool
    /// The actor, which isn't held, because a set must not keep an actor alive.
    ///
    /// It is nil for the main actor, which always exists. A weak reference to it would make each retain of the main
    /// actor slower in the whole process.
    private weak let weakActor: (any Actor)?

    init(of actor: (any Actor)?) {
        actorAddress = Isolation.address(of: actor)
        isMain = actor === MainActor.shared
        weakActor = isMain ? nil : actor
    }

    /// The actor, or nil if it has been deallocated or if there is none.
    final var actor: (any Actor)? { isMain ? MainActor.shared : weakActor }

    /// Whether the runtime or Dispatch confirms that the caller is on the actor.
    var isCurrent: Bool { false }

    /// Whether everything that was posted has been delivered or dropped.
    var isIdle: Bool { fatalError("abstract") }

    /// Delivers the values that are pending for an observer, and returns whether the observer may now be called in
    /// place.
    ///
    /// `observer` is the innermost target, whose registrations share one order. If this returns false, the caller must
    /// post the next value. Call this on the actor.
    func catchUp(_ observer: AnyTarget, _ pending: borrowing PendingCount) -> Bool { false }

    /// Appends a value for an observer, and makes sure that it will be delivered.
    func post(
        _ value: any Sendable, to recipient: Registration, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        fatalError("abstract")
    }

    /// Enqueues a mailbox marker, so that a caller can wait for everything that has been posted so far; returns false
    /// if there is nothing that the caller may wait for.
    ///
    /// A mailbox marker is a job without a value, whose recipient is the wait. An `AwaitingMailbox` has no such jobs,
    /// and queues the waits themselves. (`RemovalWait` also has markers of another kind, which are retired, and never
    /// in a mailbox.)
    func enqueueMarker(for settledWait: SettledWait) -> Bool { fatalError("abstract") }

    /// Ends an observer's use of this mailbox; each target that was made with the mailbox calls this when it is
    /// deallocated.
    func endUse() {}

    /// The actor's type or the queue's label, as a set's descriptions show it.
    var description: String { fatalError("abstract") }

    /// The words that describe an observer that holds up `settled()`, or has lost values.
    static func describe(isInCall: Bool = false, pending: Int = 0, dropped: Int = 0) -> String {
        (isInCall ? ", in a call" : "") + (pending == 0 ? "" : ", \(pending) pending")
            + (dropped == 0 ? "" : ", \(dropped) dropped")
    }
}

extension Mailbox {
    /// The mailbox of a function with this isolation that is added on `adder`; nil if the function runs on the
    /// notifying thread.
    ///
    /// A function that has no isolation of its own runs on the actor that adds it. A partially applied method of an
    /// actor instance (`set.add(hear)`) has lost its isolation, and no signature of `add` can reject it. In language
    /// mode 5, so has the name of a function that is on the main actor only by default, without a warning.
    @usableFromInline
    static func of(_ isolation: (any Actor)?, elseOn adder: (any Actor)? = nil) -> Mailbox? {
        (isolation ?? adder).map { ActorMailbox.of($0) }
    }
}

/// An item in a mailbox: a value, and the recipient to call with it.
///
/// The value is stored in the three words of an existential, so that a small value needs no allocation. The type isn't
/// generic, because the runtime would have to look up a generic type for each value.
struct Job: Sendable {
    let value: any Sendable
    let recipient: Registration

    /// Delivers the value; call this where the observer runs, and under no lock.
    func run() {
        LockCheck.assertNoLockIsHeld()
        recipient.innermost.deliver(value, for: recipient)
    }
}
