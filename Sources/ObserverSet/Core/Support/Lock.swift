import Synchronization

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

/// The mutex of a registry or a mailbox, which in debug builds records that this thread holds it.
///
/// A critical section copies, swaps, and returns what it removed or replaced. It never calls user code, never loads a
/// weak reference, and never drops the last reference to a user's value, because each of these could run a `deinit`
/// that re-enters the library (guarantee 1). It starts no task and resumes none, because an executor, which may be user
/// code, would enqueue it. (`ActorMailbox.of` and `NotificationChannel` do load a weak reference, but they can't drop
/// the last strong one.) `LockCheck.assertNoLockIsHeld()` comes before every call of user code, and fails if the rule
/// is broken.
///
/// Locks are nested in only one order: a registry's, then a mailbox's, then a `SettledWait`'s. The lock of a mailbox's
/// batch comes before that of its inbox, and a registry's before that of its `Demand`. All other locks are taken alone.
///
/// It is `package`, not internal, because the layers guard their own state with it, and must follow the same rule.
package struct Lock<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: SystemMutex<State>

    package init(_ state: consuming sending State) { mutex = SystemMutex(state) }

    @inline(__always)
    package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in LockCheck.whileHolding { body(&state) } }
    }

    /// Runs `body` if no thread holds the lock, and returns nil otherwise.
    ///
    /// It may also return nil if a thread held the lock a moment ago, unless there is a fence between the unlocking and
    /// this call.
    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        mutex.withLockIfAvailable { state in LockCheck.whileHolding { body(&state) } }
    }
}

/// The debug flag "this thread holds a lock of the library", which is checked before every call of user code.
///
/// It is `package`, not internal, because layers check it before their own calls of user code.
package enum LockCheck {
    // Builds for the thread sanitizer don't maintain the flag. Reading it goes through a lazily initialised global,
    // which would order the accesses around it, and so hide races.
    #if DEBUG && !OBSERVERSET_TSAN && (canImport(Darwin) || canImport(Glibc) || canImport(Musl) || canImport(Android))
    /// Whether this build maintains the flag, and checks both the flag and the registries' invariants.
    static var isEnabled: Bool { true }

    /// The key of the flag among the thread's own values.
    ///
    /// The flag isn't a task-local value, because the runtime takes a lock of the task to set one. It also holds that
    /// lock while it calls cancellation handlers, and these may take a lock of the library.
    private static let key = {
        var key = pthread_key_t()
        unsafe pthread_key_create(&key, nil)
        return key
    }()

    private static var holdsLock: Bool {
        get { unsafe pthread_getspecific(key) != nil }
        set { unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue ? 1 : 0)) }
    }
    #else
    static var isEnabled: Bool { false }

    private static var holdsLock: Bool {
        get { false }
        set {}
    }
    #endif

    @inline(__always)
    static func whileHolding<Result>(_ body: () -> Result) -> Result {
        // Locks may be nested, so only the outermost one sets the flag.
        guard isEnabled, !holdsLock else { return body() }
        holdsLock = true
        defer { holdsLock = false }
        return body()
    }

    /// Stops a debug build in which user code is about to run while this thread holds a lock.
    @inline(__always)
    package static func assertNoLockIsHeld() {
        guard isEnabled else { return }
        precondition(!holdsLock, "ObserverSet is about to run user code while it holds its lock")
    }
}

#if (compiler(<6.4) || OBSERVERSET_TSAN) && (canImport(Glibc) || canImport(Musl) || canImport(Android))
/// The C library's mutex, with the state that it guards, in memory of its own.
///
/// The standard library's `Mutex` is too slow here. In Swift 6.2 and 6.3 for Linux, a thread that finds it taken goes
/// to sleep at once, and whoever unlocks it hands it to a sleeping thread, so everybody waits until that thread has
/// been woken (swiftlang/swift#88440). With eight threads, a notification of a busy actor then takes a hundred times as
/// long. The C library's adaptive mutex spins before it sleeps. From Swift 6.4 on, `Mutex` spins, too
/// (swiftlang/swift#88523), and this type is compiled only for the thread sanitizer, which knows the C library's
/// mutexes, but not the kernel's calls that a contended `Mutex` makes.
///
/// The memory is allocated, because the C library must find the mutex at one address as long as it exists.
@safe struct SystemMutex<State: ~Copyable & Sendable>: ~Copyable, @unchecked Sendable {
    /// The mutex is the first thing in the memory, and the state follows.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    #if canImport(Glibc)
    // The compiler treats Glibc's type as unsafe, but not those of the other C libraries.
    private static var mutexSize: Int { unsafe MemoryLayout<pthread_mutex_t>.size }
    #else
    private static var mutexSize: Int { MemoryLayout<pthread_mutex_t>.size }
    #endif

    private var state: UnsafeMutablePointer<State> {
        @inline(__always) get {
            unsafe UnsafeMutableRawPointer(mutex).advanced(by: Self.stateOffset).assumingMemoryBound(to: State.self)
        }
    }

    private static var stateOffset: Int {
        let alignment = MemoryLayout<State>.alignment
        return (mutexSize + alignment - 1) / alignment * alignment
    }

    init(_ state: consuming sending State) {
        // A mutex needs the alignment of a word, which every allocation has. A larger alignment would make the
        // allocation slower.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: Self.stateOffset + MemoryLayout<State>.size,
            alignment: max(MemoryLayout<UInt>.alignment, MemoryLayout<State>.alignment))
        unsafe mutex = memory.initializeMemory(as: pthread_mutex_t.self, to: pthread_mutex_t())
        unsafe (memory + Self.stateOffset).bindMemory(to: State.self, capacity: 1).initialize(to: state)
        var attributes = pthread_mutexattr_t()
        Self.check(unsafe pthread_mutexattr_init(&attributes))
        #if DEBUG
        // Such a mutex returns an error, and doesn't hang, if the thread that holds it takes it again.
        Self.check(unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ERRORCHECK)))
        #elseif canImport(Glibc)
        // Musl's and Android's ordinary mutexes spin by themselves.
        Self.check(unsafe pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP)))
        #endif
        Self.check(unsafe pthread_mutex_init(mutex, &attributes))
        Self.check(unsafe pthread_mutexattr_destroy(&attributes))
    }

    deinit {
        unsafe state.deinitialize(count: 1)
        Self.check(unsafe pthread_mutex_destroy(mutex))
        unsafe UnsafeMutableRawPointer(mutex).deallocate()
    }

    @inline(__always)
    func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        Self.check(unsafe pthread_mutex_lock(mutex))
        defer { unlock() }
        return unsafe body(&state.pointee)
    }

    @inline(__always)
    func withLockIfAvailable<Result>(_ body: (inout State) -> Result) -> Result? {
        let result = unsafe pthread_mutex_trylock(mutex)
        Self.check(result, orElse: EBUSY)
        guard result == 0 else { return nil }
        defer { unlock() }
        return unsafe body(&state.pointee)
    }

    @inline(__always)
    private func unlock() { Self.check(unsafe pthread_mutex_unlock(mutex)) }

    /// Stops a debug build if the C library reports an error, which only a mistake in the library can cause.
    @inline(__always)
    private static func check(_ result: Int32, orElse other: Int32 = 0) {
        guard LockCheck.isEnabled else { return }
        precondition(result == 0 || result == other, "The C library reports an error of ObserverSet's mutex")
    }
}
#else
typealias SystemMutex = Mutex
#endif
