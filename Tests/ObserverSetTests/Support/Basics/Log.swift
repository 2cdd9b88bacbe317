import Synchronization

/// The values that observers have received, in order.
final class Log<Element: Sendable>: Sendable {
    private let storage = Guarded<[Element]>([])

    /// The values so far, as a new array each time.
    ///
    /// If the log shared the array's storage, one thread could release it before another changes it, and the thread
    /// sanitizer wouldn't see that order.
    var entries: [Element] { storage.withLock { $0.map { $0 } } }
    var count: Int { storage.withLock { $0.count } }

    func append(_ element: Element) { storage.withLock { $0.append(element) } }

    func removeAll() { storage.withLock { $0.removeAll() } }
}

/// A variable that several closures share, on any thread.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Guarded<Value>

    init(_ value: Value) { storage = Guarded(value) }

    var value: Value {
        get { storage.withLock { $0 } }
        // The old value is released outside the lock, because its `deinit` may use this object again.
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
