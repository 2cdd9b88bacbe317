/// An actor's executor, of which the runtime can be asked whether the caller runs on it.
///
/// The compiler's `#isolation` is no proof. In a closure that an async parameter takes it may name an actor that the closure
/// does not run on (swiftlang/swift#83812, #86083, #87097), and so it may in a callback that an older interface calls on
/// another thread.
///
/// What Swift offers to check it traps if the answer is no, or was new in Swift 6.2, and so is missing on the oldest systems
/// that the library supports. So this asks what compiled async functions ask: which executor the thread has entered. That
/// has an answer since Swift 5.5, on every system, and in static executables. Outside tasks the answer is none; then only the
/// main actor is known, by its thread and queue.
struct ActorExecutor: Sendable {
    /// The first word of an executor's reference: the address of the executor, or of an actor that has none of its own.
    private let identity: UInt
    private let isMain: Bool

    private static let main = unsafe identity(of: MainActor.sharedUnownedExecutor)

    /// Calls the actor's `unownedExecutor`, which may be the user's code, and so never under a lock.
    init(of actor: any Actor) {
        LockCheck.assertNoLockIsHeld()
        identity = unsafe Self.identity(of: actor.unownedExecutor)
        isMain = identity == Self.main
    }

    /// Whether the caller runs on it; false if nobody knows.
    ///
    /// The executor may be gone, since addresses are compared, and nothing else. Then its actor is gone, too.
    var isCurrent: Bool {
        // The main actor's code often runs outside tasks: callbacks of a user interface, blocks on the main queue. Dispatch is
        // the last to be asked, since it takes ten times as long as the others.
        if isMain && isOnMainThread() { return true }
        return unsafe Self.identity(of: currentExecutor()) == identity || isMain && isOnMainQueue()
    }

    private static func identity(of executor: UnownedSerialExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (UInt, UInt).self).0
    }
}

/// The executor that the thread has entered; its words are zero if it has entered none.
///
/// A function of the runtime, with the name and the type by which the compiler calls it. The compiler reserves such names,
/// unless a package enables `AllowRuntimeSymbolDeclarations`, as parts of the standard library do.
@_silgen_name("swift_task_getCurrentExecutor")
private func currentExecutor() -> UnownedSerialExecutor
