import Synchronization

/// Where one observer runs, and the mailbox of what waits for it there.
///
/// The part of an isolated entry that does not depend on the type of the parameters.
@safe struct Place: ~Copyable, Sendable {
    private let destination: Destination
    /// The destination's identity, copied so that a notification loads one pointer less.
    private let identity: UInt
    /// Retained; made when the first value has to wait, or when the observer is registered a second time.
    private let lazyMailbox: Atomic<Unmanaged<Mailbox>?>
    private let status: RegistrationStatus

    init(_ destination: Destination) {
        self.destination = destination
        identity = destination.identity
        unsafe lazyMailbox = unsafe Atomic(nil)
        status = RegistrationStatus()
    }

    /// For a further registration of the same observer, which shares the mailbox.
    init(sharing other: borrowing Place) {
        destination = other.destination
        identity = other.identity
        unsafe lazyMailbox = unsafe Atomic(.passRetained(other.madeMailbox()))
        status = RegistrationStatus(isClaimed: true)
    }

    deinit {
        unsafe lazyMailbox.load(ordering: .relaxed)?.release()
    }

    /// Claims the place for a registration; false if another registration has it already.
    func claim() -> Bool { status.claim() }

    /// Whether the notifier is on the observer's actor, and no value is waiting that a call in place would overtake.
    @inline(__always)
    func mayCall(from here: UInt) -> Bool {
        guard here == identity else { return false }
        guard let mailbox = unsafe lazyMailbox.load(ordering: .acquiring) else { return true }
        return unsafe mailbox._withUnsafeGuaranteedRef { $0.isIdle }
    }

    /// Puts a value into the mailbox; false if the owner is dead.
    func enqueue(_ value: any Sendable, for observer: AnyEntry, from here: UInt) -> Bool {
        guard status.isOpen else { return !status.isOwnerKnownDead }
        // If the notifier is on the observer's actor, the mailbox is drained in place: earlier values first, then this
        // one.
        madeMailbox().post(value, to: observer, drainingInPlace: here == identity)
        return true
    }

    /// Whether a value from the mailbox may be delivered.
    var isActive: Bool { status.isActive }

    func noteDeadOwner() { status.noteDeadOwner() }

    var isOwnerKnownDead: Bool { status.isOwnerKnownDead }

    func end() { status.end() }

    var mailbox: Mailbox? {
        // Acquiring: the mailbox must be seen initialised.
        unsafe lazyMailbox.load(ordering: .acquiring)?.takeUnretainedValue()
    }

    private func madeMailbox() -> Mailbox {
        if let mailbox { return mailbox }
        let fresh = unsafe Unmanaged.passRetained(Mailbox(destination))
        // Releasing, for threads that will load the pointer; acquiring, in case another thread has made a mailbox.
        let (isOurs, theirs) = unsafe lazyMailbox.compareExchange(
            expected: nil, desired: fresh, ordering: .acquiringAndReleasing)
        if !isOurs { unsafe fresh.release() }
        return unsafe (isOurs ? fresh : theirs!).takeUnretainedValue()
    }

    var description: String { destination.description + (mailbox?.progress ?? "") }
}

/// An observer that belongs to an actor or a queue: called in place if the notifier is already there, and through its
/// mailbox otherwise.
///
/// `Place.mayCall` decides which.
@usableFromInline
class IsolatedEntry<Parameters: Sendable>: Entry<Parameters>, @unchecked Sendable {
    fileprivate let place: Place

    fileprivate init(place: consuming Place) {
        self.place = place
    }

    /// Calls the observer; false if its owner is dead.
    fileprivate func call(_ parameters: Parameters) -> Bool { fatalError("abstract") }

    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        if place.mayCall(from: here) { return call(parameters) }
        return place.enqueue(parameters, for: self, from: here)
    }

    override final func isKnownAlive(from here: UInt) -> Bool {
        place.mayCall(from: here) ? isAlive : !place.isOwnerKnownDead
    }

    override final func deliverEnqueued(_ value: any Sendable) {
        // The cast cannot fail: `deliver` has posted this value.
        if place.isActive, !call(value as! Parameters) { place.noteDeadOwner() }
    }

    override final var mailbox: AnyMailbox? { place.mailbox }
    override final var placeDescription: String? { place.description }
    override final func end() { place.end() }
}

/// An isolated observer without an owner.
@usableFromInline
@safe final class IsolatedClosure<Parameters: Sendable>: IsolatedEntry<Parameters>, @unchecked Sendable {
    private let function: @Sendable (Parameters) -> Void

    @usableFromInline
    convenience init(_ call: @escaping @Sendable (Parameters) -> Void, at destination: Destination) {
        self.init(call, place: Place(destination))
    }

    private init(_ function: @escaping @Sendable (Parameters) -> Void, place: consuming Place) {
        self.function = function
        super.init(place: place)
    }

    /// Calls the observer if it may be called in place; false otherwise.
    @inline(__always)
    func callInPlace(_ parameters: Parameters, from here: UInt) -> Bool {
        guard place.mayCall(from: here) else { return false }
        function(parameters)
        return true
    }

    fileprivate override func call(_ parameters: Parameters) -> Bool {
        function(parameters)
        return true
    }

    override var isIsolatedClosure: Bool { true }

    override func claimed() -> AnyEntry {
        place.claim() ? self : IsolatedClosure(function, place: Place(sharing: place))
    }
}

/// An isolated observer with a weakly held owner.
@usableFromInline
@safe
final class IsolatedOwnedEntry<Owner: AnyObject & Sendable, Parameters: Sendable>: IsolatedEntry<Parameters>,
    @unchecked Sendable
{
    private weak let weakOwner: Owner?
    private let function: @Sendable (Owner, Parameters) -> Void

    @usableFromInline
    convenience init(
        _ owner: Owner, _ call: @escaping @Sendable (Owner, Parameters) -> Void, at destination: Destination
    ) {
        self.init(owner, call, place: Place(destination))
    }

    private init(
        _ owner: Owner?, _ function: @escaping @Sendable (Owner, Parameters) -> Void, place: consuming Place
    ) {
        weakOwner = owner
        self.function = function
        super.init(place: place)
    }

    // Spares the call in place, which is the usual one, a jump through the method table.
    override func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        place.mayCall(from: here) ? call(parameters) : super.deliver(parameters, from: here)
    }

    @inline(__always)
    fileprivate override func call(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        function(owner, parameters)
        return true
    }

    override func claimed() -> AnyEntry {
        place.claim() ? self : IsolatedOwnedEntry(weakOwner, function, place: Place(sharing: place))
    }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type? { Owner.self }
}
