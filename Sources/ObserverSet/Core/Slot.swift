import Synchronization

/// What a slot holds of an observer, whatever its parameters: a function, or an entry.
///
/// Two words without a meaning to the compiler, so that everything but the call itself is ordinary, unspecialised code, and
/// bits may be copied while others read them. Whoever owns one releases it, once.
///
/// Why the casts are sound: a stored function is two words, its code and its context, and a context is retained and released
/// like any native object. Only a set puts callees into its registry, all of its own parameters, and only it has them
/// called.
@safe struct Callee: @unchecked Sendable {
    private let code: UInt
    private let reference: Unmanaged<AnyEntry>?

    // No function is at these addresses.
    private static let isEntry: UInt = 1
    fileprivate static let isIsolatedClosure: UInt = 2

    /// The function of an observer, or an entry for a registration of its own; retained.
    @inline(__always)
    init<Parameters: Sendable>(retaining observer: Observer<Parameters>) {
        if let entry = observer.entry {
            self.init(retaining: entry.claimed())
        } else {
            self.init(retaining: observer.call)
        }
    }

    @inline(__always)
    init(retaining entry: AnyEntry) {
        let code = entry.isIsolatedClosure ? Self.isIsolatedClosure : Self.isEntry
        unsafe self.init(code: code, reference: .passRetained(entry))
    }

    @inline(__always)
    init<Parameters>(retaining function: @escaping (Parameters) -> Void) {
        self = unsafe unsafeBitCast(Function(call: function), to: Callee.self)
        _ = unsafe reference?.retain()
    }

    /// Nothing.
    init() {
        unsafe self.init(code: 0, reference: nil)
    }

    private init(code: UInt, reference: Unmanaged<AnyEntry>?) {
        self.code = code
        unsafe self.reference = unsafe reference
    }

    private struct Function<Parameters> {
        let call: (Parameters) -> Void
    }

    var hasEntry: Bool { code == Self.isEntry || code == Self.isIsolatedClosure }

    /// The entry, if there is one.
    var entry: AnyEntry? { unsafe hasEntry ? reference?.takeUnretainedValue() : nil }

    /// Never under the lock: the `deinit` of a closure's captures runs here.
    func release() { unsafe reference?.release() }
}

/// A callee that is a function, as a notification sees it in its slot: borrowed.
///
/// Nothing is retained but what the call itself retains.
@unsafe struct BorrowedFunction<Parameters>: ~Copyable {
    private let call: (Parameters) -> Void

    /// The callee in a slot, of which it is the first field.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedFunction> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedFunction.self)
    }

    @inline(__always)
    borrowing func callAsFunction(_ parameters: Parameters) { unsafe call(parameters) }
}

/// A callee that is an entry, in the same way.
@unsafe struct BorrowedEntry<Parameters>: ~Copyable {
    private let code: UInt
    private let entry: Entry<Parameters>

    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedEntry> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedEntry.self)
    }

    /// Calls the observer, or enqueues the call; false if its owner is dead.
    @inline(__always)
    borrowing func deliver(_ parameters: Parameters, from here: UInt) -> Bool {
        unsafe entry.deliver(parameters, from: here)
    }

    /// Calls the observer if it is a closure that belongs to the notifier's actor, and nothing waits for it; false otherwise.
    ///
    /// Without a look at a table of methods.
    @inline(__always)
    borrowing func callClosure(_ parameters: Parameters, from here: UInt) -> Bool where Parameters: Sendable {
        guard unsafe code == Callee.isIsolatedClosure else { return false }
        return unsafe unsafeDowncast(entry, to: IsolatedClosure<Parameters>.self).callInPlace(parameters, from: here)
    }
}

/// The place of one observer in a set.
///
/// It is published by its id, and then changes once, from living to removed. Vacant again it is only when no traversal can
/// have seen it living.
@safe struct Slot: ~Copyable, @unchecked Sendable {
    /// The first field, so that a slot's address is its callee's.
    private(set) var callee = Callee()
    /// The registration's id, and what is to be done; zero if it is vacant.
    private let word = Atomic<UInt64>(0)
    private(set) var site = Site()

    static let removed: UInt64 = 1 << 63
    private static let special: UInt64 = 1 << 62
    /// It is called once, in a local set.
    private static let once: UInt64 = 1 << 61
    /// Above every id.
    static let noLimit: UInt64 = once - 1

    /// Acquiring, against the releasing store in `publish`: what it publishes is there.
    ///
    /// That a slot was removed decides only whether to call: what is called stays alive while the traversal is counted. One
    /// that begins after a removal sees it through the head, see `Reclamation`.
    var state: UInt64 {
        // fault: slot-read-relaxed
        @inline(__always) get { word.load(ordering: .acquiring) }
    }

    var id: UInt64 { word.load(ordering: .relaxed) & Self.noLimit }

    /// Whether there is an observer.
    var isLiving: Bool {
        let state = state
        return state != 0 && state < Self.removed
    }

    /// Whether that observer is there, and living: the slot may be another one's by now.
    func isLiving(_ id: UInt64) -> Bool {
        let state = state
        return state < Self.removed && state & Self.noLimit == id
    }

    var isOnce: Bool { word.load(ordering: .relaxed) & Self.once != 0 }

    /// Whether what it holds has no owner, or a living one.
    ///
    /// Never under the lock.
    var isAlive: Bool { callee.entry?.isAlive ?? true }

    /// Whether it is to be removed by who looks for such.
    ///
    /// Never under the lock.
    var isDead: Bool { callee.entry?.isDead ?? false }

    var isRemoved: Bool { word.load(ordering: .relaxed) >= Self.removed }

    /// Under the lock, like what follows.
    mutating func publish(_ callee: Callee, id: UInt64, site: Site, isOnce: Bool = false) {
        self.callee = callee
        self.site = site
        // fault: slot-published-relaxed
        word.store(id | (isOnce ? Self.special | Self.once : callee.hasEntry ? Self.special : 0), ordering: .releasing)
    }

    func markRemoved() {
        word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed)
    }

    func vacate() {
        word.store(0, ordering: .relaxed)
    }
}
