import Synchronization

/// What a slot holds of an observer, whatever its parameters: a function, or an entry.
///
/// Two words without a meaning to the compiler, so that everything but the call itself is ordinary, unspecialised code, and
/// bits may be copied while others read them. Whoever owns one releases it, once.
///
/// Why the casts are sound: a stored function is two words, its code and its context, and a context is retained and released
/// like any native object. Only `ObserverSet<Parameters>` puts callees into its registry, all of these parameters, and
/// only it has them called.
@safe struct Callee: @unchecked Sendable {
    private let code: UInt
    private let reference: Unmanaged<AnyEntry>?

    // No function is at these addresses.
    private static let isEntry: UInt = 1
    private static let isIsolatedClosure: UInt = 2

    /// The function of an observer, or an entry for a registration of its own; retained.
    @inline(__always)
    init<Parameters: Sendable>(retaining observer: Observer<Parameters>) {
        if let entry = observer.entry {
            let code = entry.isIsolatedClosure ? Self.isIsolatedClosure : Self.isEntry
            unsafe self.init(code: code, reference: .passRetained(entry.claimed()))
        } else {
            self = unsafe unsafeBitCast(Function(call: observer.call), to: Callee.self)
            _ = unsafe reference?.retain()
        }
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
        let call: @Sendable (Parameters) -> Void
    }

    var hasEntry: Bool { code == Self.isEntry || code == Self.isIsolatedClosure }

    /// The entry, if there is one.
    var entry: AnyEntry? { unsafe hasEntry ? reference?.takeUnretainedValue() : nil }

    /// Has the entry, which there is, call the observer or enqueue the call; false if its owner is dead.
    @inline(__always)
    func deliver<Parameters: Sendable>(_ parameters: Parameters, from here: UInt) -> Bool {
        unsafe reference.unsafelyUnwrapped._withUnsafeGuaranteedRef { entry in
            // What is called in place most often needs no look at a table of methods.
            if code == Self.isIsolatedClosure,
                unsafe unsafeDowncast(entry, to: IsolatedClosure<Parameters>.self).callInPlace(parameters, from: here)
            {
                return true
            }
            return unsafe unsafeDowncast(entry, to: Entry<Parameters>.self).deliver(parameters, from: here)
        }
    }

    /// Never under the lock: the `deinit` of a closure's captures runs here.
    func release() { unsafe reference?.release() }
}

/// A callee as a notification sees it in its slot: borrowed.
///
/// Nothing is retained but what the call itself retains.
@unsafe struct BorrowedCallee<Parameters: Sendable>: ~Copyable {
    private let call: @Sendable (Parameters) -> Void

    /// The callee in a slot, of which it is the first field.
    @inline(__always)
    static func at(_ slot: UnsafeMutablePointer<Slot>) -> UnsafeMutablePointer<BorrowedCallee> {
        unsafe UnsafeMutableRawPointer(slot).assumingMemoryBound(to: BorrowedCallee.self)
    }

    @inline(__always)
    borrowing func callAsFunction(_ parameters: Parameters) { unsafe call(parameters) }
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
    static let special: UInt64 = 1 << 62
    /// Above every id.
    static let noLimit: UInt64 = special - 1

    /// Acquiring, against the releasing store in `publish`: what it publishes is there.
    ///
    /// That a slot was removed decides only whether to call: what is called stays alive while the traversal is counted. One
    /// that begins after a removal sees it through the head, see `Reclamation`.
    var state: UInt64 {
        // fault: slot-read-relaxed
        @inline(__always) get { word.load(ordering: .acquiring) }
    }

    var id: UInt64 { word.load(ordering: .relaxed) & ~(Self.removed | Self.special) }

    /// Whether there is an observer.
    var isLiving: Bool {
        let state = state
        return state != 0 && state < Self.removed
    }

    /// Whether that observer is there, and living: the slot may be another one's by now.
    func isLiving(_ id: UInt64) -> Bool { state & ~Self.special == id }

    var isRemoved: Bool { word.load(ordering: .relaxed) >= Self.removed }

    /// Under the lock, like what follows.
    mutating func publish(_ callee: Callee, id: UInt64, site: Site) {
        self.callee = callee
        self.site = site
        // fault: slot-published-relaxed
        word.store(callee.hasEntry ? id | Self.special : id, ordering: .releasing)
    }

    func markRemoved() {
        word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed)
    }

    func vacate() {
        word.store(0, ordering: .relaxed)
    }
}

/// Memory with room for a fixed number of slots, of which the first ones are taken, in the order of registration.
///
/// A handle: whoever holds it must know that the block is alive. Traversals know it by being counted, writers by holding
/// the lock.
@unsafe struct Block: @unchecked Sendable {
    private struct Header {
        let capacity: Int
    }

    let memory: UnsafeMutableRawPointer

    init(_ memory: UnsafeMutableRawPointer) {
        unsafe self.memory = memory
    }

    /// A fresh block with these slots.
    init(capacity: Int) {
        let size = MemoryLayout<Header>.stride + capacity * MemoryLayout<Slot>.stride
        unsafe memory = .allocate(byteCount: size, alignment: MemoryLayout<Slot>.alignment)
        unsafe memory.initializeMemory(as: Header.self, to: Header(capacity: capacity))
        for index in 0..<capacity { unsafe (slots + index).initialize(to: Slot()) }
    }

    private var header: UnsafeMutablePointer<Header> {
        @inline(__always) get { unsafe memory.assumingMemoryBound(to: Header.self) }
    }

    var slots: UnsafeMutablePointer<Slot> {
        @inline(__always) get {
            unsafe (memory + MemoryLayout<Header>.stride).assumingMemoryBound(to: Slot.self)
        }
    }

    var capacity: Int {
        @inline(__always) get { unsafe header.pointee.capacity }
    }

    /// The slot with that id among the first so many, living or removed; vacant ones may follow.
    func slot(of id: UInt64, among count: Int) -> UnsafeMutablePointer<Slot>? {
        let index = RisingIDs.place(of: id, among: count) { index in
            let id = unsafe slots[index].id
            return id == 0 ? .max : id
        }
        return unsafe index.map { unsafe slots + $0 }
    }

    /// Marks a slot of a displaced block removed; false if that observer is not there.
    func markRemoved(_ id: UInt64) -> Bool {
        guard let slot = unsafe slot(of: id, among: capacity) else { return false }
        unsafe slot.pointee.markRemoved()
        return true
    }

    /// Marks all slots of a displaced block removed.
    func markAllRemoved() {
        for index in 0..<(unsafe capacity) { unsafe slots[index].markRemoved() }
    }

    func deallocate() {
        unsafe memory.deallocate()
    }
}
