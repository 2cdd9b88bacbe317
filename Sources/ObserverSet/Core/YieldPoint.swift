import Synchronization

/// A place where a thread may stand still for a moment, so that threads meet where few processors seldom let them.
///
/// Nothing at all, but under the flag `OBSERVERSET_YIELDS`, which is for `Tools/Stress`: there one of eight passages lets
/// another thread go first, and a few last longer. `OBSERVERSET_YIELD_SEED` says which.
///
/// A thread's generator is the value of a thread-specific key, so that a passage neither allocates nor orders anything
/// between threads: what it orders, the thread sanitizer could find no race in.
enum YieldPoint {
    @inline(__always)
    static func pass() {
        #if OBSERVERSET_YIELDS
        passSlowly()
        #endif
    }

    #if OBSERVERSET_YIELDS
    // Both are initialised statically, in debug builds too: a lazily initialised global is reached through a lock.
    private static let key = Atomic<UInt>(0)
    private static let threadCount = Atomic<UInt64>(0)

    @inline(never)
    private static func passSlowly() {
        let key = threadKey()
        var state = getspecific(key)
        if state == 0 { state = seed() &+ threadCount.wrappingAdd(1, ordering: .relaxed).newValue << 32 }
        // splitmix64 (Steele, Lea and Flood).
        state &+= 0x9E37_79B9_7F4A_7C15
        _ = setspecific(key, state)
        var number = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        number = (number ^ (number >> 27)) &* 0x94D0_49BB_1331_11EB
        number ^= number >> 31
        if number % 8 == 0 { _ = yield() }
        if number % 4_096 == 1 { _ = sleep(0) }
    }

    /// The key, which the first to come makes.
    private static func threadKey() -> UInt {
        let known = key.load(ordering: .relaxed)
        if known != 0 { return known - 1 }
        var fresh: UInt = 0
        _ = unsafe makeKey(&fresh, nil)
        let installation = key.compareExchange(expected: 0, desired: fresh + 1, ordering: .relaxed)
        return installation.exchanged ? fresh : installation.original - 1
    }

    private static func seed() -> UInt64 {
        let name: StaticString = "OBSERVERSET_YIELD_SEED"
        guard let text = unsafe environment(name.utf8Start) else { return 0 }
        return unsafe number(text, nil, 10)
    }

    // By their names, since the heart imports nothing but `Synchronization`. Words are passed alike by Swift and C.
    @_silgen_name("pthread_key_create")
    private static func makeKey(_ key: UnsafeMutablePointer<UInt>, _ destructor: UnsafeRawPointer?) -> Int32
    @_silgen_name("pthread_getspecific")
    private static func getspecific(_ key: UInt) -> UInt64
    @_silgen_name("pthread_setspecific")
    private static func setspecific(_ key: UInt, _ value: UInt64) -> Int32
    @_silgen_name("sched_yield")
    private static func yield() -> Int32
    @_silgen_name("usleep")
    private static func sleep(_ microseconds: UInt32) -> Int32
    @_silgen_name("getenv")
    private static func environment(_ name: UnsafePointer<UInt8>) -> UnsafePointer<UInt8>?
    @_silgen_name("strtoull")
    private static func number(_ text: UnsafePointer<UInt8>, _ end: UnsafeRawPointer?, _ base: Int32) -> UInt64
    #endif
}
