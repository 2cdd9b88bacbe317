import Synchronization

/// A typed event: code on any thread notifies it, and its observers are called.
///
/// ```swift
/// let itemAdded = ObserverSet<(name: String, index: Int)>()
///
/// itemAdded.add(view) { view, item in view.show("\(item.name) at \(item.index)") }
/// itemAdded.notify((name: "So What", index: 0))
/// ```
///
/// An observer runs on the actor that its closure belongs to: before `notify` returns if code of that actor calls `notify`,
/// or if the closure belongs to none; otherwise later. Notifications from one thread reach an actor in the order they were
/// sent, even across sets; where code of the actor notifies meanwhile, that holds for each observer. It goes away with its
/// owner, which is held weakly. The page *Guarantees* has the twelve guarantees.
///
/// The idea is that of Mike Ash's article "Let's Build Swift Notifications".
@safe public final class ObserverSet<Parameters: Sendable>: Sendable {
    // To read the library, go on with `Registry`, which lists the files behind it in their order.

    /// The registry, retained; allocated when the first observer is added, since most sets of a model are never
    /// observed.
    private let lazyRegistry = unsafe Atomic<Unmanaged<Registry>?>(nil)

    /// Makes a set without observers.
    ///
    /// It is one small object; the rest is allocated when the first observer is added.
    public init() {}

    /// Makes a set that calls a function when it becomes observed or unobserved, to start and stop the producer of its
    /// values.
    ///
    /// ```swift
    /// final class Thermometer: Sendable {
    ///     private let sensor = Sensor()
    ///     let measured: ObserverSet<Double>
    ///
    ///     init() {
    ///         measured = ObserverSet { [sensor] isObserved in isObserved ? sensor.start() : sensor.stop() }
    ///         // Weakly: the set holds the sensor.
    ///         sensor.onMeasure { [weak measured] degrees in measured?.notify(degrees) }
    ///     }
    /// }
    /// ```
    ///
    /// The function is called with true when the set gets its first observer, and with false when it has none any more or
    /// is released. Its calls never overlap, and the last one reports the current state. A change that is undone during a
    /// call may not be reported. If another thread is in the function, `add` and `remove` may return before your change has
    /// been reported. The set may notice late that an owner is gone. Don't rely on when the function is called with `false`
    /// for it.
    ///
    /// It runs on a thread that adds, removes or notifies, under no lock: it may do the same. What it captures lives as
    /// long as the set; do not capture the set's own model strongly.
    ///
    /// - Parameter whenObserved: Called with true when the set has become observed, and with false when it no longer
    ///   is.
    public convenience init(whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.init()
        _ = madeRegistry(whenObserved)
    }

    deinit {
        // No notification is under way, since a notification holds the set. What is enqueued is still delivered.
        guard var registry = unsafe unmanagedRegistry?.takeRetainedValue() else { return }
        // If no token holds the registry, it is deallocated here, which releases everything at once.
        if !isKnownUniquelyReferenced(&registry) {
            registry.removeAll(dropping: false)
            registry.dropDemand()
        }
    }

    /// Not retained: the caller holds the set, and the set holds the registry.
    ///
    /// Acquiring: the registry must be seen initialised.
    @inline(__always)
    private var unmanagedRegistry: Unmanaged<Registry>? { unsafe lazyRegistry.load(ordering: .acquiring) }

    var registry: Registry? { unsafe unmanagedRegistry?.takeUnretainedValue() }

    func madeRegistry(_ whenObserved: (@Sendable (Bool) -> Void)? = nil) -> Registry {
        if let registry { return registry }
        let fresh = unsafe Unmanaged.passRetained(Registry(isShared: true, whenObserved: whenObserved))
        // Releasing, for threads that will load the pointer; acquiring, in case another thread has made a registry.
        let (isOurs, theirs) = unsafe lazyRegistry.compareExchange(
            expected: nil, desired: fresh, ordering: .acquiringAndReleasing)
        if !isOurs { unsafe fresh.release() }
        return unsafe (isOurs ? fresh : theirs!).takeUnretainedValue()
    }
}

