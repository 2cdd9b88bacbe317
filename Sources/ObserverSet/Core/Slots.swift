import Synchronization

/// Memory with room for a fixed number of slots, of which the first ones are taken, in the order of registration.
///
/// A handle: whoever holds it must know that the block is alive. Traversals know it by being counted, writers by holding
/// the lock.
@unsafe struct Block: @unchecked Sendable {
    private struct Header {
        let capacity: Int
        /// Whether it is displaced, and all of its slots have been marked removed.
        var isBlank = false
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
        let count = unsafe min(count, capacity)
        guard count > 0 else { return nil }
        let (first, last) = unsafe (idAt(0), idAt(count - 1))
        guard id >= first, id <= last else { return nil }
        // Ids rise from slot to slot, so that a slot lies no further from either end than its id does. Where none is missing
        // this names the place at once; otherwise it narrows a binary search.
        var low = max(0, count - 1 - Int(clamping: last - id))
        var high = min(count - 1, Int(clamping: id - first))
        while low < high {
            let middle = (low + high) / 2
            if unsafe idAt(middle) < id { low = middle + 1 } else { high = middle }
        }
        return unsafe idAt(low) == id ? slots + low : nil
    }

    /// The id in that slot; of a vacant one more than all others.
    @inline(__always)
    private func idAt(_ index: Int) -> UInt64 {
        let id = unsafe slots[index].id
        return id == 0 ? .max : id
    }

    /// Marks a slot of a displaced block removed; false if that observer is not there.
    func markRemoved(_ id: UInt64) -> Bool {
        guard let slot = unsafe slot(of: id, among: .max) else { return false }
        unsafe slot.pointee.markRemoved()
        return true
    }

    /// Marks all slots of a displaced block removed; false if they were.
    func markAllRemoved() -> Bool {
        guard unsafe !header.pointee.isBlank else { return false }
        for index in 0..<(unsafe capacity) { unsafe slots[index].markRemoved() }
        unsafe header.pointee.isBlank = true
        return true
    }

    func deallocate() {
        unsafe memory.deallocate()
    }
}

/// How many slots a set has.
struct SlotCounts {
    // 32 bits each, for which there is room beside a mutex.

    /// How many are taken, from the first on.
    var taken: UInt32 = 0
    /// How many of them are living.
    var living: UInt32 = 0
    /// How many observers that may die were added since dead ones were last looked for.
    var unexamined: UInt32 = 0

    /// Counts one more, and says whether dead ones are to be looked for.
    mutating func add(mayDie: Bool) -> Bool {
        taken += 1
        living += 1
        guard mayDie else { return false }
        unexamined += 1
        // As many as the walk over all slots costs, so that it costs each of them O(1).
        guard unexamined >= max(32, living / 2) else { return false }
        unexamined = 0
        return true
    }
}

/// The slots of a set, in the order of registration.
///
/// The first slot is a part of whatever has the slots, since most sets have one observer; the others stand in a block, which
/// is replaced when it is full, half of it blank, or far too large.
@safe struct Slots: ~Copyable {
    /// The memory of the block that follows the first slot.
    let head = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineSlot = Slot()

    /// Changed in place, like the slots of a block.
    ///
    /// It is atomic in part, so that it has one address for life.
    var first: UnsafeMutablePointer<Slot> {
        @inline(__always) get { unsafe withUnsafePointer(to: inlineSlot) { unsafe UnsafeMutablePointer(mutating: $0) } }
    }

    /// Acquiring, for traversals: it must be seen initialised.
    var block: Block? {
        @inline(__always) get { unsafe head.load(ordering: .acquiring).map { unsafe Block($0) } }
    }

    subscript(index: Int) -> UnsafeMutablePointer<Slot> {
        unsafe index == 0 ? first : Block(head.load(ordering: .relaxed).unsafelyUnwrapped).slots + (index - 1)
    }

    /// Where the living observer with that id is, if it is among the first so many.
    func living(_ id: UInt64, among count: UInt32 = .max) -> UnsafeMutablePointer<Slot>? {
        let slot = unsafe first.pointee.id == id ? first : block?.slot(of: id, among: max(0, Int(count) - 1))
        guard let slot = unsafe slot, unsafe slot.pointee.isLiving(id) else { return nil }
        return unsafe slot
    }

    func isFull(_ counts: SlotCounts) -> Bool { Int(counts.taken) == 1 + room }

