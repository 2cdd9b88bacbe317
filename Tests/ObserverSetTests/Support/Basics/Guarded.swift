import Synchronization

/// A mutex whose ordering the thread sanitizer sees.
///
/// If a `Mutex` is contended, its code runs in a library that the sanitizer doesn't see. With a plain `Mutex`, the
/// sanitizer would therefore report races that don't exist.
struct Guarded<Value: Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let witness = Atomic<Int>(0)

    init(_ value: Value) { mutex = Mutex(value) }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in
            // The acquiring load comes before the access to the value, and the releasing addition after it. So the
            // sanitizer sees that the accesses of different threads are ordered.
            _ = witness.load(ordering: .acquiring)
            defer { witness.add(1, ordering: .releasing) }
            return body(&value)
        }
    }
}

/// A variable for one object, which threads can replace without a lock.
@safe final class AtomicObject<Object: AnyObject & Sendable>: Sendable {
    private let content = unsafe Atomic<Unmanaged<Object>?>(nil)

    func exchange(_ object: Object?) -> Object? {
        let fresh = unsafe object.map { unsafe Unmanaged.passRetained($0) }
        return unsafe content.exchange(fresh, ordering: .acquiringAndReleasing)?.takeRetainedValue()
    }

    deinit { _ = exchange(nil) }
}

/// Generates random numbers that are the same for the same seed, with the algorithm splitmix64 (Steele, Lea and Flood).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// Returns a number from zero up to, but not including, `bound`.
    ///
    /// The bias is too small to matter, and the method is fast even without optimisation.
    mutating func below(_ bound: Int) -> Int { Int(truncatingIfNeeded: next() >> 33) % bound }
}
