import Synchronization

/// An observer as a slot stores it, whatever its parameters: a plain function or a registration.
///
/// A callee is two words that mean nothing to the compiler. Therefore all code but the call itself is ordinary,
/// unspecialised code, and the words may be copied while other threads read them. A callee doesn't count as a
/// reference: the slot or `Retired` that holds it releases it, exactly once.
///
/// The casts below are sound for two reasons. First, a stored function consists of two words, its code and its context,
/// and the context is retained and released like any native object. Second, a registry belongs to one set or layer.
/// Only that set or layer puts callees into the registry and has them called, and all of them take its parameters.
/// (The retired markers of `RemovalWait` and weakly held objects are never called.)
@safe struct Callee: @unchecked Sendable {
    let code: UInt
    /// The address of the function's context, or of the registration; zero for a function without a context.
    let reference: UInt

    fileprivate var unmanaged: Unmanaged<Registration>? {
        unsafe UnsafeRawPointer(bitPattern: reference).map { unsafe .fromOpaque($0) }
    }

    var isRegistration: Bool { code >= Registration.leastTag }

    func has(_ trait: UInt) -> Bool { isRegistration && code & trait != 0 }

    /// The registration, or nil for a plain function.
    var registration: Registration? { unsafe isRegistration ? unmanaged?.takeUnretainedValue() : nil }
    /// Asks the observer a question without retaining it; returns nil for a plain function, which can't be asked.
    @inline(__always)
    func ask<Answer>(_ question: (AnyTarget) -> Answer) -> Answer? {
        unsafe isRegistration ? unmanaged?._withUnsafeGuaranteedRef { question($0.innermost) } : nil
    }

    /// Whether the observer has an owner that may die, or is itself an object that may die.
    ///
    /// Each addition asks this, so it doesn't retain the observer.
    var mayDie: Bool { has(Registration.mayDie) }

    /// Releases the function's context or the registration.
    ///
    /// The slot or `Retired` that holds the callee calls this, exactly once. Never call it under the lock, because the
    /// `deinit` of an object that a closure captures runs here.
    @unsafe func release() { unsafe unmanaged?.release() }
}

extension Callee {
    /// Retains an observer's function, or one registration of the observer.
    @inline(__always)
    init<Parameters: Sendable>(retaining observer: Observer<Parameters>) {
        if let registration = observer.registration {
            self.init(retaining: registration.claimedOrAnother())
        } else {
            self.init(retaining: observer.function)
        }
    }

    @inline(__always)
    init(retaining registration: Registration) {
        self.init(
            code: registration.tag, reference: unsafe UInt(bitPattern: Unmanaged.passRetained(registration).toOpaque()))
    }

    @inline(__always)
    init<Parameters>(retaining function: @escaping (Parameters) -> Void) {
        self = unsafe unsafeBitCast(Function(call: function), to: Callee.self)
        _ = unsafe unmanaged?.retain()
    }

    private struct Function<Parameters> {
        let call: (Parameters) -> Void
    }
}

/// A plain function, which a notification borrows from a slot.
///
/// Nothing is retained, unless the call itself retains something.
@unsafe struct BorrowedFunction<Parameters>: ~Copyable {
    private let call: (Parameters) -> Void

    /// The function in a slot, which has the slot's own address, because the callee is the slot's first field.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedFunction> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedFunction.self)
    }

    @inline(__always)
    borrowing func callAsFunction(_ parameters: Parameters) { unsafe call(parameters) }
}

/// The memory for one observer of a set.
///
/// It consists of atomic words, because they change in place while other threads may be reading them.
///
/// Storing the id publishes the slot. After that, the slot changes only once, from registered to removed. It becomes
/// vacant again only when no traversal is left that may have seen it registered.
@safe struct Slot: ~Copyable, @unchecked Sendable {
    // The callee's two words come first, so that a slot and its callee have the same address. These two words, and
    // those of the site, are loaded and stored relaxed: they are stored before `word` is released, so a thread that
    // acquires `word` sees them.
    private let code = Atomic<UInt>(0)
    private let reference = Atomic<UInt>(0)
    /// The registration's id and the flags below, or zero if the slot is vacant.
    private let word = Atomic<UInt64>(0)
    private let file = Atomic<UInt>(0)
    private let line = Atomic<UInt32>(0)

    @inline(__always)
    var callee: Callee { Callee(code: code.load(ordering: .relaxed), reference: reference.load(ordering: .relaxed)) }

    /// The registration, which must be of the class `kind`.
    ///
    /// It is borrowed, as a function is: nothing is retained.
    @unsafe @inline(__always)
    func registration<Kind: Registration>(as kind: Kind.Type) -> Unmanaged<Kind> {
        unsafe .fromOpaque(UnsafeRawPointer(bitPattern: reference.load(ordering: .relaxed)).unsafelyUnwrapped)
    }