    /// Whether half of many slots are blank, which notifications should not walk, or three quarters of much room are left over.
    func areWasteful(_ counts: SlotCounts) -> Bool {
        counts.taken >= 32 && counts.living * 2 < counts.taken || room >= 32 && Int(counts.taken) * 4 < room
    }

    private var room: Int { unsafe block?.capacity ?? 0 }

    /// A block for the living ones behind the first, with room for as many again, or for a quarter as many where they are many.
    ///
    /// It is to take the place of this one; whoever puts it there sees to it that the old one is released. None, if the first
    /// slot alone is taken, and there is room behind it.
    func freshBlock(_ counts: inout SlotCounts) -> Block? {
        guard counts.taken > 1 || isFull(counts) else { return nil }
        let kept = unsafe Int(counts.living) - (first.pointee.isLiving ? 1 : 0)
        let least = room == 0 ? 3 : 7
        let fresh = unsafe Block(capacity: max(least, kept < 64 ? 2 * kept : kept + kept / 4))
        var place = unsafe fresh.slots
        for index in 1..<Int(counts.taken) {
            let slot = unsafe self[index]
            guard unsafe slot.pointee.isLiving else { continue }
            // Bit by bit, since traversals may still be reading the old ones; the fresh block owns what the slots own.
            unsafe UnsafeMutableRawPointer(place).copyMemory(from: slot, byteCount: MemoryLayout<Slot>.size)
            unsafe place += 1
        }
        counts.taken = UInt32(1 + kept)
        return unsafe fresh
    }

    /// Makes the last slots vacant whose observers were removed, when no traversal can have seen them living.
    func trim(_ counts: inout SlotCounts) {
        while counts.taken > 0, unsafe self[Int(counts.taken) - 1].pointee.isRemoved {
            counts.taken -= 1
            unsafe self[Int(counts.taken)].pointee.vacate()
        }
    }

    deinit {
        // Nobody can come in the way of what is released here: whoever knows the slots is dead.
        if unsafe first.pointee.isLiving { unsafe first.pointee.callee.release() }
        guard let block = unsafe block else { return }
        for index in 0..<(unsafe block.capacity) where unsafe block.slots[index].isLiving {
            unsafe block.slots[index].callee.release()
        }
        unsafe block.deallocate()
    }
}

/// A place in the slots, which moves from one living observer to the next.
@unsafe struct Cursor {
    private let limit: UInt64
    /// Where it is, and where the slots end that lie there.
    private var place: UnsafeMutablePointer<Slot>
    private var stop: UnsafeMutablePointer<Slot>
    /// The block that follows the first slot, until the cursor comes to it.
    private var block: UnsafeMutableRawPointer?

    /// Who registered the observer in the slot that `next` returned.
    var site: Site { unsafe (place - 1).pointee.site }

    /// Before the first of the observers up to that id.
    @inline(__always)
    init(_ slots: borrowing Slots, upTo limit: UInt64) {
        unsafe self.limit = limit
        // Sequentially consistent, and before any slot is looked at: see "Why nothing is released too early".
        unsafe block = unsafe slots.head.load(ordering: .sequentiallyConsistent)
        unsafe place = unsafe slots.first
        unsafe stop = unsafe place + 1
    }

    /// The next living slot; nil if there is none, and from then on.
    @inline(__always)
    mutating func next() -> UnsafeMutablePointer<Slot>? {
        var isPlain = false
        return unsafe next(&isPlain)
    }

    /// The same, and whether that slot holds a function alone.
    @inline(__always)
    mutating func next(_ isPlain: inout Bool) -> UnsafeMutablePointer<Slot>? {
        while true {
            while unsafe place != stop {
                let slot = unsafe place
                unsafe place = unsafe slot + 1
                let state = unsafe slot.pointee.state
                // Less one, so that zero, which tells of a vacant slot, becomes the highest of numbers.
                isPlain = unsafe state &- 1 < limit
                if _fastPath(isPlain) { return unsafe slot }
                // fault: liveness-unchecked
                if state >= Slot.removed { continue }
                return unsafe (state & Slot.noLimit) &- 1 < limit ? slot : end()
            }
            guard let memory = unsafe block else { return nil }
            let block = unsafe Block(memory)
            unsafe self.block = nil
            unsafe place = unsafe block.slots
            unsafe stop = unsafe place + block.capacity
        }
    }

    /// Nothing follows a vacant slot, nor one of an observer that was added later.
    private mutating func end() -> UnsafeMutablePointer<Slot>? {
        unsafe block = nil
        unsafe place = unsafe stop
        return nil
    }
}
