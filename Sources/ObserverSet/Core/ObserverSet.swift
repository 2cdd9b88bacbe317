import Synchronization

/// A typed notification: observers are added to it, and told when it is notified.
///
/// Declare one as a property for each thing that a model can tell. Whoever is interested adds an observer; an observer
/// with an owner is gone when its owner is, without any clean-up.
///
/// ```swift
/// @MainActor final class Playlist {
///     let itemAdded = ObserverSet<(name: String, index: Int)>()
///     let cleared = ObserverSet<Void>()
/// }
///
/// @MainActor final class PlaylistView {
///     init(_ playlist: Playlist) {
///         playlist.itemAdded.add(self) { view, item in view.show("\(item.name) at \(item.index)") }
///         playlist.cleared.add(method: PlaylistView.clear, of: self)
///     }
///     func show(_ text: String) { print(text) }
///     func clear() { print("nothing to play") }
/// }
///
/// playlist.itemAdded.notify((name: "So What", index: 0))
/// ```
///
/// An observer runs where it belongs: the type system says to which actor that is. Where the notifier is already there,
/// and for observers that belong to no actor, the call is synchronous; otherwise it is made on the actor, in the order
/// of the notifications. An observer that awaits, added with `addAsync`, is never called in place: its calls are made one
/// at a time, in the order of the notifications, each when the one before has returned.
///
/// The idea is that of Mike Ash's article "Let's Build Swift Notifications".
///
/// ## The contract
///
/// 1. **No user code under the lock.** No observer, no `deinit` of an owner, closure, capture or parameter, no
///    continuation, no `==` or `hash`.
/// 2. **Registration order.** Observers of one notification are called (or enqueued) in the order in which they were
///    added.
/// 3. **Added during a notification**: first called by the next one.
/// 4. **Removed is removed.** After `remove` returns, no notification that reaches that observer later calls it, on any thread;
///    a call on which another thread has already decided may still run. Removed in the observer's own isolation, it is
///    never called again, queued values included.
/// 5. **Owners are weak**, held strongly only for their own call. An owner that is being deallocated is never called.
/// 6. **Nested notifications** are depth first: the inner one completes before the outer one goes on.
/// 7. **Each observer sees notifications in order**, per notifying thread, whatever the hop.
/// 8. **Released promptly.** Removing an observer releases its closure and captures before `remove` returns, unless a
///    notification is in flight; then once those in flight have ended. Later, overlapping ones may delay it by a round,
///    never for ever. Dead owners' entries do not pile up even if nobody ever notifies again.
/// 9. **Removal is idempotent**: exactly one caller gets `true`; foreign, stale and repeated tokens get `false` and
///    harm nothing.
/// 10. **The set may die any time**, its own notification included: that finishes, sequences end, tokens go inert.
/// 11. **Notifying takes no lock, allocates nothing and never waits** for an observer being added or removed
///     (synchronous observers).
/// 12. **Complexity**: `add` and `remove` amortised O(1) plus at most O(log *n*) to find the entry; `notify` O(*n*).
///
/// ### Limits
///
/// - No order is promised between the observers of two threads' notifications, nor between two observers that are called
///   asynchronously, even on the same actor or queue: each has its own mailbox.
/// - A value that is in a mailbox counts as a notification in flight (promise 8); it is dropped if its observer has
///   been removed, and still delivered if the set has died.
/// - A notification made while the observer's own mailbox is being delivered is queued behind what that delivery holds,
///   so that promise 6 gives way to promise 7.
/// - That nonisolated code runs on the main actor is noticed where `Task.immediate` is available, and the mailbox is
///   idle. That it runs on another actor is not noticed: the call is then made asynchronously, in order.
/// - After the last observer, a notification may take the lock for a moment if it is free, to release what was removed
///   meanwhile or to remove the entries of owners it found dead; and the first time two threads are seen to meet
///   at a set, it allocates more counts (promise 11).
/// - A *method* as the observer is applied to its owner anew for each call, for which Swift allocates; a closure that calls
///   the method does not (promise 11).
/// - An observer is an ordinary call: deep recursion ends where the stack does.
/// - For an *observer that awaits*, "called" means enqueued in promises 2, 3, 6 and 11. Its owner is held across the
///   suspensions of its call (promise 5). Its ``Buffering`` may lose values; those that are delivered are in order
///   (promise 7). Removal cancels the call that is under way and does not wait for its end; until then the call keeps the
///   closure and its captures (promise 8). A call on which another thread has already decided may begin after the
///   removal, and is then cancelled from the start (promise 4).
@safe public final class ObserverSet<Parameters: Sendable>: Sendable {
    /// The registry, retained; made when the first observer is added, since most sets of a model are never observed.
    private let lazyRegistry = unsafe Atomic<Unmanaged<Registry>?>(nil)