// MARK: - Notifying

extension ObserverSet {
    /// Calls every observer, in the order in which they were added.
    ///
    /// Observers that belong to no actor, or to the one whose code calls this, are called before this returns; so are
    /// those of the main actor if any code calls this there. Not so if more than a thousand values are pending for one, or its
    /// call with a value that was pending is in progress: its values come in their order. For the others the value is put into
    /// their actor's mailbox. May be called on any thread, and from inside an observer (guarantees 6 and 7).
    ///
    /// An actor's observer is called in place only if Swift's runtime confirms that the caller is on its actor. Otherwise its
    /// value is posted, also where the compiler takes the caller for the actor's code by mistake, and where an older interface
    /// calls the actor's closure on another thread.
    ///
    /// - Parameters:
    ///   - parameters: The value that the observers receive.
    ///   - isolation: The caller's own, filled in by the compiler.
    /// - Complexity: O(*n*). Never waits for an observer that is being added or removed. Calling observers in place takes
    ///   no lock and allocates nothing, with the exceptions that the page *Reliability* lists.
    public func notify(_ parameters: Parameters, isolation: isolated (any Actor)? = #isolation) {
        notify(parameters, upTo: .max, from: isolation)
    }

    /// Calls the observers whose ids are at most `limit`; `actor` is the one that the caller is isolated to.
    ///
    /// For several sets that are notified as one: an observer that was added to any of them since that began is not
    /// called, see `lastID`. Transparent, since in a debug build a function that is merely inlined keeps
    /// a stack frame, here one for each nested notification (guarantee 6).
    @_transparent
    package func notify(_ parameters: Parameters, upTo limit: UInt64, from actor: (any Actor)?) {
        // The registry is not retained: the set holds it, and is held until this returns. In generic code `extendLifetime` would
        // be a call, and take as long as all of an empty notification.
        defer { _fixLifetime(self) }
        guard let registry = unsafe unmanagedRegistry else { return }
        // Acquiring, paired with the store in `insert`: a thread that calls an observer sees the removals that came before it
        // was added.
        let last = unsafe registry._withUnsafeGuaranteedRef { $0.lastID.load(ordering: .acquiring) }
        guard last != 0 else { return }
        unsafe notify(parameters, registry, upTo: min(last, limit), from: Isolation.identity(of: actor))
    }

    /// Calls the observers of a set that has some: a function of its own, so that for other sets, which most are, no registers are
    /// saved and restored.
    @inline(never)
    private func notify(
        _ parameters: Parameters, _ registry: Unmanaged<Registry>, upTo limit: UInt64, from actor: UInt
    ) {
        var context = NotifyContext(claiming: actor)
        var traversal = unsafe Traversal(registry, upTo: limit)
        var isPlain = false
        while let slot = unsafe traversal.next(&isPlain) {
            LockCheck.assertNoLockIsHeld()
            if _fastPath(isPlain) {
                unsafe BorrowedFunction.at(slot).pointee(parameters)
            } else if unsafe !slot.pointee.callClosure(parameters, by: &context),
                unsafe !slot.pointee.deliver(parameters, by: &context)
            {
                traversal.metDead = true
            }
        }
    }

