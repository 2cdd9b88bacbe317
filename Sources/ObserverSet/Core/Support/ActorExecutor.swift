/// An actor's executor, of which the runtime can be asked whether the caller runs on it.
///
/// The compiler's `#isolation` is not proof: in a closure that an async parameter takes it may name an actor that the closure
/// does not run on (swiftlang/swift#83812, #86083, #87097), and so it may in a callback that an older interface calls on
/// another thread.
///
/// What Swift offers for this traps if the answer is no, or was new in Swift 6.2, and so is missing on the oldest systems
/// that the library supports. So this asks what compiled async functions ask: which executor the thread has entered. The
/// function has been there since Swift 5.5, on every system, and in static executables. It answers outside tasks, too, where
/// no executor has been entered.
struct ActorExecutor: Sendable {
    /// The first word of an executor's reference: the address of the executor, or of an actor that has none of its own.
    private let identity: UInt

    /// Calls the actor's `unownedExecutor`, which may be the user's code, so never under a lock.
    init(of actor: any Actor) {
        LockCheck.assertNoLockIsHeld()
        identity = unsafe Self.identity(of: actor.unownedExecutor)
    }

    /// Whether the thread has entered it.
    ///
    /// Only addresses are compared, so that the executor may be gone. Then the actor is gone, too; another actor at its
    /// address is at most taken for it, which callers allow for (`Isolation`).
    var isCurrent: Bool { unsafe Self.identity(of: currentExecutor()) == identity }

    private static func identity(of executor: UnownedSerialExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (UInt, UInt).self).0
    }
}

/// The executor that the thread has entered; both words are zero if it has entered none.
///
/// A function of the runtime, with the name and the types that the compiler knows. It reserves these names for itself unless
/// the package enables `AllowRuntimeSymbolDeclarations`, which the standard library's parts do (swiftlang/swift#80322).
@_silgen_name("swift_task_getCurrentExecutor")
private func currentExecutor() -> UnownedSerialExecutor
