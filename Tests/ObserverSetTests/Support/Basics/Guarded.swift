import Synchronization

/// A mutex whose ordering the thread sanitizer sees.
///
/// The contended path of `Mutex` is in a library that the sanitizer does not see. With a plain `Mutex` it would
/// therefore report races that do not exist.
struct Guarded<Value: Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let witness = Atomic<Int>(0)

    init(_ value: Value) {
        mutex = Mutex(value)
    }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in
            // The load comes before the access to the value, the addition after it.
            _ = witness.load(ordering: .acquiring)
            defer { witness.add(1, ordering: .releasing) }
            return body(&value)
        }
    }
}

/// Storage for one object, which threads exchange without a lock.
@safe final class Slot<Object: AnyObject & Sendable>: Sendable {
    private let content = unsafe Atomic<Unmanaged<Object>?>(nil)

    func exchange(_ object: Object?) -> Object? {
        let fresh = unsafe object.map { unsafe Unmanaged.passRetained($0) }
        return unsafe content.exchange(fresh, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }

    deinit {
        _ = exchange(nil)
    }
}

/// Random numbers that are the same for the same seed (splitmix64, Steele, Lea and Flood).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A number from zero to less than `bound`.
    ///
    /// Its bias is too small to matter, and it is fast even without optimisation.
    mutating func below(_ bound: Int) -> Int {
        Int(truncatingIfNeeded: next() >> 33) % bound
    }
}
