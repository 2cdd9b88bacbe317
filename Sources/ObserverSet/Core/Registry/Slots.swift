import Synchronization

/// Memory with room for a fixed number of slots, of which the first ones are taken, in the order of registration.
///
/// A handle, which owns nothing: code that uses it must know that the block has not been freed. A traversal knows it
/// because it is counted, a writer because it holds the lock.
@unsafe struct Block: @unchecked Sendable {
    /// The capacity, and behind it the slots.
    let memory: UnsafeMutableRawPointer

    init(_ memory: UnsafeMutableRawPointer) {
        unsafe self.memory = memory
    }

    /// A fresh block of vacant slots.
    init(capacity: Int) {
        let size = MemoryLayout<Int>.stride + capacity * MemoryLayout<Slot>.stride
        unsafe memory = .allocate(byteCount: size, alignment: MemoryLayout<Slot>.alignment)
        unsafe memory.initializeMemory(as: Int.self, to: capacity)
        for index in 0..<capacity { unsafe (slots + index).initialize(to: Slot()) }
    }

    @inline(__always)
    var capacity: Int { unsafe memory.load(as: Int.self) }

    @inline(__always)
    var slots: UnsafeMutablePointer<Slot> {
        unsafe (memory + MemoryLayout<Int>.stride).assumingMemoryBound(to: Slot.self)
    }

    /// The slot with that id among the first `count`, living or removed; vacant slots may be among those, at the end.
    func slot(of id: UInt64, among count: Int) -> UnsafeMutablePointer<Slot>? {
        let first = unsafe idAt(0)
        // If no slot is taken, that is above all ids; from here on there is a last one.
        guard id >= first else { return nil }
        let count = unsafe min(count, capacity)
        let last = unsafe idAt(count - 1)
        guard id <= last else { return nil }
        // Ids ascend from slot to slot, so a slot is at most as far from either end as its id is from the id there. If
        // no id is missing in between, these bounds meet at the slot; otherwise they narrow a binary search.
        var low = max(0, count - 1 - Int(clamping: last - id))
        var high = min(count - 1, Int(clamping: id - first))
        while low < high {
            let middle = (low + high) / 2
            if unsafe idAt(middle) < id { low = middle + 1 } else { high = middle }
        }
        return unsafe idAt(low) == id ? slots + low : nil
    }

    /// The id in that slot; for a vacant slot a number above all ids.
    @inline(__always)
    private func idAt(_ index: Int) -> UInt64 {
        let id = unsafe slots[index].id
        return id == 0 ? .max : id
    }

    /// Marks an observer's slot in a replaced block as removed; false if the observer is not in this block.
    func markRemoved(_ id: UInt64) -> Bool {
        guard let slot = unsafe slot(of: id, among: .max) else { return false }
        unsafe slot.pointee.markRemoved()
        return true
    }
}

/// The slots of a set, in the order of registration.
///
/// The first slot is inline, since most sets have one observer. The others are in a block, which is replaced when it is
/// full, when more than half of many slots are removed, or when it is far too large.
@safe struct Slots: ~Copyable {
    /// The memory of the block that follows the first slot; nil if there is none.
    let head = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
    private let inlineSlot = Slot()

    /// The inline slot.
    ///
    /// It consists of atomics, and so has one address as long as it lives. Nothing changes it but their own operations:
    /// memory that is a constant to the compiler must not be written through a pointer.
    @inline(__always)
    var first: UnsafeMutablePointer<Slot> {
        unsafe withUnsafePointer(to: inlineSlot) { unsafe UnsafeMutablePointer(mutating: $0) }
    }

    /// Acquiring, for lookups without the lock: the block must be seen initialised.
    @inline(__always)
    var block: Block? { unsafe head.load(ordering: .acquiring).map { unsafe Block($0) } }

    /// Under the lock, which orders the load behind the store.
    subscript(index: Int) -> UnsafeMutablePointer<Slot> {
        unsafe index == 0 ? first : Block(head.load(ordering: .relaxed).unsafelyUnwrapped).slots + (index - 1)
    }

    /// The slot of the living observer with that id, if it is among the first `count`.
    func living(_ id: UInt64, among count: UInt32 = .max) -> UnsafeMutablePointer<Slot>? {
        let slot = unsafe first.pointee.id == id ? first : block?.slot(of: id, among: max(0, Int(count) - 1))
        guard let slot = unsafe slot, unsafe slot.pointee.isLiving(id) else { return nil }
        return unsafe slot
    }

    func isFull(_ contents: borrowing Contents) -> Bool { Int(contents.taken) == 1 + room }

    /// Whether the block should be replaced by a smaller one.
    ///
    /// It should if there are many slots, more than half of which are removed, so that notifications walk them in vain;
    /// or if a large block has less than a quarter of its slots taken.
    func areWasteful(_ contents: borrowing Contents) -> Bool {
        contents.taken >= 32 && contents.living * 2 < contents.taken || room >= 32 && Int(contents.taken) * 4 < room
    }

    private var room: Int { unsafe block?.capacity ?? 0 }

    /// A block for the living slots behind the first, with room for as many again; for a quarter as many if they are
    /// many.
    ///
    /// The caller puts it into the place of the current block, and retires that one. Nil if no block is needed: at most
    /// the first slot is taken, and the next observer has a place.
    func freshBlock(_ contents: inout Contents) -> Block? {
        guard contents.taken > 1 || isFull(contents) else { return nil }
        let kept = unsafe Int(contents.living) - (first.pointee.isLiving ? 1 : 0)
        let least = room == 0 ? 3 : 7
        let fresh = unsafe Block(capacity: max(least, kept < 64 ? 2 * kept : kept + kept / 4))
        var place = unsafe fresh.slots
        for index in 1..<Int(contents.taken) {
            let slot = unsafe self[index]
            guard unsafe slot.pointee.isLiving else { continue }
            // Copies bits, since traversals may still be reading the old slots. From now on the fresh block owns what
            // they hold.
            unsafe UnsafeMutableRawPointer(place).copyMemory(from: slot, byteCount: MemoryLayout<Slot>.size)
            unsafe place += 1
        }
        contents.taken = UInt32(1 + kept)
        return unsafe fresh
    }

    /// Makes removed slots at the end vacant; no traversal that saw one of them living may be left.
    func trim(_ contents: inout Contents) {
        while contents.taken > 0, unsafe !self[Int(contents.taken) - 1].pointee.isLiving {
            contents.taken -= 1
            unsafe self[Int(contents.taken)].pointee.vacate()
        }
    }

    deinit {
        // No traversal and no change can be under way: nothing refers to these slots any more.
        if unsafe first.pointee.isLiving { unsafe first.pointee.callee.release() }
        guard let block = unsafe block else { return }
        for index in 0..<(unsafe block.capacity) where unsafe block.slots[index].isLiving {
            unsafe block.slots[index].callee.release()
        }
        unsafe block.memory.deallocate()
    }
}