    /// Makes a set without observers.
    ///
    /// It is one small object; the rest is allocated when the first observer is added.
    public init() {}

    /// Makes a set that says whether it is observed: to start what produces its notifications, and to stop it.
    ///
    /// ```swift
    /// final class Thermometer: Sendable {
    ///     private let sensor = Sensor()
    ///     let measured: ObserverSet<Double>
    ///
    ///     init() {
    ///         measured = ObserverSet { [sensor] isObserved in isObserved ? sensor.start() : sensor.stop() }
    ///     }
    /// }
    /// ```
    ///
    /// The function is called with true when the set gets its first observer, and with false when it has none any more,
    /// its death included. Its calls never overlap, and the last one says what is true; a change that is taken back while
    /// a call is under way may go untold. Where nobody else changes the set meanwhile it has been called before `add` or
    /// `remove` returns. The death of an owner counts when it is noticed, which is by the next notification at the latest.
    ///
    /// It runs on the thread that made the change, under no lock: it may add, remove and notify. What it captures lives as
    /// long as the set; do not capture the set's own model strongly.
    ///
    /// - Parameter whenObserved: Called with whether the set has an observer, whenever that has changed.
    public convenience init(whenObserved: @escaping @Sendable (Bool) -> Void) {
        self.init()
        _ = madeRegistry(Demand(whenObserved))
    }

    deinit {
        // No notification is under way: whoever notifies holds the set. What is enqueued is still delivered.
        guard var registry = unsafe unmanagedRegistry?.takeRetainedValue() else { return }
        // Without a token in anybody's hand the registry dies here, and all of it is released at once.
        if !isKnownUniquelyReferenced(&registry) { registry.removeAll(dropping: false) }
    }

    /// Not retained: whoever asks holds the set, and the set holds the registry.
    private var unmanagedRegistry: Unmanaged<Registry>? {
        // Acquiring: it must be seen initialised.
        @inline(__always) get { unsafe lazyRegistry.load(ordering: .acquiring) }
    }

    var registry: Registry? { unsafe unmanagedRegistry?.takeUnretainedValue() }

    private func madeRegistry(_ demand: Demand? = nil) -> Registry {
        if let registry { return registry }
        let fresh = unsafe Unmanaged.passRetained(Registry(telling: demand))
        // Releasing, for those who will load it; acquiring, in case another thread has made one.
        let (isOurs, theirs) = unsafe lazyRegistry.compareExchange(
            expected: nil, desired: fresh, ordering: .acquiringAndReleasing)
        if !isOurs { unsafe fresh.release() }
        return unsafe (isOurs ? fresh : theirs!).takeUnretainedValue()
    }
}

// MARK: - Notifying

extension ObserverSet {
    /// Tells every observer, in the order in which they were added.
    ///
    /// Observers that belong to no actor, or to the one the caller is on, are called before this returns; for the
    /// others the value is put into their mailbox. May be called on any thread, and from inside an observer (promises 6
    /// and 7).
    ///
    /// - Parameters:
    ///   - parameters: What the observers are told.
    ///   - isolation: The caller's own, filled in by the compiler.
    /// - Complexity: O(*n*). No lock and no allocation, but for values that have to be enqueued.
    public func notify(_ parameters: Parameters, isolation: isolated (any Actor)? = #isolation) {
        notify(parameters, upTo: .max, isolation: isolation)
    }

    /// Tells the observers whose ids are not above a limit.
    ///
    /// For what several sets are told as one notification, which no observer hears that was added since it began: see
    /// `ObserverToken.lastID`. Transparent, since in a debug build the frame of a function that is merely inlined would
    /// stand on the stack for each nested notification (promise 6).
    @_transparent
    package func notify(_ parameters: Parameters, upTo limit: UInt64, isolation: isolated (any Actor)?) {
        // The registry is not retained: the set holds it, and is held until this has returned.
        defer { extendLifetime(self) }
        guard let registry = unsafe unmanagedRegistry else { return }
        let last = unsafe registry._withUnsafeGuaranteedRef { $0.lastID.load(ordering: .relaxed) }
        guard last != 0 else { return }
        let here = Isolation.identity(of: isolation)
        var metDeadOwner = false
        do {
            var traversal = unsafe Traversal(registry, upTo: min(last, limit))
            var isPlain = false
            while let slot = unsafe traversal.next(&isPlain) {
                CallOut.assertNoLockIsHeld()
                if _fastPath(isPlain) {
                    unsafe BorrowedFunction.at(slot).pointee(parameters)
                } else if unsafe !BorrowedEntry.at(slot).pointee.callClosure(parameters, from: here) {
                    if unsafe !BorrowedEntry.at(slot).pointee.deliver(parameters, from: here) { metDeadOwner = true }
                }
            }
        }
        if metDeadOwner { unsafe registry._withUnsafeGuaranteedRef { $0.removeDead() } }
    }

