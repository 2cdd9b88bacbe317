import Synchronization

/// What observers have been told, in order.
final class Log<Element: Sendable>: Sendable {
    private let storage = Guarded<[Element]>([])

    /// A new array: the thread sanitizer does not see that one who shares an array has let go of it.
    var entries: [Element] { storage.withLock { $0.map { $0 } } }
    var count: Int { storage.withLock { $0.count } }

    func append(_ element: Element) {
        storage.withLock { $0.append(element) }
    }

    func removeAll() {
        storage.withLock { $0.removeAll() }
    }
}

/// Something that may be set once and cleared from inside an observer: a variable that closures share.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Guarded<Value>

    init(_ value: Value) {
        storage = Guarded(value)
    }

    var value: Value {
        get { storage.withLock { $0 } }
        // What is replaced is released outside the lock, since its `deinit` may come back here.
        set { _ = exchange(newValue) }
    }

    func exchange(_ newValue: Value) -> Value {
        storage.withLock { value in
            let old = value
            value = newValue
            return old
        }
    }
}

/// A mutex whose order the thread sanitizer sees.
///
/// The contended path of `Mutex` is in a library that the sanitizer does not see, so it would report races that are none.
private struct Guarded<Value: Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>
    private let witness = Atomic<Int>(0)

    init(_ value: Value) {
        mutex = Mutex(value)
    }

    func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        mutex.withLock { value in
            // Before the value is touched, and after.
            _ = witness.load(ordering: .acquiring)
            defer { witness.add(1, ordering: .releasing) }
            return body(&value)
        }
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
}
