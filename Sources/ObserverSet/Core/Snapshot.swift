import Synchronization

/// One observer, as a pass meets it.
///
/// A slot is initialised once, before the count that publishes it. After that only its liveness changes, from living to
/// removed; its place is not used again. (Reuse would call an observer that was added during the pass, or out of
/// order.)
struct Slot: ~Copyable {
    /// The first field, so that a slot's address is its payload's.
    let payload: AnyPayload
    /// The registration's id, and what a pass is to do.
    private let word: Atomic<UInt64>
    let site: Site

    private static let removed: UInt64 = 1 << 63
    private static let special: UInt64 = 1 << 62

    /// What a pass is to do with it.
    enum State {
        /// Call the function.
        case plain
        /// Have the payload decide.
        case special
        /// Nothing.
        case removed
    }

    init(id: UInt64, payload: AnyPayload, site: Site) {
        self.word = Atomic(payload.entry == nil ? id : id | Self.special)
        self.payload = payload
        self.site = site
    }

    var id: UInt64 {
        @inline(__always) get { word.load(ordering: .relaxed) & ~(Self.removed | Self.special) }
    }

    /// Relaxed: it decides only whether to call; what is called was published by the snapshot's count, and stays alive
    /// while the pass is counted.
    ///
    /// A pass that begins after a removal sees it through the head, see `Registry`.
    var state: State {
        @inline(__always) get {
            let word = word.load(ordering: .relaxed)
            return word < Self.special ? .plain : word < Self.removed ? .special : .removed
        }
    }

    var isLiving: Bool {
        @inline(__always) get { state != .removed }
    }

    /// Under the lock.
    func markRemoved() {
        word.store(word.load(ordering: .relaxed) | Self.removed, ordering: .relaxed)
    }
}

/// A block of memory with room for a fixed number of slots, of which the first `count` are published.
///
/// Slots stand in the order of registration, hence of their ids. A handle: whoever holds it must know that the block is
/// alive. Passes know it by being counted, writers by holding the lock.
@unsafe struct Snapshot: @unchecked Sendable {
    private struct Header: ~Copyable {
        let count = Atomic<Int>(0)
        let capacity: Int
    }

    let memory: UnsafeMutableRawPointer

    init(_ memory: UnsafeMutableRawPointer) {
        unsafe self.memory = memory
    }

    init(capacity: Int) {
        let size = MemoryLayout<Header>.stride + capacity * MemoryLayout<Slot>.stride
        unsafe memory = .allocate(byteCount: size, alignment: MemoryLayout<Slot>.alignment)
        unsafe memory.initializeMemory(as: Header.self, to: Header(capacity: capacity))
    }

    private var header: UnsafeMutablePointer<Header> {
        @inline(__always) get { unsafe memory.assumingMemoryBound(to: Header.self) }
    }

    var slots: UnsafeMutablePointer<Slot> {
        @inline(__always) get {
            unsafe (memory + MemoryLayout<Header>.stride).assumingMemoryBound(to: Slot.self)
        }
    }

    var capacity: Int { unsafe header.pointee.capacity }

    /// The number of published slots.
    ///
    /// Acquiring, against the releasing store in `append`: slots below it are initialised.
    var count: Int {
        // fault: count-read-relaxed
        @inline(__always) get { unsafe header.pointee.count.load(ordering: .acquiring) }
    }

    /// Initialises the next slot and publishes it.
    ///
    /// Under the lock, and only below the capacity.
    func append(_ slot: consuming Slot) {
        let count = unsafe self.count
        unsafe (slots + count).initialize(to: slot)
        // fault: count-published-relaxed
        unsafe header.pointee.count.store(count + 1, ordering: .releasing)
    }

    /// Where the slot with that id is, living or removed.
    func index(of id: UInt64) -> Int? {
        unsafe RisingIDs.place(of: id, among: count) { unsafe slots[$0].id }
    }

    /// Takes the living slots over into a fresh block, bit by bit, without retain or release: passes may still be
    /// reading this one.
    ///
    /// From here on the fresh block owns what the slots own; this one's memory must only be deallocated.
    func compacted(capacity: Int) -> Snapshot {
        let fresh = unsafe Snapshot(capacity: capacity)
        var living = 0
        for index in 0..<(unsafe count) where unsafe slots[index].isLiving {
            unsafe UnsafeMutableRawPointer(fresh.slots + living)
                .copyMemory(from: slots + index, byteCount: MemoryLayout<Slot>.size)
            living += 1
        }
        unsafe fresh.header.pointee.count.store(living, ordering: .releasing)
        return unsafe fresh
    }

    /// Marks the slot removed and takes its payload over, leaving the bits in place for the passes that are reading
    /// them: whoever receives the payload must keep it until they have gone.
    ///
    /// Under the lock, once for each living slot.
    func takePayload(at index: Int) -> AnyPayload {
        unsafe slots[index].markRemoved()
        return unsafe UnsafeMutableRawPointer(slots + index).assumingMemoryBound(to: AnyPayload.self).move()
    }

    /// Marks the slot with that id removed; false if there is none.
    func markRemoved(_ id: UInt64) -> Bool {
        guard let index = unsafe index(of: id) else { return false }
        unsafe slots[index].markRemoved()
        return true
    }

    func markAllRemoved() {
        for index in 0..<(unsafe count) { unsafe slots[index].markRemoved() }
    }

    func deallocate() {
        unsafe memory.deallocate()
    }
}
