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
