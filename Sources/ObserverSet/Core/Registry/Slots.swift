import Synchronization

/// Memory with room for a fixed number of slots, of which the taken ones come first, in the order of registration.
///
/// A `Block` is only a handle, and holds nothing. Code that uses it must know that the memory has not been freed. A
/// traversal knows this because it is counted, and a change because it holds the lock.
@unsafe struct Block: @unchecked Sendable {
    /// The memory, which contains the capacity, followed by the slots.
    let memory: UnsafeMutableRawPointer

    init(_ memory: UnsafeMutableRawPointer) { unsafe self.memory = memory }

    /// Allocates a block of vacant slots.
    init(capacity: Int) {
        let size = unsafe Self.layout(capacity: capacity).size
        unsafe memory = .allocate(byteCount: size, alignment: MemoryLayout<Slot>.alignment)
        unsafe memory.initializeMemory(as: Int.self, to: capacity)
        if LockCheck.isEnabled {
            unsafe precondition(UInt(bitPattern: slots).isMultiple(of: UInt(MemoryLayout<Slot>.alignment)))
        }
        for index in 0..<capacity { unsafe (slots + index).initialize(to: Slot()) }
    }

    /// Where the slots begin in a block's memory, and how many bytes a block needs.
    ///
    /// A slot must be aligned to eight bytes, because it contains an atomic integer of 64 bits. The capacity in front
    /// of the slots is a word, which has only four bytes on some systems, and then a gap follows it. A test asks this
    /// function for both sizes of a word.
    @inline(__always)
    static func layout(
        capacity: Int, word: Int = MemoryLayout<Int>.size, slot: Int = MemoryLayout<Slot>.stride,
        alignment: Int = MemoryLayout<Slot>.alignment
    ) -> (slots: Int, size: Int) {
        let slots = (word + alignment - 1) / alignment * alignment
        return (slots, slots + capacity * slot)
    }

    @inline(__always)
    var capacity: Int { unsafe memory.load(as: Int.self) }

    @inline(__always)
    var slots: UnsafeMutablePointer<Slot> {
        unsafe (memory + Self.layout(capacity: 0).slots).assumingMemoryBound(to: Slot.self)
    }

    /// The slot with this id among the first `count` slots, whether it is registered or removed.
    ///
    /// Slots at the end may be vacant.
    func slot(of id: UInt64, among count: Int) -> UnsafeMutablePointer<Slot>? {
        let first = unsafe idAt(0)
        // If no slot is taken, `first` is greater than every id. So from here on, there is a last slot.
        guard id >= first else { return nil }
        let count = unsafe min(count, capacity)
        let last = unsafe idAt(count - 1)
        guard id <= last else { return nil }
        // Ids ascend from slot to slot. So a slot is at most as far from either end as its id is from the id at that
        // end. If no id in between is missing, the two bounds meet at the slot. Otherwise they narrow a binary search.
        var low = max(0, count - 1 - Int(clamping: last - id))
        var high = min(count - 1, Int(clamping: id - first))
        while low < high {
            let middle = (low + high) / 2
            if unsafe idAt(middle) < id { low = middle + 1 } else { high = middle }
        }
        return unsafe idAt(low) == id ? slots + low : nil
    }

    /// The id in a slot, or a number greater than every id if the slot is vacant.
    @inline(__always)
    private func idAt(_ index: Int) -> UInt64 {
        let id = unsafe slots[index].id
        return id == 0 ? .max : id
    }

    /// Marks an observer's slot in a replaced block as removed; returns false if this block doesn't contain the
    /// observer.
    func markRemoved(_ id: UInt64) -> Bool {
        guard let slot = unsafe slot(of: id, among: .max) else { return false }
        unsafe slot.pointee.markRemoved()
        return true
    }
}

/// The slots of a set, in the order of registration.
///
/// The first slot is inline, because most sets have a single observer. The others are in a block. The block is
/// replaced, or dropped if none is needed any longer, in four cases: it is full, more than half of many slots are
/// removed, it is far too large, or `removeAll` has removed all observers.
@safe struct Slots: ~Copyable {
    /// The memory of the block that follows the first slot; nil if there is no block.
    let head = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineSlot = Slot()

