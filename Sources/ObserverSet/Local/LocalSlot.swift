/// An observer: a function, or an entry that knows an owner and a function.
///
/// It cannot be copied, so that a call through a pointer borrows it: nothing is retained but what the call itself retains.
/// Two fields rather than the cases of an enumeration: unspecialised code would ask the runtime which case it is.
struct LocalPayload<Parameters>: ~Copyable {
    private let call: (Parameters) -> Void
    /// Called instead of the function, if there is an owner.
    let entry: LocalEntry<Parameters>?

    @inline(__always)
    init(_ call: @escaping (Parameters) -> Void) {
        self.call = call
        self.entry = nil
    }

    @inline(__always)
    init(_ entry: LocalEntry<Parameters>) {
        // Never called. A closure's context would be a box of its own; a method's is the entry.
        self.call = entry.ignore
        self.entry = entry
    }

    /// Calls the observer; false if its owner is dead.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters) -> Bool {
        if let entry { return entry.deliver(parameters) }
        call(parameters)
        return true
    }

    /// Whether there is no owner, or a living one.
    var isAlive: Bool {
        @inline(__always) get { entry?.isAlive ?? true }
    }
}

/// A weakly held owner and what to call with it; this part knows the parameters alone.
class LocalEntry<Parameters> {
    var owner: AnyObject? { fatalError("abstract") }
    var ownerType: Any.Type { fatalError("abstract") }
    final var isAlive: Bool { owner != nil }
    /// Calls the observer; false if its owner is dead.
    func deliver(_ parameters: Parameters) -> Bool { fatalError("abstract") }
    final func ignore(_ parameters: Parameters) {}
}

/// The part that knows the owner's type.
final class LocalOwnedEntry<Owner: AnyObject, Parameters>: LocalEntry<Parameters> {
    private weak let weakOwner: Owner?
    private let call: (Owner, Parameters) -> Void

    init(owner: Owner, call: @escaping (Owner, Parameters) -> Void) {
        self.weakOwner = owner
        self.call = call
    }

    override var owner: AnyObject? { weakOwner }
    override var ownerType: Any.Type { Owner.self }

    override func deliver(_ parameters: Parameters) -> Bool {
        guard let owner = weakOwner else { return false }
        call(owner, parameters)
        return true
    }
}

/// What becomes of a registration.
///
/// Not nested in the slot: unspecialised code compares what depends on no type.
enum LocalState {
    case lasting
    /// Removed as it is called.
    case once
    case removed
}

/// One registration.
struct LocalSlot<Parameters>: ~Copyable {
    /// The first field, so that a slot's address is its payload's.
    let payload: LocalPayload<Parameters>
    let id: UInt64
    let site: Site
    var state: LocalState

    @inline(__always)
    init(_ payload: consuming LocalPayload<Parameters>, id: UInt64, site: Site, state: LocalState) {
        self.payload = payload
        self.id = id
        self.site = site
        self.state = state
    }

    var isLiving: Bool { state != .removed }
}
