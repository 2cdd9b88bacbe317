import Synchronization

/// Where one observer runs, and what waits for it there.
///
/// A part of the entries that know the parameters, and does not know them itself.
@safe struct Place: ~Copyable, Sendable {
    private let destination: Destination
    /// What identifies the actor or queue; here as well, for the sake of notifying.
    private let identity: UInt
    /// Retained; made when the first value has to wait, or when the observer is registered once more.
    private let lazyMailbox: Atomic<Unmanaged<Mailbox>?>
    private let status: RegistrationStatus

    init(_ destination: Destination) {
        self.destination = destination
        identity = destination.identity
        unsafe lazyMailbox = unsafe Atomic(nil)
        status = RegistrationStatus()
    }

    /// For a further registration of the same observer, which has the same mailbox.
    init(sharing other: borrowing Place) {
        destination = other.destination
        identity = other.identity
        unsafe lazyMailbox = unsafe Atomic(.passRetained(other.madeMailbox()))
        status = RegistrationStatus(isClaimed: true)
    }

    deinit {
        unsafe lazyMailbox.load(ordering: .relaxed)?.release()
    }

    /// Whether it becomes the place of a registration by this call.
    func claim() -> Bool { status.claim() }

    /// Whether the notifier is there, and a call in place would overtake nothing.
    @inline(__always)
    func mayCall(from here: UInt) -> Bool {
        guard here == identity else { return false }
        guard let mailbox = unsafe lazyMailbox.load(ordering: .acquiring) else { return true }
        return unsafe mailbox._withUnsafeGuaranteedRef { $0.isIdle }
    }

    /// Puts a value into the mailbox; false if the owner is dead.
    func enqueue(_ value: any Sendable, for observer: AnyEntry, from here: UInt) -> Bool {
        guard status.isOpen else { return status.isRemoved }
        // Where the notifier is there already, all in place: earlier values first, then this one.
        madeMailbox().post(value, to: observer, drainingInPlace: here == identity)
        return true
    }

    /// Whether what has waited may be delivered.
    var isActive: Bool { status.isActive }

    func noteDeadOwner() { status.noteDeadOwner() }

    func end() { status.end() }

    var mailbox: Mailbox? {
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

    var description: String { destination.description }
}

/// An observer that belongs to an actor or a queue: called in place where the notifier is already there, and through
/// its mailbox otherwise.
///
/// The one place that decides.
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

    override final func deliverEnqueued(_ value: any Sendable) {
        // What `deliver` has posted.
        if place.isActive, !call(value as! Parameters) { place.noteDeadOwner() }
    }

    override final var mailbox: AnyMailbox? { place.mailbox }
    override final var placeDescription: String? { place.description }
    override final func end() { place.end() }
}

/// One without an owner.
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

    /// Calls the observer, if it may be called at once; false otherwise.
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

/// One with a weakly held owner.
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
