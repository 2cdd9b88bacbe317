import Synchronization

/// The state that a set and its tokens share: the slots that notifications walk, and the lock that guards changes to
/// them.
///
///     ObserverSet ──▶ Registry ──▶ first slot ──▶ a function, or a target ┄┄weak┄┄▶ owner
///                        ▲    └──▶ block of slots          └──▶ mailbox of its actor
///     ObserverToken ─────┘
///
/// A registry knows who observes, a target (in `Observers`) knows what to call and where, and a mailbox (in
/// `Mailboxes`) knows when. To read on, follow one of these six ways through the files:
///
/// - An observer is added: `NotificationSource+Add`, `Observer`, `ActorMailbox.of`, `ObserverSet.register`, `Callee`
///   (in `Slot`), `append` and `insert` (in `Registry+Write`), `Contents`, `ObserverToken`.
/// - A value is sent: `Slots`, `Slot`, `Traversal`, `Notifier`, `Registration`, `Target`, `IsolatedTarget`,
///   `PendingCount`, `Mailbox`, `ActorMailbox`, its `Inbox` and `Batch` (in `ActorMailbox+Batch`), `Drains`, `Turn`.
/// - A value is sent to an observer that awaits: `AwaitingTarget`, `AwaitingMailbox`, `AwaitingJobs`.
/// - An observer is removed: `Registry+Write`, `Cleanup`, `Retired`, `RareState`, `Reclamation`; for an observer that
///   is called once, also `OnceGate`.
/// - An owner dies: a call finds the owner dead. If that call came from a mailbox, `noteDeadOwner` (in
///   `RegistrationState`) records it for the next notification. A notification that learns of a dead owner has
///   `Notifier.metDead` set, and calls `tryToRemoveDead` (in `Registry+Write`) when it ends. Adding observers also searches
///   for dead owners from time to time (`Contents.countOneMore`).
/// - A caller waits: `SettledWait`, `Registry+Queries`, `RemovalWait`.
///
/// In these files, an *owner* is the object that the user has passed to `add`. An observer lives as long as its owner,
/// and holds it weakly. A *layer* is a folder beside `Core` and `Local`, such as `Events` or `Delegates`. It uses only
/// what the core declares `public` or `package`, and can be deleted.
///
/// If a comment has a number and the word *guarantee*, the page *Guarantees* lists that guarantee. If a comment says
/// `fault:` and a name, `Tools/broken-variants` breaks the line below on purpose, to check that the tests notice.
///
/// A token keeps the registry alive, but not the set. When a set is deallocated, it empties its registry, so its tokens
/// become inactive.
///
/// A registered function or registration is held in exactly one place at a time: in the observer's current slot until
/// the observer is removed, and in a `Retired` after that. All other copies of the slot's bits, in replaced blocks and
/// in removed slots, hold nothing, and traversals only borrow them.
///
/// It is `package`, not internal, because a layer that holds objects weakly and calls them itself has a registry of its
/// own (see `WeakObject`).
@safe package final class Registry: TokenIssuer, @unchecked Sendable {
    /// The slots, which change only under the lock, and which traversals walk without it.
    let slots = Slots()
    /// The id of the observer that was added last; zero if no observer is registered, so that a notification has nobody
    /// to call.
    ///
    /// It is stored under the lock, before the slot is published. A thread may know of an observer because it has
    /// called `add`, or because it has asked the set itself (`isEmpty`, `count`). So it has made or acquired the store
    /// that published the slot, and it sees at least that observer's id.
    let lastID = Atomic<UInt64>(0)
    let reclamation = Reclamation()
    /// Whether the set has a producer that must be told when the set becomes observed or unobserved.
    let hasDemand: Bool
    /// Whether observers may run in different isolation domains, so that descriptions must say where each one runs.
    let describesIsolation: Bool
    // This comes last, because the flags fit into the gap in front of it.
    let lock = Lock(Contents())

    package init(describesIsolation: Bool = false, whenObserved: (@Sendable (Bool) -> Void)? = nil) {
        self.describesIsolation = describesIsolation
        hasDemand = whenObserved != nil
        super.init()
        if let whenObserved { lock.withLock { $0.madeRare().demand = Demand(whenObserved) } }
    }

    /// Ends a registration, and returns false if it had already ended or its owner is dead.
    ///
    /// This method checks whether the owner is alive before it releases the observer, because the release may
    /// deallocate the owner.
    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        var cleanup = Cleanup()
        let removed = write(&cleanup) { contents, cleanup in
            let removed = remove(id, &contents, &cleanup)
            // The retired marker comes right behind the observer, so that it is released after the observer (see
            // `RemovalWait`).
            if let marker = removal?.marker {
                reclamation.retire(Retired(Callee(retaining: marker)), &contents, &cleanup.releasable)
            }
            return removed
        }
        if let removal, let mailbox = removed??.innermost.mailbox { removal.mailboxes.append(mailbox) }
        // The registration of a dead owner had ended before.
        let endedByThisCall = removed.map { registration in registration?.innermost.isOrphaned != true } ?? false
        cleanUp(cleanup)
        if removed == nil { endUnregistered(id, removal) }
        return endedByThisCall
    }

    override var standsForRegistrations: Bool { true }

    override func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {
        let traversal = unsafe Traversal(.passUnretained(self))
        defer { extendLifetime(traversal) }
        guard let slot = unsafe slots.registered(id) else {
            if mayHaveEnded { write { contents, _ in contents.rare?.unregistered[id] }?.visitOwn(0, body) }
            return
        }
        guard unsafe !slot.pointee.isOrphaned else { return }
        unsafe body(slot.pointee.callee.registration, (describesIsolation, slot.pointee.site))
    }

    /// Whether the set may have been deallocated; false as long as it has observers, so that asking or removing one
    /// that has been removed needs no lock for what only a deallocated set has left.
    ///
    /// Relaxed: a thread that knows of the set's end also sees the zero.
    private var mayHaveEnded: Bool { lastID.load(ordering: .relaxed) == 0 }

    /// Drops the values that the set left pending for a registration when it was deallocated.
    private func endUnregistered(_ id: UInt64, _ removal: RemovalWait?) {
        if mayHaveEnded {
            _ = write { contents, _ in contents.rare?.unregistered.removeValue(forKey: id) }?.remove(0, removal)
        }
        // The tokens of a combination may all belong to this registry.
        if let removal, removal.issuers.last !== self { removal.issuers.append(self) }
    }

    // The registry no longer knows which mailbox the ended observer used, so this returns those of all removed
    // observers that are still busy.
    override var busyMailboxes: [Mailbox] {
        write { contents, _ in contents.rare?.busy.values.filter { !$0.isIdle } ?? [] }
    }
}
