/// An actor's executor, about which the runtime can be asked whether the caller runs on it.
///
/// The question is needed because the compiler's `#isolation` proves nothing. Inside a closure that is passed as an
/// async parameter, it may name an actor on which the closure doesn't run (swiftlang/swift#83812, #86083, #87097). The
/// same happens in a callback that an older interface calls on another thread.
///
/// What Swift offers for this question doesn't help: either it traps if the answer is no, or it was new in Swift 6.2,
/// and so is missing on the oldest systems that the library supports. So this type asks what compiled async functions
/// ask: which executor the thread has entered. That question has had an answer since Swift 5.5, on every system and in
/// static executables. Outside tasks, the answer is none. There, `isCurrent` recognizes only the main actor, by its
/// thread and its queue (but see `confirmsCaller`).
struct ActorExecutor: Sendable {
    /// The first word of a reference to an executor: the address of the executor, or of an actor that has no executor
    /// of its own.
    private let identity: UInt
    private let isMain: Bool

    private static let main = unsafe identity(of: MainActor.sharedUnownedExecutor)

    /// Finds out which executor an actor has.
    ///
    /// This calls the actor's `unownedExecutor`, which may be user code, so never call it under a lock.
    init(of actor: any Actor) {
        LockCheck.assertNoLockIsHeld()
        identity = unsafe Self.identity(of: actor.unownedExecutor)
        isMain = identity == Self.main
    }

    /// Whether the caller runs on this executor; false if nobody can tell.
    ///
    /// The executor may have been deallocated, because only addresses are compared. In that case, its actor is gone,
    /// too.
    var isCurrent: Bool {
        // The main actor's code often runs outside tasks, in callbacks of a user interface and in blocks on the main
        // queue. Dispatch is asked last, because that takes ten times as long as the other questions.
        if isMain && isOnMainThread() { return true }
        return unsafe Self.identity(of: currentExecutor()) == identity || isMain && isOnMainQueue()
    }

    /// Whether an executor of the actor's own says that the caller runs on it, although the thread has entered no
    /// executor.
    ///
    /// That is so if code on a serial queue or an event loop, outside tasks, has called `assumeIsolated`. The executor
    /// answers, which is user code, so never call this under a lock. It is asked only where the library is compiled
    /// with Swift 6.3 or later, in which an executor can be got from a reference to it, and runs on a system with that
    /// function.
    func confirmsCaller(on actor: any Actor) -> Bool {
        #if compiler(>=6.3)
        guard identity != Isolation.address(of: actor), unsafe Self.identity(of: currentExecutor()) == 0 else {
            return false
        }
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return false }
        LockCheck.assertNoLockIsHeld()
        return unsafe actor.unownedExecutor.asSerialExecutor()?.isIsolatingCurrentContext() == true
        #else
        return false
        #endif
    }

    private static func identity(of executor: UnownedSerialExecutor) -> UInt {
        unsafe unsafeBitCast(executor, to: (UInt, UInt).self).0
    }
}

/// The executor that the thread has entered; its words are zero if the thread has entered none.
///
/// This is a function of the runtime, declared with the name and the type with which the compiler calls it. The
/// compiler reserves such names, unless a package enables `AllowRuntimeSymbolDeclarations`, as parts of the standard
/// library do.
@_silgen_name("swift_task_getCurrentExecutor")
private func currentExecutor() -> UnownedSerialExecutor
