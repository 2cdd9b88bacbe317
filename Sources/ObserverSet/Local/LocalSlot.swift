/// An observer whose parameters' type has been forgotten: a function, or an entry that knows an owner and a function.
///
/// So that everything but the call itself is ordinary, unspecialised code: of a generic structure, the runtime would have to look up
/// the type each time it is moved. Why the casts are sound: a stored function is two words, its code and its context, whatever the
/// parameters' type; keeping and releasing touch only the context. A `LocalObserverSet<Parameters>` puts only functions and entries of
/// these parameters into its registry, and only it has them called.
@safe struct LocalPayload {
    /// Stands for the function: never called as what its type says.
    private let call: () -> Void
    /// Called instead of the function, if there is an owner.
    let entry: AnyLocalEntry?

    init<Parameters>(_ call: @escaping (Parameters) -> Void) {
        // As parts of structures: by itself, a function would be wrapped in a closure on its way.
        self.call = unsafe unsafeBitCast(Typed(call: call), to: Untyped.self).call
        self.entry = nil
    }

    init<Parameters>(_ entry: LocalEntry<Parameters>) {
        self.call = {}
        self.entry = entry
    }

    private struct Typed<Parameters> {
        let call: (Parameters) -> Void
    }

    private struct Untyped {
        let call: () -> Void
    }

    /// Whether there is no owner, or a living one.
    var isAlive: Bool {
        @inline(__always) get { entry?.isAlive ?? true }
    }
}

/// A payload as a pass sees it in its slot: borrowed, so that calling a function retains nothing.
@unsafe struct BorrowedLocalPayload<Parameters>: ~Copyable {
    /// The payload in a slot.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<LocalSlot>) -> UnsafeMutablePointer<BorrowedLocalPayload> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedLocalPayload.self)
    }

    private let call: (Parameters) -> Void
    private let entry: AnyLocalEntry?

    /// Calls the observer; false if its owner is dead.
    ///
    /// `isPlain` says that there is no entry.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters, isPlain: Bool) -> Bool {
        if !isPlain, let entry = unsafe entry {
            return unsafe unsafeDowncast(entry, to: LocalEntry<Parameters>.self).deliver(parameters)
        }
        unsafe call(parameters)
        return true
    }
}

/// A weakly held owner; this part knows no types.
class AnyLocalEntry {
    var owner: AnyObject? { fatalError("abstract") }
    var ownerType: Any.Type { fatalError("abstract") }
    final var isAlive: Bool { owner != nil }
}

/// The part that knows the parameters.
class LocalEntry<Parameters>: AnyLocalEntry {
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
enum LocalState {
    /// It stays, and is a function alone.
    case plain
    /// It stays, and has an owner.
    case owned
    /// Removed as it is called.
    case once
    case removed
}

/// One registration.
@safe struct LocalSlot: ~Copyable {
    /// The first field, so that a slot's address is its payload's.
    let payload: LocalPayload
    let id: UInt64
    let site: Site
    var state: LocalState

    var isLiving: Bool { state != .removed }
}
