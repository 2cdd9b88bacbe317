import Synchronization

/// Finds the set of an event's observers by the event's type.
///
/// A search takes no lock, waits for nobody, and allocates nothing.
///
/// This is a hash table with open addressing, which only grows: an entry is never removed, moved or changed. The
/// entries are in a `Places` object. When that object is half full, one of twice the size is filled and published. The
/// old object is kept until `deinit`, because readers may still be using it. All old objects together are about as
/// large as the current one.
///
/// ## Why a reader finds only complete entries
///
/// - Writers hold the publisher's lock, so there is only one at a time.
/// - A place changes only once. The writer stores the set first, and then the key (releasing). A reader loads the key
///   (acquiring), and reads the set only if this is the key that it looks for. So it sees the set, and everything that
///   was written when the set was initialised. (With relaxed accesses, a reader on arm64 could see the key before the
///   set.)
/// - A taken place stays taken. So if a reader reaches a vacant place, the type had not been entered in these places
///   when the reader looked there.
/// - A `Places` object is published (releasing) after it has been filled, and loaded (acquiring). If a thread knows in
///   any way that an entry was made, it loads the object in which the entry was made, or a later one, which has the
///   entry, too.
/// - At least half of the places are vacant, so every search ends.
/// - Nothing is freed before `deinit`. No reader can be active then, because a reader holds the publisher, and the
///   publisher holds the table. The publisher also keeps the sets as long as the table.
@safe struct EventTable: ~Copyable, Sendable {
    /// The places that searches use, as a retained reference.
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
    /// The caller must hold the publisher's lock, call this only once for each type, and keep the set as long as the
    /// table.
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

/// Room for one entry of the table.
@safe private struct Place: ~Copyable {
    /// The address of the type, as a number, or zero if the place is vacant.
    let key = Atomic<UInt>(0)
    /// The set, which is not retained; valid only if there is a key.
    var set: UnsafeMutableRawPointer?
}

/// A fixed number of places.
@safe private final class Places: @unchecked Sendable {
    private let places: UnsafeMutableBufferPointer<Place>
    /// The places that these ones replaced.
    private let older: Places?
    /// How many places are taken.
    ///
    /// Only writers use this number.
    private var count = 0

    /// Creates twice as many places with the same entries, or eight vacant ones if there are none to replace.
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

    /// Finds the place with a key, or the vacant place where the search for the key ends.
    ///
    /// The addresses of types are close together, and their lower bits are equal. So the search begins at an index that
    /// is taken from the upper bits of a product: the key times the number 2^64 divided by the golden ratio.
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
