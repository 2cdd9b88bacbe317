import Foundation
import Synchronization

// How tests and the stress program have threads meet and wait for each other.
//
// A thread that waits looks again for some microseconds, which is how far apart threads on two processors arrive, and then
// sleeps: on a busy machine, or where there are more threads than processors, one that goes on looking keeps the one that it
// waits for from running. It does not yield, unless there is but one processor: beside a process that keeps the processors
// busy, it would get its own back only after milliseconds, and the other thread would by then have yielded, too.

/// Lets threads go all at once, so that they really meet; again and again.
final class Gate: Sendable {
    private let count: Int
    private let arrivals = Atomic<Int>(0)
    private let bell = Bell()

    init(_ count: Int) {
        self.count = count
    }

    /// Returns when as many threads as the gate was made for have called it as often as the caller.
    func pass() {
        let number = arrivals.add(1, ordering: .acquiringAndReleasing).newValue
        let goal = (number + count - 1) / count * count
        if number == goal {
            bell.ring()
        } else {
            bell.wait { arrivals.load(ordering: .acquiring) >= goal }
        }
    }
}

/// Set once, by one thread; awaited by others.
final class Signal: Sendable {
    private let flag = Atomic<Bool>(false)
    private let bell = Bell()

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() {
        flag.store(true, ordering: .releasing)
        bell.ring()
    }

    /// Blocks until it is set.
    func wait() {
        bell.wait { isSet }
    }
}

/// A counter that several threads share.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }

    @discardableResult
    func increment() -> Int {
        number.add(1, ordering: .acquiringAndReleasing).newValue
    }
}

/// Wakes threads that wait for something that another thread does.
private final class Bell: Sendable {
    private let condition = NSCondition()
    private static let isOnOneProcessor = ProcessInfo.processInfo.activeProcessorCount == 1

    /// Blocks until `holds` does.
    func wait(until holds: () -> Bool) {
        for _ in 0..<1_000 {
            if holds() { return }
            if Self.isOnOneProcessor { Thread.yield() }
        }
        condition.withLock {
            while !holds() { condition.wait() }
        }
    }

    /// To be called when it may have begun to hold.
    func ring() {
        condition.withLock { condition.broadcast() }
    }
}

extension Thread {
    /// Lets another thread go first.
    static func yield() { sched_yield() }
}

/// Runs `body` on so many threads at once, and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async {
    let gate = Gate(count)
    await withTaskGroup { group in
        for index in 0..<count {
            group.addTask {
                await onThread {
                    gate.pass()
                    body(index)
                }
            }
        }
    }
}

/// Runs `body` on a thread on which no task runs, and returns its result when it has ended and holds nothing any more.
///
/// The thread is one of its own if it is to have a stack of that size.
func onThread<Result: Sendable>(
    stackSize: Int? = nil, _ body: @escaping @Sendable () -> Result
) async -> Result {
    // Not passed on by the continuation: if that is resumed before it is awaited, the thread sanitizer does not see that the
    // one comes before the other.
    let result = Shared<Result?>(nil)
    await withCheckedContinuation { continuation in
        if let stackSize {
            let thread = Thread {
                result.value = body()
                continuation.resume()
            }
            thread.stackSize = stackSize
            thread.start()
        } else {
            Worker.perform({ result.value = body() }, then: { continuation.resume() })
        }
    }
    return result.exchange(nil)!
}

/// Runs `body` on another thread, and blocks until it has ended and holds nothing any more: for what an observer or a
/// `deinit` waits for.
func join(_ body: @escaping @Sendable () -> Void) {
    let end = Signal()
    Worker.perform(body, then: end.set)
    end.wait()
}

/// Runs the two at once, again and again, each on a thread of its own; both are passed the number of the round.
func race(
    times: Int, _ first: @escaping @Sendable (Int) -> Void, _ second: @escaping @Sendable (Int) -> Void
) async {
    let gate = Gate(2)
    await onThreads(2) { index in
        for round in 0..<times {
            gate.pass()
            index == 0 ? first(round) : second(round)
        }
    }
}

/// Returns when `condition` holds, or after so many attempts that it may be taken never to.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async {
    for attempt in 0..<1_000_000 {
        if condition() { return }
        await Task.yield()
        if attempt % 16 == 15 { Thread.yield() }
    }
}

/// A thread that does one job after another: starting one for each would take longer than most jobs do.
private final class Worker: Sendable {
    private static let idle = Guarded<[Worker]>([])

    private let job = Guarded<Job?>(nil)
    private let isWanted = DispatchSemaphore(value: 0)

    private struct Job {
        let body: @Sendable () -> Void
        let then: @Sendable () -> Void
    }

    /// Has a thread that does nothing else run `body`, release it, and then run `then`.
    static func perform(_ body: @escaping @Sendable () -> Void, then: @escaping @Sendable () -> Void) {
        let worker = idle.withLock { $0.popLast() } ?? Worker()
        worker.job.withLock { $0 = Job(body: body, then: then) }
        worker.isWanted.signal()
    }

    private init() {
        Thread.detachNewThread { self.work() }
    }

    private func work() {
        while true {
            isWanted.wait()
            let then = runBody()
            Self.idle.withLock { $0.append(self) }
            then()
        }
    }

    /// Runs what the job is, of which nothing is left when it returns what comes then.
    private func runBody() -> @Sendable () -> Void {
        let job = job.withLock { $0.take() }!
        job.body()
        return job.then
    }
}
