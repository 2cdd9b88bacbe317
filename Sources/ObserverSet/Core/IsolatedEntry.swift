import Synchronization

/// An observer that belongs to an actor or a queue: called in place where the notifier is already there, and through
/// its mailbox otherwise.
///
/// The one place that decides.
@safe class IsolatedEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    /// What identifies the actor or queue.
    private let identity: UInt
    private let destination: Destination
    /// Retained; made when the first value has to wait.
    private let lazyMailbox: Atomic<Unmanaged<Mailbox>?>
    private let status: Atomic<Status>

    /// What has become of the observer.
    ///
    /// Relaxed throughout: a removal in the observer's own isolation is ordered before any later delivery by that isolation,
    /// and no other removal promises more than "soon".
    private enum Status: UInt8, AtomicRepresentable {
        case unregistered, registered
        /// Noticed where the observer runs: a notifier does not load an owner from elsewhere, lest the owner die there.
        case ownerIsDead
        case removed
    }

    init(destination: Destination) {
        identity = destination.identity
        self.destination = destination
        unsafe lazyMailbox = unsafe Atomic(nil)
        status = Atomic(.unregistered)
    }

    /// For a further registration of that one's observer.
    init(sharing other: IsolatedEntry) {
        identity = other.identity
        destination = other.destination
        unsafe lazyMailbox = unsafe Atomic(.passRetained(other.madeMailbox()))
        status = Atomic(.registered)
    }

    deinit {
        unsafe lazyMailbox.load(ordering: .relaxed)?.release()
    }

    /// Calls the observer; false if its owner is dead.
    func call(_ parameters: Parameters) -> Bool { fatalError("abstract") }

    /// A further entry for the same observer, with the same mailbox.
    func copy() -> AnyEntry { fatalError("abstract") }

    /// Whether the observer belongs where the notifier is, and a call in place would overtake nothing.
    @inline(__always)
    final func mayBeCalled(from here: UInt) -> Bool {
        guard here == identity else { return false }
        guard let mailbox = unsafe lazyMailbox.load(ordering: .acquiring) else { return true }
        return unsafe mailbox._withUnsafeGuaranteedRef { $0.isIdle }
    }

    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        mayBeCalled(from: here) ? call(parameters) : enqueue(parameters, from: here)
    }

    /// Puts the value into the mailbox.
    final func enqueue(_ parameters: Parameters, from here: UInt) -> Bool {
        switch status.load(ordering: .relaxed) {
        case .ownerIsDead: return false
        case .removed: return true
        case .unregistered, .registered: break
        }
        // Where the notifier is there already, all in place: earlier values first, then this one.
        madeMailbox().post(parameters, to: self, drainingInPlace: here == identity)
        return true
    }

    override func deliverEnqueued(_ value: any Sendable) {
        guard status.load(ordering: .relaxed) == .registered else { return }
        // What `enqueue` has posted.
        if !call(value as! Parameters) { status.store(.ownerIsDead, ordering: .relaxed) }
    }

    override var mailbox: Mailbox? {
        // Acquiring: it must be seen initialised.
        unsafe lazyMailbox.load(ordering: .acquiring)?.takeUnretainedValue()
    }

    private func madeMailbox() -> Mailbox {
        if let mailbox { return mailbox }
        let fresh = unsafe Unmanaged.passRetained(Mailbox(destination))
        // Releasing, for those who will load it; acquiring, in case another thread has made one.
        let (isOurs, theirs) = unsafe lazyMailbox.compareExchange(
            expected: nil, desired: fresh, ordering: .acquiringAndReleasing)
        if !isOurs { unsafe fresh.release() }
        return unsafe (isOurs ? fresh : theirs!).takeUnretainedValue()
    }

    override var placeDescription: String? { "\(destination)" }

    override func claimed() -> AnyEntry {
        let isFirst = status.compareExchange(
            expected: .unregistered, desired: .registered, ordering: .relaxed
        ).exchanged
        return isFirst ? self : copy()
    }

    override func end() {
        status.store(.removed, ordering: .relaxed)
    }
}

/// One without an owner.
@safe final class IsolatedClosure<Parameters: Sendable>: IsolatedEntry<Parameters>, @unchecked Sendable {
    let function: @Sendable (Parameters) -> Void

    init(call: @escaping @Sendable (Parameters) -> Void, destination: Destination) {
        function = call
        super.init(destination: destination)
    }

    private init(sharing other: IsolatedClosure) {
        function = other.function
        super.init(sharing: other)
    }

    override func call(_ parameters: Parameters) -> Bool {
        function(parameters)
        return true
    }

    override func copy() -> AnyEntry { IsolatedClosure(sharing: self) }
}

/// One with a weakly held owner.
@safe final class IsolatedOwnedEntry<Owner: AnyObject & Sendable, Parameters: Sendable>: IsolatedEntry<Parameters>,
    @unchecked Sendable
{
    private weak let weakOwner: Owner?
    private let function: @Sendable (Owner, Parameters) -> Void

    init(owner: Owner, call: @escaping @Sendable (Owner, Parameters) -> Void, destination: Destination) {
        weakOwner = owner
        function = call
        super.init(destination: destination)
    }

    private init(sharing other: IsolatedOwnedEntry) {
        weakOwner = other.weakOwner
        function = other.function
        super.init(sharing: other)
    }

    // As inherited, but for one call less on the way to an observer that is called in place.
    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        guard mayBeCalled(from: here) else { return enqueue(parameters, from: here) }
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override func call(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override func copy() -> AnyEntry { IsolatedOwnedEntry(sharing: self) }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}