    /// The first slot, which is inline.
    ///
    /// It consists of atomics, so it has one address as long as it lives. Only the atomics' own operations may change
    /// it: the compiler takes this memory for a constant, so nothing else may write to it through the pointer.
    @inline(__always)
    var first: UnsafeMutablePointer<Slot> {
        unsafe withUnsafePointer(to: inlineSlot) { unsafe UnsafeMutablePointer(mutating: $0) }
    }

    /// The current block.
    ///
    /// The load is acquiring, because a lookup without the lock must see the block initialised.
    @inline(__always)
    var block: Block? { unsafe head.load(ordering: .acquiring).map { unsafe Block($0) } }

    /// The slot at an index; call this only under the lock.
    ///
    /// The load is relaxed, because the lock orders it after the store.
    subscript(index: Int) -> UnsafeMutablePointer<Slot> {
        unsafe index == 0 ? first : Block(head.load(ordering: .relaxed).unsafelyUnwrapped).slots + (index - 1)
    }

    /// The slot of the registered observer with this id, if it is among the first `count` slots.
    func registered(_ id: UInt64, among count: UInt32 = .max) -> UnsafeMutablePointer<Slot>? {
        let slot = unsafe first.pointee.id == id ? first : block?.slot(of: id, among: max(0, Int(count) - 1))
        guard let slot = unsafe slot, unsafe slot.pointee.isRegistered(id) else { return nil }
        return unsafe slot
    }

    func isFull(_ contents: borrowing Contents) -> Bool { Int(contents.taken) == 1 + room }

    /// Whether the block should be replaced by a smaller one.
    ///
    /// That is so in two cases. There are many slots, and more than half of them are removed, so that notifications
    /// walk these for nothing. Or a large block has less than a quarter of its slots taken.
    func shouldBeCompacted(_ contents: borrowing Contents) -> Bool {
        let removed = contents.taken - contents.registered
        return contents.taken >= 32 && removed > contents.registered || room >= 32 && Int(contents.taken) * 4 < room
    }

    private var room: Int { unsafe block?.capacity ?? 0 }

    /// Makes a block for the registered slots behind the first one; returns nil if no block is needed.
    ///
    /// The block has room for as many slots again, or, if there are many, for a quarter as many. No block is needed if
    /// only the first slot is taken, or none, and there is room for the next observer.
    ///
    /// If there is a block, `contents.taken` counts its slots from now on. The caller must put the fresh block into the
    /// place of the current one, and retire the current one.
    func compactedBlock(_ contents: inout Contents) -> Block? {
        guard contents.taken > 1 || isFull(contents) else { return nil }
        let kept = unsafe Int(contents.registered) - (first.pointee.isRegistered ? 1 : 0)
        let least = room == 0 ? 3 : 7
        let fresh = unsafe Block(capacity: max(least, kept < 64 ? 2 * kept : kept + kept / 4))
        var place = unsafe fresh.slots
        for index in 1..<Int(contents.taken) {
            let slot = unsafe self[index]
            guard unsafe slot.pointee.isRegistered else { continue }
            // Copy only the bits, because traversals may still be reading the old slots. From now on, the callee counts
            // as held by the fresh block, and no longer by the old one.
            unsafe UnsafeMutableRawPointer(place).copyMemory(from: slot, byteCount: MemoryLayout<Slot>.size)
            unsafe place += 1
        }
        contents.taken = UInt32(1 + kept)
        return unsafe fresh
    }

    /// Makes the removed slots at the end vacant.
    ///
    /// Call this only when no traversal is left that saw one of them registered.
    func trim(_ contents: inout Contents) {
        while contents.taken > 0, unsafe !self[Int(contents.taken) - 1].pointee.isRegistered {
            contents.taken -= 1
            unsafe self[Int(contents.taken)].pointee.vacate()
        }
    }

    deinit {
        // No traversal and no change can be under way, because nothing refers to these slots any longer.
        if unsafe first.pointee.isRegistered { unsafe first.pointee.callee.release() }
        guard let block = unsafe block else { return }
        for index in 0..<(unsafe block.capacity) where unsafe block.slots[index].isRegistered {
            unsafe block.slots[index].callee.release()
        }
        unsafe block.memory.deallocate()
    }
}
