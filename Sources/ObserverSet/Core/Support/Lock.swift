import Synchronization

/// The mutex of a registry or a mailbox, which in debug builds records that this thread holds it.
///
/// A critical section copies, swaps, and returns what it removed or replaced. It never calls user code, never loads a
/// weak reference, with two exceptions that say why they may, and never drops the last reference to a value of the user's:
/// each of these could run a `deinit` that re-enters the library (guarantee 1). `LockCheck.assertNoLockIsHeld()` comes
/// before every call of user code, and fails if that rule is broken.
///
/// `package`, not internal: the layers guard their own state with it, and must follow the same rule.
package struct Lock<State: ~Copyable & Sendable>: ~Copyable, Sendable {
    private let mutex: Mutex<State>
    /// Whether a thread holds the mutex; may be out of date.
    ///
    /// On Linux, trying to lock a mutex that is held is a system call, which costs many times as much as a critical
    /// section. So this hint is checked first.
    ///
    /// Relaxed: see "Why nothing is forgotten" in `Reclamation.swift`.
    private let isTaken = Atomic<Bool>(false)

    private let edge = SanitizerEdge()

    package init(_ state: consuming sending State) {
        mutex = Mutex(state)
    }

    @inline(__always)
    package func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        mutex.withLock { state in
            beginHolding()
            defer { endHolding() }
            return LockCheck.whileHolding { body(&state) }
        }
    }

    /// Runs `body` if no thread holds the lock, and returns nil otherwise.
    ///
    /// It may also return nil if a thread held the lock a moment ago, unless there is a fence between the unlocking and
    /// this call.
    @inline(__always)
    func withLockIfAvailable<Result: Sendable>(_ body: (inout State) -> Result) -> Result? {
        guard !isTaken.load(ordering: .relaxed) else { return nil }
        return mutex.withLockIfAvailable { state in
            beginHolding()
            defer { endHolding() }
            return LockCheck.whileHolding { body(&state) }
        }
    }

    /// Called before the state is touched: passing it `inout` already counts as an access.
    @inline(__always)
    private func beginHolding() {
        edge.acquire()
        isTaken.store(true, ordering: .relaxed)
    }

    @inline(__always)
    private func endHolding() {
        isTaken.store(false, ordering: .relaxed)
        edge.release()
    }
}
