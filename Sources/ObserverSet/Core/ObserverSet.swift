import Synchronization

/// A typed event, which you can notify and observe on any thread.
///
/// ```swift
/// let itemAdded = ObserverSet<(name: String, index: Int)>()
///
/// itemAdded.add(view) { view, item in view.show("\(item.name) at \(item.index)") }
/// itemAdded.notify((name: "So What", index: 0))
/// ```
///
/// An observer runs on the actor that its closure belongs to. It runs before `notify` returns if the code that calls
/// `notify` is on that actor, or if the closure belongs to no actor. Otherwise it runs later.
///
/// An actor receives the notifications that one thread or one actor sends in the order they were sent, even across
/// sets. If code on the receiving actor calls `notify` meanwhile, the order holds for each observer, but not from one
/// observer to another.
///
/// An observer goes away with its owner, which is held weakly. The page *Guarantees* lists the twelve guarantees.
///
/// The idea comes from Mike Ash's article "Let's Build Swift Notifications".
@safe public final class ObserverSet<Parameters: Sendable>: Sendable {
    // To read the library, continue with `Registry`, which lists the files behind it in reading order.

    /// A retained reference to the registry.
    ///
    /// The registry is allocated when the first observer is added, or at once if there is a producer, because most sets
    /// in a model are never observed.
    private let lazyRegistry = unsafe Atomic<Unmanaged<Registry>?>(nil)

    /// Creates a set without observers.
    ///
    /// The set is one small object. Everything else is allocated when the first observer is added.
    public init() {}

    /// Creates a set that calls a function when it becomes observed or unobserved, so that the function can start and
    /// stop the producer of the set's values.
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
    /// The set calls the function with `true` when it gets its first observer, and with `false` when it has no
    /// observers left or is deallocated. The calls never overlap, and the last call reports the current state. If a
    /// change is undone while a call is in progress, both may go unreported. If another thread is executing the
    /// function, or is about to, it reports your change, and `add` and `remove` may return before it does. The set may
    /// notice late that an owner has been deallocated, so don't rely on when it calls the function with `false` for
    /// that reason. If the last observer is called only once, the function is called with `false` just before that
    /// call, unless another thread reports that.
    ///
    /// The function runs on a thread that adds, removes or notifies, and now and then on one that only asks a token, or
    /// awaits ``NotificationSource/settled()``. No lock is held, so it may do the same. The set keeps alive what the
    /// function captures, so don't capture the model that holds the set strongly.
    ///
    /// - Parameter whenObserved: Called with `true` when the set has become observed, and with `false` when it no
    ///   longer is.
    public convenience init(whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.init()
        _ = madeRegistry(whenObserved)
    }

    deinit {
        // No notification is in progress, because a notification holds the set. Enqueued values are still delivered.
        guard var registry = unsafe unmanagedRegistry?.takeRetainedValue() else { return }
        // If no token holds the registry, it is deallocated here, which releases everything at once.
        if !isKnownUniquelyReferenced(&registry) {
            registry.removeAll(droppingPending: false)
            registry.releaseProducer()
        }
    }

    /// A reference to the registry that doesn't retain it.
    ///
    /// The caller holds the set, and the set holds the registry. The load is acquiring, so that the caller sees the
    /// registry initialised.
    @inline(__always)
    private var unmanagedRegistry: Unmanaged<Registry>? { unsafe lazyRegistry.load(ordering: .acquiring) }

    var registry: Registry? { unsafe unmanagedRegistry?.takeUnretainedValue() }

