import Synchronization

#if canImport(Glibc)
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

    /// Runs `body`, between what the sanitizer and the debug flag must know of.
    @inline(__always)
    private func holding<Result>(_ body: () -> Result) -> Result {
        edge.acquire()
        defer { edge.release() }
        return LockCheck.whileHolding(body)
    }
}

#if canImport(Darwin)
typealias SystemMutex = Mutex
#elseif canImport(Glibc)
/// What `Mutex` is on other systems, with the C library's mutex.
///
/// On Linux, `Mutex` of Swift 6.3 hands itself to a thread that sleeps whenever it is unlocked, and everybody waits until
/// that thread has been woken (swiftlang/swift#88440). With eight threads, a notification of a busy actor then takes a
/// hundred times as long as with this mutex. A later `Mutex` spins instead (swiftlang/swift#88523). When the oldest Swift
/// that this package supports has that one, this type may go: the benchmark's rows "a lock, 8 threads" show it.
///
/// Several threads use both stored properties at the same time, so neither is ever accessed exclusively, but by address.
///
/// Not private: the compiler (6.3) fails where a file has an object whose lock's memory it does not know.
@safe struct SystemMutex<State: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    private let mutex = AdaptiveMutex()
    /// The place of the state.
    ///
    /// Only the initializer and the end of this mutex's life refer to it by this name.
    private let place: State

    /// Not inlined: where the compiler sees what is stored in a `let`, it may use that in place of what is there later.
    @inline(never)
    init(_ state: consuming sending State) {
        place = state
        precondition(MemoryLayout<Self>.size == Self.offset + MemoryLayout<State>.size)
    }

    private static var offset: Int {
        @inline(__always) get {
            let alignment = MemoryLayout<State>.alignment
            return (MemoryLayout<AdaptiveMutex>.size + alignment - 1) / alignment * alignment
        }
    }

    private var state: UnsafeMutablePointer<State> {
        @inline(__always) get { unsafe (mutex.address + Self.offset).assumingMemoryBound(to: State.self) }
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        mutex.lock()
        defer { mutex.unlock() }
        return unsafe body(&state.pointee)
    }

    @inline(__always)
    func withLockIfAvailable<Result>(_ body: (inout State) -> Result) -> Result? {
        guard mutex.lockIfAvailable() else { return nil }
        defer { mutex.unlock() }
        return unsafe body(&state.pointee)
    }
}

/// A mutex of the C library that spins before it sleeps.
///
/// Eight threads with critical sections as short as those of this library pass it three to four times as often as a mutex
/// that sleeps at once. For one thread both cost the same.
///
/// Its address stays the same for as long as a thread may use it. A value that contains an `Atomic` is borrowed where it is,
/// and not as a copy. It may be moved before it is shared, as when an initializer returns it to be stored in an object. The
/// code that moves it then owns it alone, so no thread holds the mutex or waits for it. The C library keeps nothing about
/// such a mutex outside its bytes, nor its address in them. For that reason nothing is to be done at its end, either.
@safe struct AdaptiveMutex: ~Copyable, Sendable {
    private typealias Word = Atomic<UInt>
    private let first = Word(0), second = Word(0), third = Word(0), fourth = Word(0), fifth = Word(0)
    #if arch(arm64)
    private let sixth = Word(0)
    #endif

    init() {
        unsafe precondition(
            MemoryLayout<pthread_mutex_t>.size <= MemoryLayout<Self>.size
                && MemoryLayout<pthread_mutex_t>.alignment <= MemoryLayout<Self>.alignment)
        // As `PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP` does, a macro that is not imported. The other bytes are zero.
        unsafe mutex.pointee.__data.__kind = Int32(PTHREAD_MUTEX_ADAPTIVE_NP)
    }

    /// Found by its number, so that the compiler does not connect the two: it takes what is in a `let` for constant.
    var address: UnsafeMutableRawPointer {
        @inline(__always) get {
            unsafe withUnsafePointer(to: self) {
                unsafe UnsafeMutableRawPointer(bitPattern: UInt(bitPattern: $0)).unsafelyUnwrapped
            }
        }
    }

    private var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        @inline(__always) get { unsafe address.assumingMemoryBound(to: pthread_mutex_t.self) }
    }

    @inline(__always) func lock() { unsafe pthread_mutex_lock(mutex) }
    @inline(__always) func lockIfAvailable() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }
    @inline(__always) func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
#else
/// A `Mutex`, and a flag that is checked before a try.
///
/// On Linux, to try to lock a `Mutex` that is held is a system call, which costs many times as much as a critical section.
struct SystemMutex<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>
    /// Whether a thread holds the mutex; it may be out of date.
    ///
    /// Relaxed: see "Why nothing is forgotten" in `Reclamation.swift`.
    private let isTaken = Atomic<Bool>(false)

    private var seemsFree: Bool { !isTaken.load(ordering: .relaxed) }

    init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in taking { body(&state) } }
    }

    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        seemsFree ? mutex.withLockIfAvailable { state in taking { body(&state) } } : nil
    }

    @inline(__always)
    private func taking<Result>(_ body: () -> Result) -> Result {
        isTaken.store(true, ordering: .relaxed)
        defer { isTaken.store(false, ordering: .relaxed) }
        return body()
    }
}
#endif
