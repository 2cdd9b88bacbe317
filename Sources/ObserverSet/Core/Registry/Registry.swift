import Synchronization

/// The state that a set and its tokens share: the slots that notifications walk, and the lock that guards changes to them.
///
///     ObserverSet ──▶ Registry ──▶ first slot ──▶ a function, or a target ┄┄weak┄┄▶ owner
///                        ▲    └──▶ block of slots          └──▶ mailbox of its actor
///     ObserverToken ─────┘
///
/// A registry knows who observes, a target (`Observers`) what to call and where, a mailbox (`Mailboxes`) when. Read on along
/// one of four ways:
///
/// - that of a value: `Slots`, `Slot`, `Traversal`, `Notifier`, `Registration`, `Target`, `IsolatedTarget`, `Mailbox`, `ActorMailbox`;
/// - that of a value for an observer that awaits: `AwaitingTarget`, `AwaitingMailbox`, `AwaitingJobs`;
/// - that of a removal: `Registry+Write`, `Cleanup`, `Retired`, `RareState`, `Reclamation`; and of `once`: `OnceGate`;
/// - that of a caller who waits: `SettledWait`, `Registry+Queries`, `Removal`.
///
/// The guarantees that comments number are listed on the page *Guarantees*. A comment `fault:` with a name marks what
/// `Tools/broken-variants` breaks on purpose, to see that the tests notice.
///
/// A token keeps the registry alive, never the set. When a set is released, it empties its registry, and its tokens
/// become inactive.
///
/// `package`, not internal: a layer that holds objects weakly and calls them itself has a registry of its own, see
/// `WeakTarget`.
///
/// What an observer holds has exactly one owner: the observer's current slot until it is removed, and a `Retired` after
/// that. All other copies of those bits, in replaced blocks and in removed slots, are borrowed by traversals.
@safe package final class Registry: TokenIssuer, @unchecked Sendable {
    /// Changed under the lock; walked by traversals, which hold no lock but are counted.
    let slots = Slots()
    /// The id of the observer that was added last; zero if none is registered, so that a notification has nobody to
    /// call.
    ///
    /// Stored under the lock, before the slot is published. A thread that knows of an observer, from its `add` or
    /// through the set itself (`isEmpty`, `count`), has acquired the store that published the slot, and so sees at least
    /// that observer's id.
    let lastID = Atomic<UInt64>(0)
    let reclamation = Reclamation()
    /// Whether there is a producer that is informed when the set becomes observed or unobserved.
    let hasDemand: Bool
    /// Whether descriptions say where an observer runs: not where all run in one isolation domain.
    let isShared: Bool
    // Last: the flags fit in front of it.
    let lock = Lock(Contents())

    package init(isShared: Bool = false, whenObserved: (@Sendable (Bool) -> Void)? = nil) {
        self.isShared = isShared
        hasDemand = whenObserved != nil
        super.init()
        if let whenObserved { lock.withLock { $0.madeRare().demand = Demand(whenObserved) } }
    }

    /// Ends a registration; false if it had ended before, or its owner is dead.
    ///
    /// The owner is checked before the observer is released: the release may deallocate it.
    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        var cleanup = Cleanup()
        let removed = write(&cleanup) { contents, cleanup in
            let removed = remove(id, &contents, &cleanup)
            // Behind the observer: see `Removal`.
            if let marker = removal?.marker {
                reclamation.retire(Retired(Callee(retaining: marker)), &contents, &cleanup.releasable)
            }
            return removed
        }
        if let removal {
            if removed == nil { removal.issuers.append(self) }
            if let mailbox = removed??.observer.mailbox { removal.mailboxes.append(mailbox) }
        }
        let isMine = removed.map { registration in registration?.observer.isAlive ?? true } ?? false
        cleanUp(cleanup)
        return isMine
    }

    override func visitOwn(_ id: UInt64, _ body: (Registration?, Place?) -> Void) {
        let traversal = unsafe Traversal(.passUnretained(self))
        defer { extendLifetime(traversal) }
        guard let slot = unsafe slots.living(id), unsafe slot.pointee.isAlive else { return }
        unsafe body(slot.pointee.callee.registration, (isShared, slot.pointee.site))
    }

    // The registry does not know any longer which mailbox the observer had, so all busy ones are returned.
    override var busyMailboxes: [Mailbox] {
        write { contents, _ in contents.rare?.busy.values.filter { !$0.isIdle } ?? [] }
    }
}