    func madeRegistry(_ whenObserved: (@Sendable (Bool) -> Void)? = nil) -> Registry {
        if let registry { return registry }
        let fresh = unsafe Unmanaged.passRetained(Registry(describesIsolation: true, whenObserved: whenObserved))
        // Releasing, so that threads that load the pointer see our registry initialised. Acquiring, in case another
        // thread was faster and we use its registry.
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
    /// These observers are called in place, that is, before this method returns:
    ///
    /// - Observers that belong to no actor.
    /// - Observers that belong to the actor whose code calls this method.
    /// - Observers that belong to the main actor, if code that belongs to no other actor calls this method on the main
    ///   actor.
    ///
    /// There are two exceptions: the values that are pending for an actor's observer aren't all among the latest
    /// thousand that are pending for the actor, or the observer is being called with a value that was pending. The new
    /// value is then added to this backlog, so that the observer receives its values in order.
    ///
    /// For every other observer, the value is added to a mailbox, and the observer is called later. You may call this
    /// method on any thread, and from inside an observer (guarantees 6 and 7).
    ///
    /// Before an actor's observer is called in place, the Swift runtime must confirm that the caller is on that actor.
    /// Otherwise the value is added to the actor's mailbox. That also happens if the compiler wrongly treats the caller
    /// as the actor's code, and if an older API calls one of the actor's closures on another thread. Outside tasks, an
    /// actor with an executor of its own is recognized only if that executor answers `isIsolatingCurrentContext()`, and
    /// on Apple's systems only from version 26 on.
    ///
    /// Don't call this method in a Unix signal handler.
    ///
    /// - Parameters:
    ///   - parameters: The value that the observers receive.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    /// - Complexity: O(*n*). Notifying never waits for an observer that is being added or removed. Calling observers in
    ///   place takes no lock and allocates nothing, apart from the exceptions that the page *Reliability* lists.
    public func notify(_ parameters: Parameters, isolation: isolated (any Actor)? = #isolation) {
        notify(parameters, upTo: .max, from: isolation)
    }

    /// Calls the observers whose ids are at most `limit`; `actor` is the actor that the caller is isolated to.
    ///
    /// The limit is for several sets that are notified together: observers that were added to any of these sets after
    /// the notification began are not called. See `lastID`.
    ///
    /// The function is transparent, because in a debug build a function that is merely inlined keeps a stack frame,
    /// here one for each nested notification (guarantee 6).
    @_transparent
    package func notify(_ parameters: Parameters, upTo limit: UInt64, from actor: (any Actor)?) {
        // The registry is not retained: the set holds it, and this line holds the set until the function returns. In
        // generic code, `extendLifetime` would be a call that takes as long as an entire notification without
        // observers.
        defer { _fixLifetime(self) }
        guard let registry = unsafe unmanagedRegistry else { return }
        // Acquiring, paired with the store in `insert`: a thread that calls an observer also sees the removals that
        // happened before that observer was added.
        let last = unsafe registry._withUnsafeGuaranteedRef { $0.lastID.load(ordering: .acquiring) }
        // It is zero if no observer is registered.
        guard last != 0 else { return }
        unsafe notify(parameters, registry, upTo: min(last, limit), from: Isolation.address(of: actor))
    }

    /// Calls the observers of a set that has at least one.
    ///
    /// This is a separate function, so that the other sets, which are most, don't save and restore registers.
    @inline(never)
    private func notify(
        _ parameters: Parameters, _ registry: Unmanaged<Registry>, upTo limit: UInt64, from actor: UInt
    ) {
        var notifier = Notifier(on: actor)
        var traversal = unsafe Traversal(registry, upTo: limit)
        var isPlain = false
        while let slot = unsafe traversal.next(&isPlain) {
            LockCheck.assertNoLockIsHeld()
            if _fastPath(isPlain) {
                unsafe BorrowedFunction.at(slot).pointee(parameters)
            } else if unsafe !slot.pointee.callIsolatedInPlace(parameters, by: &notifier) {
                unsafe slot.pointee.send(parameters, by: &notifier)
            }
        }
        traversal.metDead = notifier.metDead
    }

    /// Calls every observer of an event that carries `Void` or an unlabelled tuple, without a second pair of
    /// parentheses.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// table.moved.notify(2, 5)        // let moved = ObserverSet<(Int, Int)>()
    /// ```
    ///
    /// - Parameters:
    ///   - parameters: The elements of the tuple; none for `Void`.
    ///   - isolation: The caller's isolation, which the compiler fills in.
    /// - Complexity: O(*n*).
    @_disfavoredOverload
    public func notify<each P>(_ parameters: repeat each P, isolation: isolated (any Actor)? = #isolation)
    where Parameters == (repeat each P) {
        notify((repeat each parameters), isolation: isolation)
    }

    /// Waits until every value that was sent before this call has been delivered or dropped.
    ///
    /// Use it to make tests of observers on other actors and queues deterministic. You don't have to wait for observers
    /// that `notify` calls in place.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// await playlist.cleared.settled()
    /// ```
    ///
    /// If an observer awaits (``NotificationSource/addAsync(buffering:_:isolation:fileID:line:)``), this method waits
    /// until the observer's calls have returned, even if the observer has been removed in the meantime.
    ///
    /// If the task that waits is cancelled, this method returns at once. If a teardown must wait even then, wait in a
    /// task of its own, because that one isn't cancelled: `await Task { await set.settled() }.value`. If an observer
    /// notifies another set, wait for that set, too.
    ///
    /// This method doesn't wait for a call in place on another thread, and the library can't interrupt such a call
    /// before a scope is left. In code that can suspend, ``ObserverToken/removeAndWait()`` waits until the call has
    /// returned.
    ///
    /// An observer that awaits may call this method, and so may a `Task { }` that the observer starts. The method then
    /// doesn't wait for the observer's current call, nor for the values that are pending behind it, because the call
    /// would be waiting for itself. There is no such exception for a task that a synchronous observer starts: there,
    /// this method waits for the observer's call as for any other.
    ///
    /// The method never returns in these cases: an actor with pending values is blocked; a queue with pending values
    /// stays suspended, or is the main queue and nobody serves it; the call of an observer that awaits never returns;
    /// two observers wait, during their calls, for each other's set or for a set that both
    /// observe.
    public func settled() async { await beginSettledWait().wait() }

    /// Enqueues a marker in each mailbox that isn't idle, those of removed observers included, and returns the object
    /// that `settled()` awaits.
    ///
    /// That object does not hold the set.
    package func beginSettledWait() -> SettledWait { SettledWait(of: registry?.mailboxes() ?? []) }
}

// MARK: - Adding and removing

extension ObserverSet: NotificationSource {
    /// Registers an observer.
    ///
    /// Use one of the `add` methods instead. They create the observer from a closure or a method.
    ///
    /// - Complexity: Amortised O(1).
    @discardableResult
    public func register(_ observer: consuming Observer<Parameters>) -> ObserverToken {
        let registry = madeRegistry()
        let site = observer.site
        let id = registry.append(Callee(retaining: consume observer), site: site)
        return ObserverToken(issuer: consume registry, id: id)
    }

    /// Ends the registration that a token names, if the registration belongs to this set.
    ///
    /// If one token stands for registrations with several sources, use ``ObserverToken/remove()`` instead.
    ///
    /// - Returns: `true` for exactly one caller. `false` if the token belongs to another set, or if the registration
    ///   has already ended.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the registration.
    @discardableResult
    public func remove(_ token: ObserverToken) -> Bool { registry?.remove(token) ?? false }

    /// Ends all registrations of an owner.
    ///
    /// If the owner's own `deinit` calls this method, the registrations have already ended, and the method returns 0.
    /// In either case, the owner's observers are never called again.
    ///
    /// - Returns: The number of registrations that were ended.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int { registry?.removeAll(ownedBy: owner) ?? 0 }

    /// Ends all registrations.
    ///
    /// Pending values are dropped.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() { removeAll(droppingPending: true) }

    /// Ends all registrations.
    ///
    /// If `droppingPending` is false, the values that are already enqueued are still delivered, as they are after the
    /// set has been deallocated.
    package func removeAll(droppingPending: Bool) { registry?.removeAll(droppingPending: droppingPending) }

    /// The id of the observer that was added last, even if that one has been removed; zero if none is registered.
    ///
    /// Relaxed: a thread sees the ids of all registrations that it knows of. If one is made at the same time, the old
    /// and the new id are both right.
    @inline(__always)
    package var lastID: UInt64 { registry?.lastID.load(ordering: .relaxed) ?? 0 }

    /// The number of observers, without those whose owner has been deallocated.
    ///
    /// This looks at every observer. If a server needs a gauge of many subscribers, let it keep a number itself.
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
    /// The type of the parameters and the number of observers.
    public var description: String { describe(count: count) }

    /// The description, followed by a line for each observer: the type of its owner, where it runs, how many values are
    /// pending for it, and which line of code registered it.
    ///
    /// Equal lines are printed once, with a count: `registered at Player/RowView.swift:41 × 250`. If there are more
    /// than fifty different lines, only fifty are printed, followed by the number of the others.
    public var debugDescription: String {
        let listing = listing
        return listing.text(under: describe(count: listing.count))
    }

    package var listing: Listing { registry?.listing ?? Listing() }

    private func describe(count: Int) -> String {
        "ObserverSet<\(Parameters.self)>(\(Listing.count(count, "observer")))"
    }
}
