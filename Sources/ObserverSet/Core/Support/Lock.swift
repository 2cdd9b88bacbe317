import Synchronization

#if canImport(Glibc) && hasFeature(RawLayout)
import Glibc
#endif

/// The mutex of a registry or a mailbox, which in debug builds records that this thread holds it.
///
/// A critical section copies, swaps, and returns what it removed or replaced. It never calls user code, never loads a
/// weak reference, with two exceptions that say why they may, and never drops the last reference to a value of the user's:
/// each of these could run a `deinit` that re-enters the library (guarantee 1). `LockCheck.assertNoLockIsHeld()` comes
/// before every call of user code, and fails if that rule is broken.
///
/// `package`, not internal: the layers guard their own state with it, and must follow the same rule.
package struct Lock<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: SystemMutex<State>
    private let edge = SanitizerEdge()

    package init(_ state: consuming sending State) {
        mutex = SystemMutex(state)
    }

    @inline(__always)
    package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in holding { body(&state) } }
    }

    /// Runs `body` if no thread holds the lock, and returns nil otherwise.
    ///
    /// It may also return nil if a thread held the lock a moment ago, unless there is a fence between the unlocking and
    /// this call.
    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        mutex.withLockIfAvailable { state in holding { body(&state) } }
    }

    @inline(__always)
    private func holding<Result>(_ body: () -> Result) -> Result {
        edge.acquire()
        defer { edge.release() }
        return LockCheck.whileHolding(body)
    }
}

#if canImport(Darwin)
private typealias SystemMutex = Mutex
#elseif canImport(Glibc) && hasFeature(RawLayout)
/// What `Mutex` is elsewhere, for Linux, on the C library's mutex.
///
/// `Mutex` of Swift 6.3 on Linux gives itself, at each unlocking, to a thread that must first be woken: eight threads that
/// post to one actor then wait a hundred times as long as with this one. Later versions spin (swiftlang/swift#88523).
/// This type may go when the oldest Swift that the package supports has that; the benchmark's rows "8 threads on one lock"
/// tell.
///
/// An adaptive mutex spins before it sleeps. With critical sections as short as the library's, eight threads get three
/// times as much done as with a normal one. One thread loses nothing.
///
/// Nothing of it is ever accessed exclusively, since other threads access it, too: both parts have raw layout, so the
/// compiler takes what is in them neither for constant nor for known, and they are reached by their address alone. That
/// is the same as long as a thread may use the mutex. Values of raw layout are borrowed in place; and what moves this type,
/// as its initializer's caller does once, owns it alone, so that no thread holds the mutex then, or waits for it. Such a
/// mutex is plain bytes to the C library, whose static initializer gives it no address of its own.
@safe private struct SystemMutex<State: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    private let mutex: Cell<pthread_mutex_t>
    private let state: Cell<State>

    init(_ state: consuming sending State) {
        // As `PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP`, a macro that is not imported.
        var mutex = unsafe pthread_mutex_t()
        unsafe mutex.__data.__kind = Int32(PTHREAD_MUTEX_ADAPTIVE_NP)
        unsafe self.mutex = unsafe Cell(mutex)
        self.state = Cell(state)
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex.address)
        defer { unsafe pthread_mutex_unlock(mutex.address) }
        return unsafe body(&state.address.pointee)
    }

    @inline(__always)
    func withLockIfAvailable<Result>(_ body: (inout State) -> Result) -> Result? {
        guard unsafe pthread_mutex_trylock(mutex.address) == 0 else { return nil }
        defer { unsafe pthread_mutex_unlock(mutex.address) }
        return unsafe body(&state.address.pointee)
    }

    deinit { unsafe pthread_mutex_destroy(mutex.address) }
}

/// The memory of one value, with its size and its alignment, of which the compiler assumes nothing.
@_rawLayout(like: Value, movesAsLike)
private struct Cell<Value: ~Copyable>: ~Copyable {
    @inline(__always)
    var address: UnsafeMutablePointer<Value> {
        unsafe withUnsafePointer(to: self) {
            unsafe UnsafeMutableRawPointer(mutating: $0).assumingMemoryBound(to: Value.self)
        }
    }

    init(_ value: consuming Value) { unsafe address.initialize(to: value) }

    deinit { unsafe address.deinitialize(count: 1) }
}
#else
/// A `Mutex` that says whether a thread holds it, since trying to lock one that is held may be a system call, which costs
/// many times as much as a critical section.
private struct SystemMutex<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>
    /// May be out of date. Relaxed: see "Why nothing is forgotten" in `Reclamation.swift`.
    private let isTaken = Atomic<Bool>(false)

    init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in
            // Before the state is touched: passing it `inout` already counts as an access.
            isTaken.store(true, ordering: .relaxed)
            defer { isTaken.store(false, ordering: .relaxed) }
            return body(&state)
        }
    }

    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        guard !isTaken.load(ordering: .relaxed) else { return nil }
        return mutex.withLockIfAvailable { state in
            isTaken.store(true, ordering: .relaxed)
            defer { isTaken.store(false, ordering: .relaxed) }
            return body(&state)
        }
    }
}
#endif
