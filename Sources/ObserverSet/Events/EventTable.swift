import Synchronization

/// Finds the set of an event's observers by the event's type: without a lock, without waiting, and without allocating.
///
/// A hash table with open addressing. It only grows: an entry is never removed, moved or changed. When it is half full,
/// a table of twice the size is filled and published. The old table is kept until `deinit`, for readers that are still
/// using it; all old tables together are about as large as the current one.
///
/// ## Why a reader finds only what is complete
///
/// - Writers hold the publisher's lock, so there is one at a time.
/// - A place changes once: the writer stores the set, and then the key (releasing). A reader loads the key (acquiring),
///   and reads the set only if the key is the one that it looks for. Then it sees the set, and everything that was
///   written to make the set. (With relaxed accesses it could on arm64 see the key before the set.)
/// - Places stay taken. So if a reader reaches a vacant place, the type had not been entered in this table when it read
///   that place.
/// - A table is published (releasing) after it has been filled, and loaded (acquiring). A thread that knows in any way
///   that an entry was made loads the table in which it was made, or a later one, which has the entry, too.
/// - At least half of the places are vacant, so every search ends.
/// - Nothing is freed before `deinit`. No reader can be active then, since a reader holds the publisher, which holds
///   the table. The publisher also keeps the sets as long as the table.
@safe struct EventTable: ~Copyable, @unchecked Sendable {
    /// The beginning of a table's memory; it is followed by a key for each place, and then a set for each place.
    @safe private struct Header: ~Copyable {
        let capacity: Int
        /// By how many bits a hash is shifted to get a place.
        let shift: UInt
        /// How many places are taken; used by writers alone.
        let count = Atomic<Int>(0)
        /// The table that this one replaced.
        nonisolated(unsafe) let older: UnsafeMutableRawPointer?
    }

    private let current = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

    /// The set of the observers of `Observed`, if there is one.
    @inline(__always)
    func set<Observed: Sendable>(of type: Observed.Type) -> Unmanaged<ObserverSet<Observed>>? {
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

    /// Enters the set of the observers of `Observed`.
    ///
    /// Called under the lock, once for each type. The caller must keep the set as long as the table.
    func enter<Observed: Sendable>(_ set: ObserverSet<Observed>) {
        let before = unsafe current.load(ordering: .relaxed)
        let table = unsafe Self.withRoom(before)
        unsafe Self.enter(Self.key(Observed.self), Unmanaged.passUnretained(set).toOpaque(), in: table)
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

    /// The table itself if it is less than half full, otherwise a fresh one of twice the size with the same entries.
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
        // An assignment instead of `initialize(to:)`, which the thread sanitizer does not see in debug builds.
        unsafe sets(table)[place] = set
        unsafe keys(table)[place].store(key, ordering: .releasing)
        unsafe header.pointee.count.wrappingAdd(1, ordering: .relaxed)
    }

    // MARK: Layout

    @inline(__always)
    private static func key(_ type: Any.Type) -> UInt {
        UInt(bitPattern: ObjectIdentifier(type))
    }

    /// The place where a search begins: the upper bits of the key's product with 2^64 divided by the golden ratio.
    ///
    /// The addresses of types are close together, and their lower bits are equal.
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

    /// The keys: addresses of types, as numbers; zero if the place is vacant.
    @inline(__always)
    private static func keys(_ table: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Atomic<UInt>> {
        unsafe (table + MemoryLayout<Header>.stride).assumingMemoryBound(to: Atomic<UInt>.self)
    }

    /// The sets, unretained; valid where there is a key.
    @inline(__always)
    private static func sets(_ table: UnsafeMutableRawPointer) -> UnsafeMutablePointer<UnsafeRawPointer> {
        unsafe UnsafeMutableRawPointer(keys(table) + header(table).pointee.capacity)
            .assumingMemoryBound(to: UnsafeRawPointer.self)
    }
}
