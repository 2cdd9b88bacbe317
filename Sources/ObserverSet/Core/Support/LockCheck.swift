#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

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
