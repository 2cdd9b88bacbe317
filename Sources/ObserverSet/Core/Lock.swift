import Synchronization

/// The mutex of a registry or a mailbox, which knows in checked builds that this thread holds it.
///
/// A critical section copies, swaps and returns what it displaced. It never calls out, never loads a weak reference and
/// never drops the last reference to a value of the user: each of these could run a `deinit` that comes back here
/// (promise 1). `CallOut.assertNoLockIsHeld()` stands before every call-out and fails where that rule is broken.
struct Lock<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>

    #if OBSERVERSET_TSAN
        /// The contended path of `Mutex` is in a library that the thread sanitizer does not see, so it would report
        /// races that are none.
        ///
        /// Under this flag alone, an atomic retells the mutex's own ordering where the sanitizer can see it.
        private let witness = Atomic<UInt>(0)
    #endif

    init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in critical(&state, body) }
    }

    /// Runs `body` if nobody holds the lock, and returns nil otherwise.
    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        mutex.withLockIfAvailable { state in critical(&state, body) }
    }

    @inline(__always)
    private func critical<Result: Sendable>(_ state: inout State, _ body: (inout State) -> Result) -> Result {
        #if OBSERVERSET_TSAN
            _ = witness.load(ordering: .acquiring)
            defer { witness.wrappingAdd(1, ordering: .releasing) }
        #endif
        #if DEBUG || OBSERVERSET_TSAN
            return CallOut.$isForbidden.withValue(true) { body(&state) }
        #else
            return body(&state)
        #endif
    }
}

/// The debug flag "this thread holds a lock of the library", asserted before every call-out.
enum CallOut {
    #if DEBUG || OBSERVERSET_TSAN
        /// A task-local value serves as the thread-local one: outside a task the runtime keeps it per thread.
        @TaskLocal static var isForbidden = false
    #endif

    /// Stops a checked build in which user code is about to run while this thread holds a lock.
    @inline(__always)
    static func assertNoLockIsHeld() {
        #if DEBUG || OBSERVERSET_TSAN
            precondition(!isForbidden, "ObserverSet is about to run user code while it holds its lock")
        #endif
    }
}