    /// Calls the observer, or enqueues the value for it.
    @inline(__always)
    func send<Parameters>(_ parameters: Parameters, by notifier: inout Notifier) {
        if code.load(ordering: .relaxed) & Registration.kinds == Registration.furtherKind {
            return sendFurther(parameters, by: &notifier)
        }
        unsafe registration(as: Target<Parameters>.self)._withUnsafeGuaranteedRef {
            $0.send(parameters, for: $0, by: &notifier)
        }
    }

    /// The same for a registration that isn't the target itself.
    @inline(never)
    private func sendFurther<Parameters>(_ parameters: Parameters, by notifier: inout Notifier) {
        unsafe registration(as: FurtherRegistration.self)._withUnsafeGuaranteedRef {
            unsafe unsafeDowncast($0.ownTarget, to: Target<Parameters>.self).send(parameters, for: $0, by: &notifier)
        }
    }

    /// Calls the observer if it is an actor's closure that has neither an owner nor a `OnceGate`, the notifier is on
    /// that actor, and neither a pending value nor a call in progress would be overtaken; returns false otherwise.
    ///
    /// Such an observer then needs no dispatch through its target's method table.
    @inline(__always)
    func callIsolatedInPlace<Parameters: Sendable>(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        guard code.load(ordering: .relaxed) == Registration.functionKind | Registration.hasMailbox else { return false }
        return unsafe registration(as: IsolatedFunction<Parameters>.self)._withUnsafeGuaranteedRef {
            $0.callInPlace(parameters, by: &notifier)
        }
    }

    var site: Site { Site(file: file.load(ordering: .relaxed), line: line.load(ordering: .relaxed)) }

    static let removed: UInt64 = 1 << 63
    /// The flag that says that the callee is a registration, and not a plain function.
    private static let holdsRegistration: UInt64 = 1 << 62
    /// The bits in which the id is stored.
    static let idBits: UInt64 = holdsRegistration - 1
    /// A number that is greater than every id.
    static let noLimit: UInt64 = holdsRegistration

    /// The id and the flags.
    ///
    /// The load is acquiring, and paired with the releasing store in `publish`: a thread that sees the id also sees
    /// what was stored before it.
    ///
    /// The removed flag needs no such order, because it decides only whether to call the observer; the callee stays
    /// alive as long as the traversal is counted. A traversal that begins after a removal sees the flag because of the
    /// head that it loads (see `Reclamation`).
    @inline(__always)
    var state: UInt64 {
        // fault: slot-read-relaxed
        word.load(ordering: .acquiring)
    }

    /// The id, whether or not the observer has been removed; zero if the slot is vacant.
    ///
    /// The load is relaxed, because whoever finds a slot by its id then calls `isRegistered(_:)`, which acquires. The
    /// search itself is safe: a thread that knows an id also sees the ids in all slots before it, and the slots after
    /// it hold greater ids or are vacant, whichever of their states the thread sees.
    var id: UInt64 { word.load(ordering: .relaxed) & Self.idBits }

    /// Whether the slot holds an observer that has not been removed.
    var isRegistered: Bool {
        let state = state
        return state != 0 && state < Self.removed
    }

    /// Whether the slot still holds the observer with this id, and the observer has not been removed.
    ///
    /// By now, the slot may have been reused for another observer.
    func isRegistered(_ id: UInt64) -> Bool {
        let state = state
        return state < Self.removed && state & Self.idBits == id
    }

    /// Whether the observer has an owner that has been deallocated.
    ///
    /// A weakly held object is not asked here, because only code that runs where the object may be used can find out.
    /// Never call this under the lock.
    var isOrphaned: Bool { callee.has(Registration.hasOwner) && callee.ask(\.isOrphaned) == true }

    /// Whether a search for dead owners and objects should remove the observer.
    ///
    /// Never call this under the lock.
    var shouldBeSwept: Bool { callee.mayDie && callee.ask(\.shouldBeSwept) == true }

    /// Publishes an observer in this slot.
    ///
    /// Call this and the following functions only under the registry's lock.
    func publish(_ callee: Callee, id: UInt64, site: Site) {
        code.store(callee.code, ordering: .relaxed)
        reference.store(callee.reference, ordering: .relaxed)
        file.store(site.file, ordering: .relaxed)
        line.store(site.line, ordering: .relaxed)
        // fault: slot-published-relaxed
        word.store(id | (callee.isRegistration ? Self.holdsRegistration : 0), ordering: .releasing)
    }

    /// Marks the observer as removed.
    ///
    /// The store is relaxed: see "Marking a slot" in `Reclamation.swift`.
    func markRemoved() { word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed) }

    /// Makes the slot vacant.
    ///
    /// The store is relaxed, because no traversal is left that saw the slot registered: see "Slots at the end" in
    /// `Reclamation.swift`.
    func vacate() { word.store(0, ordering: .relaxed) }
}
