import Synchronization

/// The values that observers have received, in order.
final class Log<Element: Sendable>: Sendable {
    private let storage = Guarded<[Element]>([])

    /// A new array each time.
    ///
    /// If the array's storage were shared, the thread sanitizer would not see the order between its release by one
    /// thread and a change by another.
    var entries: [Element] { storage.withLock { $0.map { $0 } } }
    var count: Int { storage.withLock { $0.count } }

    func append(_ element: Element) {
        storage.withLock { $0.append(element) }
    }

    func removeAll() {
        storage.withLock { $0.removeAll() }
    }
}

/// A variable that closures share.
///
/// It may be set once and cleared inside an observer, for example.
final class Shared<Value: Sendable>: Sendable {
    private let storage: Guarded<Value>

    init(_ value: Value) {
        storage = Guarded(value)
    }

    var value: Value {
        get { storage.withLock { $0 } }
        // The old value is released outside the lock, since its `deinit` may use this object again.
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
