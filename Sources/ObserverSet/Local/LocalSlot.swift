/// An observer: a function, or an entry that knows an owner and a function.
///
/// It cannot be copied, so that a call through a pointer borrows it: nothing is retained but what the call itself retains.
/// What is small is inlined, since a call of it would have to look up the type's metadata.
enum LocalPayload<Parameters>: ~Copyable {
    case function((Parameters) -> Void)
    case owned(LocalEntry<Parameters>)
    /// Taken out of its slot.
    case none

    @inline(__always)
    mutating func take() -> LocalPayload {
        let payload = self
        self = .none
        return payload
    }

    /// Calls the observer; false if its owner is dead.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters) -> Bool {
        switch self {
        case .function(let call):
            call(parameters)
            return true
        case .owned(let entry):
            return entry.deliver(parameters)
        case .none:
            return true
        }
    }

    /// The entry, if there is an owner.
    var entry: LocalEntry<Parameters>? {
        @inline(__always) borrowing get {
            switch self {
            case .function: nil
            case .owned(let entry): entry
            case .none: nil
            }
        }
    }

    /// Whether there is no owner, or a living one.
    var isAlive: Bool {
        @inline(__always) get { entry?.isAlive ?? true }
    }
}

/// A weakly held owner and what to call with it; this part knows the parameters alone.
class LocalEntry<Parameters> {
    var owner: AnyObject? { nil }
    var ownerType: Any.Type { fatalError("abstract") }
    final var isAlive: Bool { owner != nil }
    /// Calls the observer; false if its owner is dead.
    func deliver(_ parameters: Parameters) -> Bool { fatalError("abstract") }
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
    var payload: LocalPayload<Parameters>
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