    /// Tells every observer of a `Void` notification, or of one with an unlabelled tuple, without a second pair of
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

    /// Waits until every value that was enqueued before the call has been delivered or dropped.
    ///
    /// It makes tests of observers on other actors and queues deterministic. Synchronous observers need no waiting.
    ///
    /// ```swift
    /// playlist.cleared.notify()
    /// await playlist.cleared.settled()
    /// ```
    ///
    /// The calls of observers that await (``NotificationSource/addAsync(buffering:_:isolation:fileID:line:)``) are waited for until
    /// they have returned, unless the observer has been removed.
    ///
    /// Started from inside a synchronous observer, in a task, it waits for that call to return like for any other. In the
    /// call of an observer that awaits, and in tasks which that starts with `Task { }`, it does not wait for that call nor
    /// for what is behind it in the mailbox: the call would wait for itself.
    ///
    /// It waits for ever if a queue with an observer's values in it stays suspended, or if the call of an observer that
    /// awaits never returns. Two observers that wait, each in its call, for the other's set, or for one that both observe, wait for ever.
    public func settled() async {
        for mailbox in registry?.mailboxes() ?? [] { await mailbox.settled() }
    }
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
        return ObserverToken(issuer: registry, id: id)
    }

    /// Ends a registration, if it is one of this set's.
    ///
    /// See ``ObserverToken/remove()``, which also ends what a token of several sources stands for; this does not.
    ///
    /// - Returns: True for exactly one caller; false for a token of another set, or of a registration that has ended.
    /// - Complexity: Amortised O(1), plus at most O(log *n*) to find the entry.
    @discardableResult
    public func remove(_ token: ObserverToken) -> Bool {
        registry?.remove(token) ?? false
    }

    /// Ends all registrations of an owner.
    ///
    /// Called in the owner's own `deinit` it finds them dead already, and returns 0; they are never called again all
    /// the same.
    ///
    /// - Returns: How many there were.
    /// - Complexity: O(*n*).
    @discardableResult
    public func removeAll(ownedBy owner: AnyObject) -> Int {
        registry?.removeAll(ownedBy: owner) ?? 0
    }

    /// Ends all registrations.
    ///
    /// Values that are still enqueued are dropped.
    ///
    /// - Complexity: O(*n*).
    public func removeAll() {
        registry?.removeAll(dropping: true)
    }

    /// Whether no observer was ever added, or all have been removed; dead owners may still have theirs.
    @inline(__always)
    package var isVacant: Bool {
        registry.map { $0.lastID.load(ordering: .relaxed) == 0 } ?? true
    }

    /// The number of observers whose owner, if they have one, is alive.
    ///
    /// - Complexity: O(*n*).
    public var count: Int {
        registry?.count ?? 0
    }

    /// Whether there is no observer whose owner, if it has one, is alive.
    ///
    /// - Complexity: O(*n*), where *n* is the number of dead owners before the first living observer.
    public var isEmpty: Bool {
        registry?.isEmpty ?? true
    }
}

// MARK: - Descriptions

extension ObserverSet: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The parameters' type and the number of observers.
    public var description: String {
        describe(count: count)
    }

    /// The description and a line for each observer: its owner's type, where it runs, and who registered it.
    public var debugDescription: String {
        let lines = lines
        return ([describe(count: lines.count)] + lines.map { "  " + $0 }).joined(separator: "\n")
    }

    /// A mirror with a child for each observer: its owner's type, where it runs, and who registered it.
    public var customMirror: Mirror {
        Mirror(self, unlabeledChildren: lines, displayStyle: .collection)
    }

    private var lines: [String] { registry?.descriptions ?? [] }

    private func describe(count: Int) -> String {
        "ObserverSet<\(Parameters.self)>(\(count) observer\(count == 1 ? "" : "s"))"
    }
}
