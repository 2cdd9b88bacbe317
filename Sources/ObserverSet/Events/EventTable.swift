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
@safe struct EventTable: ~Copyable, Sendable {
    /// Retained.
    private let current = unsafe Atomic(Unmanaged.passRetained(Places()))

    /// The set of the observers of `Observed`, if there is one.
    @inline(__always)
    func set<Observed: Sendable>(of type: Observed.Type) -> Unmanaged<ObserverSet<Observed>>? {
        unsafe current.load(ordering: .acquiring)._withUnsafeGuaranteedRef { places in
            let (place, isTaken) = unsafe places.find(Self.key(type))
            return unsafe isTaken ? .fromOpaque(place.pointee.set.unsafelyUnwrapped) : nil
        }
    }

    /// Enters the set of the observers of `Observed`.
    ///
    /// Called under the lock, once for each type. The caller must keep the set as long as the table.
    func enter<Observed: Sendable>(_ set: ObserverSet<Observed>) {
        var places = unsafe current.load(ordering: .relaxed)
        let isFull = unsafe places.takeUnretainedValue().isHalfFull
        if isFull { unsafe places = .passRetained(Places(replacing: places.takeRetainedValue())) }
        unsafe places.takeUnretainedValue().enter(Self.key(Observed.self), Unmanaged.passUnretained(set).toOpaque())
        if isFull { unsafe current.store(places, ordering: .releasing) }
    }

    deinit { unsafe current.load(ordering: .relaxed).release() }

    @inline(__always)
    private static func key(_ type: Any.Type) -> UInt { UInt(bitPattern: ObjectIdentifier(type)) }
}

@safe private struct Place: ~Copyable {
    /// The address of a type, as a number; zero if the place is vacant.
    let key = Atomic<UInt>(0)
    /// The set, unretained; valid where there is a key.
    var set: UnsafeMutableRawPointer?
}

/// A table of fixed size.
@safe private final class Places: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<Place>
    /// The table that this one replaced.
    private let older: Places?
    /// How many places are taken; used by writers alone.
    private var count = 0

    /// A table of twice the size with the same entries; an empty one if there is none to replace.
    init(replacing older: Places? = nil) {
        self.older = older
        unsafe places = .allocate(capacity: older.map { unsafe 2 * $0.places.count } ?? 8)
        for index in unsafe places.indices { unsafe places.initializeElement(at: index, to: Place()) }
        guard let older else { return }
        for index in unsafe older.places.indices {
            let key = unsafe older.places[index].key.load(ordering: .relaxed)
            if key != 0 { unsafe enter(key, older.places[index].set) }
        }
    }

    deinit { unsafe places.deallocate() }

    var isHalfFull: Bool { unsafe count == places.count / 2 }

    func enter(_ key: UInt, _ set: UnsafeMutableRawPointer?) {
        let place = unsafe find(key).place
        unsafe place.pointee.set = set
        unsafe place.pointee.key.store(key, ordering: .releasing)
        count += 1
    }

    /// The place with that key, or the vacant one where the search for it ends.
    ///
    /// It begins at the upper bits of the key's product with 2^64 divided by the golden ratio: the addresses of types
    /// are close together, and their lower bits are equal.
    @inline(__always)
    func find(_ key: UInt) -> (place: UnsafeMutablePointer<Place>, isTaken: Bool) {
        let hash = key &* UInt(truncatingIfNeeded: 0x9E37_79B9_7F4A_7C15 as UInt64)
        var index = unsafe Int(bitPattern: hash.multipliedFullWidth(by: UInt(bitPattern: places.count)).high)
        while true {
            let place = unsafe places.baseAddress.unsafelyUnwrapped + index
            let found = unsafe place.pointee.key.load(ordering: .acquiring)
            if found == key || found == 0 { return unsafe (place, found == key) }
            index = unsafe (index &+ 1) & (places.count &- 1)
        }
    }
}
