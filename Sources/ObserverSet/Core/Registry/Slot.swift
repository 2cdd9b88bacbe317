import Synchronization

/// An observer in a slot, whatever its parameters: a function, or an entry.
///
/// Two words that are opaque to the compiler. So everything except the call itself is ordinary, unspecialised code, and
/// the bits may be copied while other threads read them. A callee is not counted as a reference: its owner releases it,
/// exactly once.
///
/// Why the casts are sound: a stored function is two words, its code and its context, and a context is retained and
/// released like any native object. Only a set puts callees into its registry, all of them with the set's own
/// parameters, and only the set has them called.
@safe struct Callee: @unchecked Sendable {
    private let code: UInt
    private let reference: Unmanaged<AnyEntry>?

    // Tags in the place of a function's code. No function is at these addresses; nor is one at a low one, except on
    // WebAssembly, where functions are numbered from 1.
    static let entryTag = UInt.max
    static let closureTag = UInt.max - 1

    /// Retains an observer's function, or an entry for this registration of the observer.
    @inline(__always)
    init<Parameters: Sendable>(retaining observer: Observer<Parameters>) {
        switch observer.calleeForRegistration() {
        case .entry(let entry): self.init(retaining: entry)
        case .function(let call): self.init(retaining: call)
        }
    }

    @inline(__always)
    init(retaining entry: AnyEntry) {
        let code = entry.isIsolatedClosure ? Self.closureTag : Self.entryTag
        unsafe self.init(code: code, reference: .passRetained(entry))
    }

    @inline(__always)
    init<Parameters>(retaining function: @escaping (Parameters) -> Void) {
        self = unsafe unsafeBitCast(Function(call: function), to: Callee.self)
        _ = unsafe reference?.retain()
    }

    @inline(__always)
    init(_ words: (code: UInt, reference: UInt)) {
        code = words.code
        unsafe reference = unsafe UnsafeRawPointer(bitPattern: words.reference).map {
            unsafe Unmanaged.fromOpaque($0)
        }
    }

    var words: (code: UInt, reference: UInt) { unsafe (code, UInt(bitPattern: reference?.toOpaque())) }

    private init(code: UInt, reference: Unmanaged<AnyEntry>?) {
        self.code = code
        unsafe self.reference = unsafe reference
    }

    private struct Function<Parameters> {
        let call: (Parameters) -> Void
    }

    var hasEntry: Bool { code == Self.entryTag || code == Self.closureTag }

    /// The entry; nil for a plain function.
    var entry: AnyEntry? { unsafe hasEntry ? reference?.takeUnretainedValue() : nil }

    /// Never called under the lock: the `deinit` of a closure's captures runs here.
    func release() { unsafe reference?.release() }
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

/// A callee that is an entry, borrowed from its slot in the same way.
@unsafe struct BorrowedEntry<Parameters>: ~Copyable {
    private let code: UInt
    private let entry: Entry<Parameters>

    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedEntry> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedEntry.self)
    }

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters, by context: inout NotifyContext) -> Bool {
        unsafe entry.deliver(parameters, by: &context)
    }

    /// Calls the observer if it is an ownerless closure on the notifier's actor and no value waits for it; false
    /// otherwise.
    ///
    /// It spares such observers a dispatch through the entry's method table.
    @inline(__always)
    borrowing func callClosure(_ parameters: Parameters, by context: inout NotifyContext) -> Bool
    where Parameters: Sendable {
        guard unsafe code == Callee.closureTag else { return false }
        let closure = unsafe unsafeDowncast(entry, to: IsolatedClosure<Parameters>.self)
        return closure.callInPlace(parameters, by: &context)
    }
}

/// The memory for one observer of a set, in atomic words, since they change in place while others may look at them.
///
/// Storing its id publishes the slot. After that it changes once, from living to removed. It becomes vacant again only
/// when no traversal that may have seen it living is left.
@safe struct Slot: ~Copyable, @unchecked Sendable {
    // The callee's two words are the first, so that a slot's address is its callee's. They, and those of the site, are
    // loaded and stored relaxed: what was stored before `word` is seen by whoever acquires that.
    private let code = Atomic<UInt>(0)
    private let reference = Atomic<UInt>(0)
    /// The registration's id and the flags below; zero if the slot is vacant.
    private let word = Atomic<UInt64>(0)
    private let file = Atomic<UInt>(0)
    private let line = Atomic<UInt32>(0)

    var callee: Callee {
        @inline(__always) get {
            Callee((code.load(ordering: .relaxed), reference.load(ordering: .relaxed)))
        }
    }

    var site: Site { Site((file.load(ordering: .relaxed), line.load(ordering: .relaxed))) }

    static let removed: UInt64 = 1 << 63
    /// The observer is not a plain function: it has an entry, or is called only once.
    private static let special: UInt64 = 1 << 62
    /// The observer is called only once; set by local sets alone.
    private static let once: UInt64 = 1 << 61
    /// A number above every id, and the bits in which the id is stored.
    static let noLimit: UInt64 = once - 1

    /// Acquiring, paired with the releasing store in `publish`: what was published with the id is seen, too.
    ///
    /// The removed flag needs no order. It decides only whether to call; the callee stays alive as long as the
    /// traversal is counted. A traversal that begins after a removal sees the flag because of the head that it loads,
    /// see `Reclamation`.
    var state: UInt64 {
        // fault: slot-read-relaxed
        @inline(__always) get { word.load(ordering: .acquiring) }
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

    var isOnce: Bool { word.load(ordering: .relaxed) & Self.once != 0 }

    /// Whether the callee has no owner, or a living one.
    ///
    /// Never called under the lock.
    var isAlive: Bool { callee.entry?.isAlive ?? true }

    /// Whether a search for dead owners and objects should remove it.
    ///
    /// Never called under the lock.
    var isDead: Bool { callee.entry?.isDead ?? false }

    var isRemoved: Bool { word.load(ordering: .relaxed) >= Self.removed }

    /// This and the following functions are called under the registry's lock; a local set has none.
    func publish(_ callee: Callee, id: UInt64, site: Site, isOnce: Bool = false) {
        code.store(callee.words.code, ordering: .relaxed)
        reference.store(callee.words.reference, ordering: .relaxed)
        file.store(site.words.file, ordering: .relaxed)
        line.store(site.words.line, ordering: .relaxed)
        // fault: slot-published-relaxed
        word.store(id | (isOnce ? Self.special | Self.once : callee.hasEntry ? Self.special : 0), ordering: .releasing)
    }

    /// Relaxed: see "Marking a slot" in `Reclamation.swift`.
    func markRemoved() {
        word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed)
    }

    /// Relaxed: no traversal is left that saw it living, see "Slots at the end" in `Reclamation.swift`.
    func vacate() {
        word.store(0, ordering: .relaxed)
    }
}