    /// Calls every observer of a `Void` notification, or of one with an unlabelled tuple, without a second pair of
    /// parentheses.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// table.moved.notify(2, 5)        // let moved = ObserverSet<(Int, Int)>()
    /// ```
    ///
    /// - Parameters:
    ///   - parameters: The elements of the tuple; none for `Void`.
    ///   - isolation: The caller's own, filled in by the compiler.
    /// - Complexity: O(*n*).
    @_disfavoredOverload
    public func notify<each P>(_ parameters: repeat each P, isolation: isolated (any Actor)? = #isolation)
    where Parameters == (repeat each P) {
        notify((repeat each parameters), isolation: isolation)
    }

    /// Waits until everything that was sent before the call has been delivered or dropped.
    ///
    /// It makes tests of observers on other actors and queues deterministic. Synchronous observers need no waiting.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// await playlist.cleared.settled()
    /// ```
    ///
    /// The calls of observers that await (``NotificationSource/addAsync(buffering:_:isolation:fileID:line:)``) are waited
    /// for until they have returned, even if the observer has been removed.
    ///
    /// It returns when its task is cancelled. If an observer notifies another set, wait for that set, too.
    ///
    /// In a task that a synchronous observer starts, it waits for that observer's call as for any other. In the call of an
    /// observer that awaits, and in tasks which that starts with `Task { }`, it does not wait for that call, nor for the
    /// values pending behind it: the call would wait for itself.
    ///
    /// It waits forever if a queue with pending values stays suspended, or if the call of an observer that awaits never
    /// returns. Two observers that wait in their calls for each other's set, or for a set that both observe, wait forever.
    public func settled() async { await beginSettledWait().wait() }

    /// Puts markers into the observers' mailboxes, and returns what `settled()` awaits; that does not hold the set.
    package func beginSettledWait() -> SettledWait { SettledWait(of: registry?.mailboxes() ?? []) }
}

// MARK: - Adding and removing

extension ObserverSet: NotificationSource {
    /// Registers an observer.
    ///
    /// Use the `add` family, which makes the observer from a closure or a method.
    ///
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func register(_ observer: consuming Observer<Parameters>) -> ObserverToken {
        let registry = madeRegistry()
        let site = observer.site
        let id = registry.append(Callee(retaining: consume observer), site: site)
        return ObserverToken(issuer: consume registry, id: id)
    }

    /// Ends a registration, if it is one of this set's.
    ///
    /// See ``ObserverToken/remove()``, which also works for the token of several sources; this does not.
    ///
    /// - Returns: True for exactly one caller; false for a token of another set, or of a registration that has ended.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the entry.
    @discardableResult
    public func remove(_ token: ObserverToken) -> Bool { registry?.remove(token) ?? false }

    /// Ends all registrations of an owner.
    ///
    /// In the owner's own `deinit` it finds that they have ended already, and returns 0. They are never called again in
    /// any case.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int { registry?.removeAll(ownedBy: owner) ?? 0 }

    /// Ends all registrations.
    ///
    /// Pending values are dropped.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() { removeAll(dropping: true) }

    /// Ends all registrations; what is enqueued is still delivered if `dropping` is false, as after the set's release.
    package func removeAll(dropping: Bool) { registry?.removeAll(dropping: dropping) }

    /// The id of the observer that was added last; zero if there is none.
    ///
    /// Relaxed: a thread sees the ids of all registrations that it knows of. For one that is made at the same time either
    /// answer is right.
    @inline(__always)
    package var lastID: UInt64 { registry?.lastID.load(ordering: .relaxed) ?? 0 }

    /// The number of observers whose owner, if they have one, is alive.
    ///
    /// - Complexity: O(*n*).
    public var count: Int { registry?.count ?? 0 }

    /// A Boolean value that indicates whether the set has no live observers.
    ///
    /// Observers whose owner has been deallocated don't count.
    ///
    /// - Complexity: O(*n*), where *n* is the number of dead owners before the first living observer.
    public var isEmpty: Bool { registry?.isEmpty ?? true }
}

// MARK: - Descriptions

extension ObserverSet: CustomStringConvertible, CustomDebugStringConvertible {
    /// The parameters' type and the number of observers.
    public var description: String { describe(count: count) }

    /// The description and a line for each observer: its owner's type, where it runs, what is pending for it, and the line
    /// that registered it.
    ///
    /// Equal lines are printed once, with their number: `registered at Player/RowView.swift:41 × 250`. At most fifty are
    /// printed, and how many more there are.
    public var debugDescription: String {
        let listing = listing
        return listing.text(under: describe(count: listing.count))
    }

    package var listing: Listing { registry?.listing ?? Listing() }

    private func describe(count: Int) -> String {
        "ObserverSet<\(Parameters.self)>(\(Listing.count(count, "observer")))"
    }
}
