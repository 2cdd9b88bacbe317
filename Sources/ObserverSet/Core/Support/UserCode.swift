/// The debug flag "this thread holds a lock of the library", which is asserted before every call of user code.
///
/// `package`, not internal: the layers assert it before their own calls of user code.
package enum UserCode {
    /// Whether this build maintains the flag, and checks it and the invariants.
    ///
    /// Builds for the thread sanitizer do not: reading the flag goes through a lazily initialised global, which would
    /// order the accesses around it, and so hide races.
    static var isChecked: Bool {
        #if DEBUG && !OBSERVERSET_TSAN
        true
        #else
        false
        #endif
    }

    /// A task-local value serves as a thread-local one: outside tasks the runtime stores it for each thread.
    @TaskLocal private static var isForbidden = false

    @inline(__always)
    static func forbidden<Result>(_ body: () -> Result) -> Result {
        isChecked ? $isForbidden.withValue(true, operation: body) : body()
    }

    /// Stops a debug build in which user code is about to run while this thread holds a lock.
    @inline(__always)
    package static func assertNoLockIsHeld() {
        guard isChecked else { return }
        precondition(!isForbidden, "ObserverSet is about to run user code while it holds its lock")
    }
}
