import Synchronization

/// The mutex of a registry or a mailbox, which knows in debug builds that this thread holds it.
///
/// A critical section copies, swaps and returns what it displaced. It never calls out, never loads a weak reference and
/// never drops the last reference to a value of the user: each of these could run a `deinit` that comes back here
/// (promise 1). `CallOut.assertNoLockIsHeld()` stands before every call-out and fails where that rule is broken.
///
/// `package`, not internal: the layers guard what is theirs with it, and are held to the same rule.
package struct Lock<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>
    /// Whether somebody holds the mutex; it may be out of date.
    ///
    /// On Linux, a try at a mutex that is taken is a system call, many times as dear as a critical section. So one looks here
    /// first.
    ///
    /// Relaxed: see "Why nothing is forgotten" in `Registry+Reclaim.swift`.
    private let isTaken = Atomic<Bool>(false)

    #if OBSERVERSET_TSAN
    /// The contended path of `Mutex` is in a library that the thread sanitizer does not see.
    ///
    /// It would report races that are none. Under this flag alone, an atomic retells the mutex's own ordering where the
    /// sanitizer can see it.
    private let witness = Atomic<UInt>(0)
    #endif

    package init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        YieldPoint.pass()
        defer { YieldPoint.pass() }
        return mutex.withLock { state in
            beginHolding()
            defer { endHolding() }
            return CallOut.forbidden { body(&state) }
        }
    }

    /// Runs `body` if nobody holds the lock, and returns nil otherwise.
    ///
    /// Also returns nil if somebody held it a moment ago, unless a fence stands between the unlocking and here.
    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        YieldPoint.pass()
        guard !isTaken.load(ordering: .relaxed) else { return nil }
        defer { YieldPoint.pass() }
        return mutex.withLockIfAvailable { state in
            beginHolding()
            defer { endHolding() }
            return CallOut.forbidden { body(&state) }
        }
    }

    /// Before the state is touched: passing it on already counts.
    @inline(__always)
    private func beginHolding() {
        YieldPoint.pass()
        #if OBSERVERSET_TSAN
        _ = witness.load(ordering: .acquiring)
        #endif
        isTaken.store(true, ordering: .relaxed)
    }

    @inline(__always)
    private func endHolding() {
        YieldPoint.pass()
        isTaken.store(false, ordering: .relaxed)
        #if OBSERVERSET_TSAN
        witness.wrappingAdd(1, ordering: .releasing)
        #endif
    }
}

/// The debug flag "this thread holds a lock of the library", asserted before every call-out.
///
/// Not under the thread sanitizer: reading the flag goes through a lazily initialised global, which would order
/// everything that it stands between, and hide races.
///
/// `package`, not internal: the layers assert it before their own call-outs.
package enum CallOut {
    #if DEBUG && !OBSERVERSET_TSAN
    /// A task-local value serves as a thread-local one: outside a task the runtime keeps it per thread.
    @TaskLocal static var isForbidden = false
    #endif

    @inline(__always)
    fileprivate static func forbidden<Result>(_ body: () -> Result) -> Result {
        #if DEBUG && !OBSERVERSET_TSAN
        $isForbidden.withValue(true, operation: body)
        #else
        body()
        #endif
    }

    /// Stops a debug build in which user code is about to run while this thread holds a lock.
    @inline(__always)
    package static func assertNoLockIsHeld() {
        #if DEBUG && !OBSERVERSET_TSAN
        precondition(!isForbidden, "ObserverSet is about to run user code while it holds its lock")
        #endif
    }
}
