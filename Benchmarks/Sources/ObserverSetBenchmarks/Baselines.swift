import Synchronization

/// The sum to which an observer adds, and the only object that it captures.
///
/// Only one thread at a time writes to it.
final class Counter: @unchecked Sendable {
    var value = 0

    /// Reads the sum without changing it.
    ///
    /// It is for rows in which several threads share the counter. If they wrote to it, they would contend for its cache
    /// line.
    @inline(__always)
    func check(_ number: Int) {
        if number < value { fatalError("no number is negative") }
    }
}

/// An owner with methods to call.
///
/// Only one thread at a time calls it.
final class Owner: @unchecked Sendable {
    var value = 0

    func receive(_ number: Int) {
        value &+= number
    }

    @MainActor func show(_ number: Int) {
        value ^= number
    }

    func check(_ number: Int) {
        if number < value { fatalError("no number is negative") }
    }
}

/// The limit for closures: a loop that calls each closure through a pointer, and retains nothing.
final class ClosureLoop: @unchecked Sendable {
    private struct Line: ~Copyable {
        let call: (Int) -> Void

        @inline(__always)
        borrowing func deliver(_ value: Int) { call(value) }
    }

    private let lines: UnsafeMutablePointer<Line>
    private let capacity: Int
    private var count = 0

    init(capacity: Int) {
        lines = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    /// Adds a closure as it is.
    func addNonisolated(_ call: @escaping @Sendable (Int) -> Void) {
        precondition(count < capacity)
        (lines + count).initialize(to: Line(call: call))
        count += 1
    }

    @inline(never)
    func notify(_ value: Int) {
        for index in 0..<count { lines[index].deliver(value) }
    }

    deinit {
        lines.deinitialize(count: count)
        lines.deallocate()
    }
}

/// A closure that was formed with its isolation.
///
/// For such a closure, the compiler makes a box for its captures, and a stub.
struct Isolated {
    private let function: @isolated(any) @Sendable (Int) -> Void

    private struct Nonisolated {
        let function: @Sendable (Int) -> Void
    }

    static func removed(
        @_inheritActorContext _ function: @escaping @isolated(any) @Sendable (Int) -> Void
    ) -> @Sendable (Int) -> Void {
        // The function is cast as part of a structure. If it were cast by itself, the compiler would wrap it in another
        // function, twice.
        unsafeBitCast(Isolated(function: function), to: Nonisolated.self).function
    }
}

/// The limit for a set: the least that a notification without a lock has to do.
///
/// It counts itself in and out, and visits records that are as large as those of a set. Each record says whether it is
/// to be called. Because this is the same kind of work as a set's, the ratio depends little on what an atomic
/// operation, a call or a cache line costs on the processor.
final class CountedWalk: @unchecked Sendable {
    private struct Record: ~Copyable {
        let call: (Int) -> Void
        let number: Atomic<UInt64>
        let site: (UInt, UInt) = (0, 0)

        @inline(__always)
        borrowing func deliver(_ value: Int, upTo last: UInt64) -> Bool {
            guard number.load(ordering: .acquiring) &- 1 < last else { return false }
            call(value)
            return true
        }
    }

    private let records: UnsafeMutablePointer<Record>
    private let capacity: Int
    private let last = Atomic<UInt64>(0)
    private let readers = Atomic<Int>(0)

    init(capacity: Int) {
        records = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    func addNonisolated(_ call: @escaping @Sendable (Int) -> Void) {
        let count = last.load(ordering: .relaxed)
        precondition(count < capacity)
        (records + Int(count)).initialize(to: Record(call: call, number: Atomic(count + 1)))
        last.store(count + 1, ordering: .relaxed)
    }

    /// Adds a closure that was formed with its isolation.
    ///
    /// See `Isolated`.
    func add(@_inheritActorContext _ call: @escaping @isolated(any) @Sendable (Int) -> Void) {
        addNonisolated(Isolated.removed(call))
    }

    @inline(never)
    func notify(_ value: Int) {
        let last = last.load(ordering: .acquiring)
        if last == 0 { return }
        readers.wrappingAdd(1, ordering: .sequentiallyConsistent)
        walk(value, upTo: last)
        readers.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }

    /// Calls all closures without counting itself in and out, for use on one thread.
    @inline(never)
    func notifyUncounted(_ value: Int) { walk(value, upTo: last.load(ordering: .relaxed)) }

    @inline(__always)
    private func walk(_ value: Int, upTo last: UInt64) {
        for index in 0..<capacity where !records[index].deliver(value, upTo: last) { break }
    }

    deinit {
        records.deinitialize(count: Int(last.load(ordering: .relaxed)))
        records.deallocate()
    }
}

/// The limit for weak owners: a loop that loads each owner, makes the call, and releases the owner.
final class WeakLoop: @unchecked Sendable {
    private final class Entry {
        weak let owner: Owner?
        let call: (Owner, Int) -> Void

        init(owner: Owner, call: @escaping (Owner, Int) -> Void) {
            self.owner = owner
            self.call = call
        }

        @inline(__always)
        func deliver(_ value: Int) {
            if let owner { call(owner, value) }
        }
    }

    private let entries: UnsafeMutablePointer<Unmanaged<Entry>>
    private let capacity: Int
    private var count = 0

    init(capacity: Int) {
        entries = .allocate(capacity: capacity)
        self.capacity = capacity
    }

    func addNonisolated(_ owner: Owner, _ call: @escaping @Sendable (Owner, Int) -> Void) {
        precondition(count < capacity)
        (entries + count).initialize(to: .passRetained(Entry(owner: owner, call: call)))
        count += 1
    }

    /// Adds a closure that was formed with its isolation.
    ///
    /// See `Isolated`.
    func add(_ owner: Owner, @_inheritActorContext _ call: @escaping @isolated(any) @Sendable (Owner, Int) -> Void) {
        addNonisolated(owner, unsafeBitCast(IsolatedWithOwner(function: call), to: NonisolatedWithOwner.self).function)
    }

    private struct IsolatedWithOwner {
        let function: @isolated(any) @Sendable (Owner, Int) -> Void
    }

    private struct NonisolatedWithOwner {
        let function: @Sendable (Owner, Int) -> Void
    }

    @inline(never)
    func notify(_ value: Int) {
        for index in 0..<count { entries[index]._withUnsafeGuaranteedRef { $0.deliver(value) } }
    }

    deinit {
        for index in 0..<count { entries[index].release() }
        entries.deallocate()
    }
}

/// What a program would write without a library, for one thread: an array of closures.
final class ClosureArray: @unchecked Sendable {
    private var observers: [(Int) -> Void] = []

    func add(_ observer: @escaping @Sendable (Int) -> Void) {
        observers.append(observer)
    }

    @inline(never)
    func notify(_ value: Int) {
        for observer in observers { observer(value) }
    }
}
