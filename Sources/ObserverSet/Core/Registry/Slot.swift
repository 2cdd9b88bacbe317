import Synchronization

/// An observer in a slot, whatever its parameters: a function, or a registration.
///
/// Two words that are opaque to the compiler. So everything except the call itself is ordinary, unspecialised code, and
/// the bits may be copied while other threads read them. A callee is not counted as a reference: its owner releases it,
/// exactly once.
///
/// Why the casts are sound: a stored function is two words, its code and its context, and a context is retained and
/// released like any native object. Only what owns a registry puts callees into it, all of them with its own
/// parameters or never called, and only the owner has them called.
@safe struct Callee: @unchecked Sendable {
    let code: UInt
    /// The address of the function's context, or of the registration; zero for a function without a context.
    let reference: UInt

    fileprivate var unmanaged: Unmanaged<Registration>? {
        unsafe UnsafeRawPointer(bitPattern: reference).map { unsafe .fromOpaque($0) }
    }

    var isSpecial: Bool { code >= Registration.leastTag }

    func has(_ trait: UInt) -> Bool { isSpecial && code & trait != 0 }

    /// The registration; nil for a plain function.
    var registration: Registration? { unsafe isSpecial ? unmanaged?.takeUnretainedValue() : nil }
    /// Asks the observer, if it is more than a function, without retaining it.
    @inline(__always)
    func ask<Answer>(_ question: (AnyTarget) -> Answer) -> Answer? {
        unsafe isSpecial ? unmanaged?._withUnsafeGuaranteedRef { question($0.observer) } : nil
    }

    /// Whether it has an owner or object that may die; asked in each addition, without retaining it.
    var mayDie: Bool { has(Registration.mayDie) }

    /// Never called under the lock: the `deinit` of a closure's captures runs here.
    func release() { unsafe unmanaged?.release() }
}

extension Callee {
    /// Retains an observer's function, or one registration of the observer.
    @inline(__always)
    init<Parameters: Sendable>(retaining observer: Observer<Parameters>) {
        if let registration = observer.registration {
            self.init(retaining: registration.claimed())
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

/// A callee that is a function, borrowed from its slot by a notification.
///
/// Nothing is retained, except by the call itself.
@unsafe struct BorrowedFunction<Parameters>: ~Copyable {
    private let call: (Parameters) -> Void

    /// The callee of a slot, which is the slot's first field.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedFunction> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedFunction.self)
    }

    @inline(__always)
    borrowing func callAsFunction(_ parameters: Parameters) { unsafe call(parameters) }
}

/// The memory for one observer of a set, in atomic words, since they change in place while others may look at them.
///
/// Storing its id publishes the slot. After that it changes once, from living to removed. It becomes vacant again only
/// when no traversal that may have seen it living is left.
@safe struct Slot: ~Copyable, @unchecked Sendable {
    // The callee's two words are the first, so that a slot's address is its callee's. They, and those of the site, are
    // loaded and stored relaxed: what was stored before `word` is seen by a thread that acquires that.
    private let code = Atomic<UInt>(0)
    private let reference = Atomic<UInt>(0)
    /// The registration's id and the flags below; zero if the slot is vacant.
    private let word = Atomic<UInt64>(0)
    private let file = Atomic<UInt>(0)
    private let line = Atomic<UInt32>(0)

    @inline(__always)
    var callee: Callee { Callee(code: code.load(ordering: .relaxed), reference: reference.load(ordering: .relaxed)) }

    /// The registration, which is of that class, borrowed in the same way as a function: nothing is retained.
    @inline(__always)
    func registration<Kind: Registration>(as kind: Kind.Type) -> Unmanaged<Kind> {
        unsafe .fromOpaque(UnsafeRawPointer(bitPattern: reference.load(ordering: .relaxed)).unsafelyUnwrapped)
    }

    /// Calls the observer, or enqueues the call.
    @inline(__always)
    func send<Parameters>(_ parameters: Parameters, by notifier: inout Notifier) -> OwnerCheck {
        if code.load(ordering: .relaxed) & Registration.kinds == Registration.furtherKind {
            return sendFurther(parameters, by: &notifier)
        }
        return unsafe registration(as: Target<Parameters>.self)._withUnsafeGuaranteedRef {
            $0.send(parameters, for: $0, by: &notifier)
        }
    }

    @inline(never)
    private func sendFurther<Parameters>(_ parameters: Parameters, by notifier: inout Notifier) -> OwnerCheck {
        unsafe registration(as: FurtherRegistration.self)._withUnsafeGuaranteedRef {
            unsafe unsafeDowncast($0.ownTarget, to: Target<Parameters>.self).send(parameters, for: $0, by: &notifier)
        }
    }

    /// Calls the observer if it is an ownerless closure on the notifier's actor and no value waits for it; false
    /// otherwise.
    ///
    /// It spares such observers a dispatch through the target's method table.
    @inline(__always)
    func callClosure<Parameters: Sendable>(_ parameters: Parameters, by notifier: inout Notifier) -> Bool {
        guard code.load(ordering: .relaxed) == Registration.functionKind | Registration.hasMailbox else { return false }
        return unsafe registration(as: IsolatedFunction<Parameters>.self)._withUnsafeGuaranteedRef {
            $0.callInPlace(parameters, by: &notifier)
        }
    }

    var site: Site { Site(file: file.load(ordering: .relaxed), line: line.load(ordering: .relaxed)) }

    static let removed: UInt64 = 1 << 63
    /// The callee is a registration, and not a plain function.
    private static let special: UInt64 = 1 << 62
    /// A number above every id, and the bits in which the id is stored.
    static let noLimit: UInt64 = special - 1

    /// Acquiring, paired with the releasing store in `publish`: what was published with the id is seen, too.
    ///
    /// The removed flag needs no order. It decides only whether to call; the callee stays alive as long as the
    /// traversal is counted. A traversal that begins after a removal sees the flag because of the head that it loads,
    /// see `Reclamation`.
    @inline(__always)
    var state: UInt64 {
        // fault: slot-read-relaxed
        word.load(ordering: .acquiring)
    }

    var id: UInt64 { word.load(ordering: .relaxed) & Self.noLimit }

    /// Whether it holds an observer that has not been removed.
    var isLiving: Bool {
        let state = state
        return state != 0 && state < Self.removed
    }

    /// Whether it holds that observer, not removed; the slot may have been reused for another one by now.
    func isLiving(_ id: UInt64) -> Bool {
        let state = state
        return state < Self.removed && state & Self.noLimit == id
    }

    /// Whether the callee has no owner, or a living one.
    ///
    /// Never called under the lock.
    var isAlive: Bool { !callee.has(Registration.hasOwner) || callee.ask(\.isAlive) != false }

    /// Whether a search for dead owners and objects should remove it.
    ///
    /// Never called under the lock.
    var isDead: Bool { callee.mayDie && callee.ask(\.isDead) == true }

    /// This and the following functions are called under the registry's lock.
    func publish(_ callee: Callee, id: UInt64, site: Site) {
        code.store(callee.code, ordering: .relaxed)
        reference.store(callee.reference, ordering: .relaxed)
        file.store(site.file, ordering: .relaxed)
        line.store(site.line, ordering: .relaxed)
        // fault: slot-published-relaxed
        word.store(id | (callee.isSpecial ? Self.special : 0), ordering: .releasing)
    }

    /// Relaxed: see "Marking a slot" in `Reclamation.swift`.
    func markRemoved() { word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed) }

    /// Relaxed: no traversal is left that saw it living, see "Slots at the end" in `Reclamation.swift`.
    func vacate() { word.store(0, ordering: .relaxed) }
}
