import Foundation
import Synchronization

/// Lets threads go all at once, so that they really meet.
final class Gate: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) {
        missing = Atomic(count)
    }

    /// Returns when as many threads have called it as the gate was made for.
    func pass() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        while missing.load(ordering: .acquiring) > 0 { Thread.yield() }
    }
}

extension Thread {
    /// Lets another thread go first.
    static func yield() { sched_yield() }
}

/// Runs `body` on so many threads of their own, all at once, and returns when all have ended.
func onThreads(_ count: Int, stackSize: Int? = nil, _ body: @escaping @Sendable (Int) -> Void) async {
    let gate = Gate(count)
    await withTaskGroup { group in
        for index in 0..<count {
            group.addTask {
                await onThread(stackSize: stackSize) {
                    gate.pass()
                    body(index)
                }
            }
        }
    }
}

/// Runs `body` on a thread of its own, on which no task runs, and returns its result when it has ended.
func onThread<Result: Sendable>(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Result
) async -> Result {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        if let stackSize { thread.stackSize = stackSize }
        thread.start()
    }
}

/// Runs the two at once, again and again, each on a thread of its own; both are passed the number of the round.
func race(
    times: Int, _ first: @escaping @Sendable (Int) -> Void, _ second: @escaping @Sendable (Int) -> Void
) async {
    let gates = (0..<times).map { _ in Gate(2) }
    await onThreads(2) { index in
        for round in 0..<times {
            gates[round].pass()
            index == 0 ? first(round) : second(round)
        }
    }
}
