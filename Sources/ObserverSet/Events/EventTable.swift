import Synchronization

/// Finds by its type the set of those who observe an event: without a lock, without waiting, and without allocating.
///
/// A hash table with open addressing. It only grows: an entry is never removed, moved or changed. When it is half full,
/// a table of twice the size is filled and published, and the old one is kept until the end for those who are still
/// reading it; all the old ones together are smaller than the current one.
///
/// ## Why a reader finds only what is there
///
/// - Writers hold the publisher's lock: there is one at a time.
/// - A place changes once: the writer stores the set, then the key, releasing. A reader loads the key, acquiring, and
///   looks at the set only if the key is the one it looks for: then the set is there, and so is all that went into
///   making it. (Relaxed, on arm64 the key could be seen before the set.) What the reader passed over is taken for
///   good, so that a vacant place tells that the type had not been entered in this table when it was read.
/// - A table is published, releasing, after it has been filled, and loaded, acquiring. Whoever has seen an entry made,
///   by whatever way, loads the table it was made in or a later one, which has it too.
/// - Half of the places are vacant, so that every search ends.
/// - Nothing is freed before `deinit`, which no reader can meet, since it holds the publisher that holds the table. The
///   sets are kept by the publisher as well, as long as the table.
@safe struct EventTable: ~Copyable, @unchecked Sendable {
    /// What a table's memory begins with; behind it stand a key for each place, and then a set for each place.
    @safe private struct Header: ~Copyable {
        let capacity: Int
        /// How far a hash is shifted to become a place.
        let shift: UInt
        /// How many places are taken; for writers.
        let count = Atomic<Int>(0)
        /// The table that this one has replaced.
        nonisolated(unsafe) let older: UnsafeMutableRawPointer?
    }

    private let current = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// The set of those who observe `Told`, if there is one.
    @inline(__always)
    func set<Told: Sendable>(of type: Told.Type) -> Unmanaged<ObserverSet<Told>>? {
        guard let table = unsafe current.load(ordering: .acquiring) else { return nil }
        let wanted = Self.key(type)
        let capacity = unsafe Self.header(table).pointee.capacity
        var place = unsafe Self.place(of: wanted, in: table)
        while true {
            let key = unsafe Self.keys(table)[place].load(ordering: .acquiring)
            if key == wanted { return unsafe .fromOpaque(Self.sets(table)[place]) }
            if key == 0 { return nil }
            place = (place &+ 1) & (capacity &- 1)
        }
    }

    /// Enters the set of those who observe `Told`.
    ///
    /// Under the lock, once for each type; the set must be kept as long as the table.
    func enter<Told: Sendable>(_ set: ObserverSet<Told>, of type: Told.Type) {
        let before = unsafe current.load(ordering: .relaxed)
        let table = unsafe Self.withRoom(before)
        unsafe Self.enter(Self.key(type), Unmanaged.passUnretained(set).toOpaque(), in: table)
        if unsafe table != before { unsafe current.store(table, ordering: .releasing) }
    }

    deinit {
        var next = unsafe current.load(ordering: .relaxed)
        while let table = unsafe next {
            unsafe next = Self.header(table).pointee.older
            unsafe table.deallocate()
        }
    }

    // MARK: For writers

    /// The table if it is less than half full, otherwise a fresh one of twice the size with the same entries.
    private static func withRoom(_ table: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
        guard let table = unsafe table else { return unsafe make(capacity: 8, older: nil) }
        let capacity = unsafe header(table).pointee.capacity
        if unsafe header(table).pointee.count.load(ordering: .relaxed) < capacity / 2 { return unsafe table }
        let fresh = unsafe make(capacity: 2 * capacity, older: table)
        for place in 0..<capacity {
            let key = unsafe keys(table)[place].load(ordering: .relaxed)
            if key == 0 { continue }
            unsafe enter(key, sets(table)[place], in: fresh)
        }
        return unsafe fresh
    }

    private static func make(capacity: Int, older: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
        let size = MemoryLayout<Header>.stride + capacity * 2 * MemoryLayout<UInt>.stride
        let table = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: MemoryLayout<Header>.alignment)
        let shift = UInt(UInt.bitWidth - capacity.trailingZeroBitCount)
        unsafe table.initializeMemory(as: Header.self, to: Header(capacity: capacity, shift: shift, older: older))
        for place in 0..<capacity { unsafe (keys(table) + place).initialize(to: Atomic(0)) }
        return unsafe table
    }

    private static func enter(_ key: UInt, _ set: UnsafeRawPointer, in table: UnsafeMutableRawPointer) {
        let header = unsafe header(table)
        var place = unsafe place(of: key, in: table)
        while unsafe keys(table)[place].load(ordering: .relaxed) != 0 {
            place = unsafe (place &+ 1) & (header.pointee.capacity &- 1)
        }
        // Not `initialize(to:)`, which the thread sanitizer does not see in debug builds.
        unsafe sets(table)[place] = set
        unsafe keys(table)[place].store(key, ordering: .releasing)
        unsafe header.pointee.count.wrappingAdd(1, ordering: .relaxed)
    }

    // MARK: Where things are

    @inline(__always)
    private static func key(_ type: Any.Type) -> UInt {
        UInt(bitPattern: ObjectIdentifier(type))
    }

    /// Where to begin to look: the upper bits of the product with 2^64 divided by the golden ratio.
    ///
    /// Types lie next to one another, at addresses whose lower bits are equal.
    @inline(__always)
    private static func place(of key: UInt, in table: UnsafeMutableRawPointer) -> Int {
        unsafe Int(
            bitPattern: (key &* UInt(truncatingIfNeeded: 0x9E37_79B9_7F4A_7C15 as UInt64))
                &>> header(table).pointee.shift)
    }

    @inline(__always)
    private static func header(_ table: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Header> {
        unsafe table.assumingMemoryBound(to: Header.self)
    }

    /// The types, as numbers; zero where the place is vacant.
    @inline(__always)
    private static func keys(_ table: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Atomic<UInt>> {
        unsafe (table + MemoryLayout<Header>.stride).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// The sets, unretained; each there if the key is.
    @inline(__always)
    private static func sets(_ table: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UnsafeRawPointer> {
        unsafe UnsafeMutableRawPointer(keys(table) + header(table).pointee.capacity)
            .assumingMemoryBound(to: UnsafeRawPointer.self)
    }
}
