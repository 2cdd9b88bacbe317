import Dispatch

// These classes are marked `nonisolated`, because this file is also compiled in a client of the library whose code is
// on the main actor by default.

/// A serial executor that can prove to the Swift runtime that code runs on it, or can only check that, or can do neither.
nonisolated final class EventLoop: SerialExecutor {
    enum Proof: CaseIterable { case proven, checked, neither }

    private let proof: Proof
    private let queue = DispatchQueue(label: "event loop")
    private static let key = DispatchSpecificKey<ObjectIdentifier>()

    init(_ proof: Proof) {
        self.proof = proof
        queue.setSpecific(key: Self.key, value: ObjectIdentifier(self))
    }

    var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

    /// Whether the library recognises callers outside tasks, because it asks the executor, and the executor answers.
    var isRecognizedOutsideTasks: Bool {
        #if compiler(>=6.3)
        proof == .proven
        #else
        false
        #endif
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { precondition(proof != .neither && isCurrent, "it cannot be checked") }
    func isIsolatingCurrentContext() -> Bool? { proof == .proven ? isCurrent : nil }

    /// Runs a block on the executor, outside tasks.
    func perform(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                body()
                continuation.resume()
            }
        }
    }
}

/// A task executor that runs jobs on several threads.
nonisolated final class Pool: TaskExecutor {
    private let queue = DispatchQueue(label: "pool", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
