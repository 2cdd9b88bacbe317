import Synchronization

/// A hand-written class instead of an observer set: a lock, weak owners, and a task for each call on the main actor.
///
/// `Tools/cost` compares what both cost their clients.
public final class Signal<Value: Sendable>: Sendable {
    /// An observer; `send` returns false if its owner is gone.
    private struct Entry: Sendable {
        let id: Int
        let send: @Sendable (Value) -> Bool
    }

    private let state = Mutex<(last: Int, entries: [Entry])>((0, []))

    /// Makes a signal without observers.
    public init() {}

    /// Adds an observer that is called on the notifying thread.
    @discardableResult
    public func addNonisolated<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ body: @escaping @Sendable (Owner, Value) -> Void
    ) -> Int {
        insert { [weak owner] value in owner.map { body($0, value) } != nil }
    }

    /// Adds an observer that is called on the main actor, later.
    @discardableResult
    public func add<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ body: @escaping @MainActor @Sendable (Owner, Value) -> Void
    ) -> Int {
        insert { [weak owner] value in
            guard owner != nil else { return false }
            Task { @MainActor [weak owner] in if let owner { body(owner, value) } }
            return true
        }
    }

    /// Adds an observer without an owner that is called on the main actor, later.
    public func add(_ body: @escaping @MainActor @Sendable (Value) -> Void) -> Int {
        insert { value in
            Task { @MainActor in body(value) }
            return true
        }
    }

    /// Adds a method of the main actor.
    @discardableResult
    public func add<Owner: AnyObject & Sendable>(
        method: @escaping @Sendable (Owner) -> @MainActor @Sendable (Value) -> Void, of owner: Owner
    ) -> Int {
        add(owner) { owner, value in method(owner)(value) }
    }

    /// Adds an observer that awaits, one value after another.
    @discardableResult
    public func addAsync<Owner: AnyObject & Sendable>(
        _ owner: Owner, _ body: @escaping @MainActor @Sendable (Owner, Value) async -> Void
    ) -> Int {
        let (values, continuation) = AsyncStream<Value>.makeStream()
        Task { @MainActor [weak owner] in
            for await value in values {
                guard let owner else { return }
                await body(owner, value)
            }
        }
        return insert { [weak owner] value in
            continuation.yield(value)
            return owner != nil
        }
    }

    /// Removes an observer.
    public func remove(_ id: Int) { state.withLock { $0.entries.removeAll { $0.id == id } } }

    /// Calls all observers.
    public func notify(_ value: Value) {
        // This is a copy, so that no observer runs under the lock.
        let entries = state.withLock { $0.entries }
        let gone = Set(entries.filter { !$0.send(value) }.map(\.id))
        if !gone.isEmpty { state.withLock { $0.entries.removeAll { gone.contains($0.id) } } }
    }

    private func insert(_ send: @escaping @Sendable (Value) -> Bool) -> Int {
        state.withLock { state in
            state.last += 1
            state.entries.append(Entry(id: state.last, send: send))
            return state.last
        }
    }
}
