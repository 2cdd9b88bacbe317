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
    /// Relaxed: see "Why nothing is forgotten" in `Reclamation.swift`.
    private let isTaken = Atomic<Bool>(false)

    private let witness = Witness()

    package init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in
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
        guard !isTaken.load(ordering: .relaxed) else { return nil }
        return mutex.withLockIfAvailable { state in
            beginHolding()
            defer { endHolding() }
            return CallOut.forbidden { body(&state) }
        }
    }

    /// Before the state is touched: passing it on already counts.
    @inline(__always)
    private func beginHolding() {
        witness.follow()
        isTaken.store(true, ordering: .relaxed)
    }

    @inline(__always)
    private func endHolding() {
        isTaken.store(false, ordering: .relaxed)
        witness.lead()
    }
}

/// The debug flag "this thread holds a lock of the library", asserted before every call-out.
///
/// `package`, not internal: the layers assert it before their own call-outs.
package enum CallOut {
    /// Whether this build keeps the flag, and checks its invariants.
    ///
    /// Not for the thread sanitizer: reading the flag goes through a lazily initialised global, which would order
    /// everything that it stands between, and hide races.
    static var isChecked: Bool {
        #if DEBUG && !OBSERVERSET_TSAN
        true
        #else
        false
        #endif
    }

    /// A task-local value serves as a thread-local one: outside a task the runtime keeps it per thread.
    @TaskLocal private static var isForbidden = false

    @inline(__always)
    fileprivate static func forbidden<Result>(_ body: () -> Result) -> Result {
        isChecked ? $isForbidden.withValue(true, operation: body) : body()
    }

    /// Stops a debug build in which user code is about to run while this thread holds a lock.
    @inline(__always)
    package static func assertNoLockIsHeld() {
        guard isChecked else { return }
        precondition(!isForbidden, "ObserverSet is about to run user code while it holds its lock")
    }
}
