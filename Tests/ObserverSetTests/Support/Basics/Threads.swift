import Foundation
import Synchronization

// The means by which the threads of tests and of the stress program meet and wait for each other.
//
// A waiting thread first checks its condition repeatedly for some microseconds, because two threads on two processors
// arrive about that far apart. Then it sleeps. On a busy machine, or with more threads than processors, a thread that
// kept checking would keep the thread that it waits for from running.
//
// Between the checks, the thread doesn't yield, except on a machine with one processor. If another process kept the
// processors busy, a thread that yields would run again only after milliseconds. By then the thread that it waits for
// would have yielded, too.

/// Lets several threads continue at the same moment, so that what they do next really overlaps.
///
/// A gate can be used repeatedly.
final class Gate: Sendable {
    private let count: Int
    private let arrivals = Atomic<Int>(0)
    private let bell = Bell()

    init(_ count: Int) { self.count = count }

    /// Blocks until all threads have called this method as often as the calling thread has.
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

/// A flag that one thread sets once, and for which others can wait.
final class Signal: Sendable {
    private let flag = Atomic<Bool>(false)
    private let bell = Bell()

    var isSet: Bool { flag.load(ordering: .acquiring) }

    func set() {
        flag.store(true, ordering: .releasing)
        bell.ring()
    }

    /// Blocks until the flag is set.
    func wait() { bell.wait { isSet } }
}

/// A counter that several threads share.
final class Counter: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .acquiring) }

    @discardableResult
    func increment() -> Int { number.add(1, ordering: .acquiringAndReleasing).newValue }

    func decrement() { number.subtract(1, ordering: .acquiringAndReleasing) }
}

/// A counter for which one task can wait, until it has reached a number.
///
/// The waiting task is resumed only once. If it yielded repeatedly instead, it would move from thread to thread, and
/// the system would keep memory for it on each of them. On sixteen processors that is most of a mebibyte, which would
/// spoil measurements of memory.
final class Milestone: Sendable {
    private let state = Guarded<(count: Int, goal: Int, task: CheckedContinuation<Void, Never>?)>((0, .max, nil))

    var count: Int { state.withLock { $0.count } }

    func note() {
        let reached = state.withLock { state in
            state.count += 1
            return state.count >= state.goal ? state.task.take() : nil
        }
        reached?.resume()
    }

    func reaches(_ goal: Int) async {
        await withCheckedContinuation { task in
            let isReached = state.withLock { state in
                if state.count < goal { (state.goal, state.task) = (goal, task) }
                return state.count >= goal
            }
            if isReached { task.resume() }
        }
    }
}

/// Wakes threads that wait until another thread makes a condition true.
private final class Bell: Sendable {
    private let condition = NSCondition()
    private static let isOnOneProcessor = ProcessInfo.processInfo.activeProcessorCount == 1

    /// Blocks until `holds` returns true.
    func wait(until holds: () -> Bool) {
        for _ in 0..<1_000 {
            if holds() { return }
            if Self.isOnOneProcessor { Thread.yield() }
        }
        condition.withLock {
            while !holds() { condition.wait() }
        }
    }

    /// Must be called whenever the condition may have become true.
    func ring() { condition.withLock { condition.broadcast() } }
}

extension Thread {
    /// Lets another thread run first.
    static func yield() { sched_yield() }
}

/// Runs `body` on several threads at once, and returns when all of them have finished.
///
/// `body` receives the thread's number, from zero on.
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

/// Runs `body` on a thread that runs no task, and returns its result after `body` has been released.
///
/// If a stack size is given, a new thread with that stack size is created for it.
func onThread<Result: Sendable>(stackSize: Int? = nil, _ body: @escaping @Sendable () -> Result) async -> Result {
    // The continuation does not pass the result on. If it is resumed before it is awaited, the thread sanitizer does
    // not see that the resumption comes before the end of the waiting.
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

/// Runs `body` on another thread, and blocks until `body` has returned and has been released.
///
/// Use it in observers and `deinit`s, where nothing can be awaited.
func join(_ body: @escaping @Sendable () -> Void) {
    let end = Signal()
    Worker.perform(body, then: end.set)
    end.wait()
}

/// Runs both closures at the same time, repeatedly, each on its own thread; both receive the number of the round.
func race(times: Int, _ first: @escaping @Sendable (Int) -> Void, _ second: @escaping @Sendable (Int) -> Void) async {
    let gate = Gate(2)
    await onThreads(2) { index in
        for round in 0..<times {
            gate.pass()
            index == 0 ? first(round) : second(round)
        }
    }
}

/// Waits until `condition` returns true, but gives up after so many attempts that it almost certainly never will.
func eventually(isolation: isolated (any Actor)? = #isolation, _ condition: () -> Bool) async {
    for attempt in 0..<1_000_000 {
        if condition() { return }
        await Task.yield()
        if attempt % 16 == 15 { Thread.yield() }
    }
}

/// Waits until the caller's task is cancelled.
func cancellation() async {
    let nothing = AsyncStream<Never> { _ in }
    for await _ in nothing {}
}

/// A thread that runs one job after another.
///
/// Starting a new thread for each job would take longer than most jobs take.
private final class Worker: Sendable {
    private static let idle = Guarded<[Worker]>([])

    private let job = Guarded<Job?>(nil)
    private let isWanted = DispatchSemaphore(value: 0)

    private struct Job {
        let body: @Sendable () -> Void
        let then: @Sendable () -> Void
    }

    /// Lets an idle thread run `body`, release it, and then run `then`.
    static func perform(_ body: @escaping @Sendable () -> Void, then: @escaping @Sendable () -> Void) {
        let worker = idle.withLock { $0.popLast() } ?? Worker()
        worker.job.withLock { $0 = Job(body: body, then: then) }
        worker.isWanted.signal()
    }

    private init() { Thread.detachNewThread { self.work() } }

    private func work() {
        while true {
            isWanted.wait()
            let then = runBody()
            Self.idle.withLock { $0.append(self) }
            then()
        }
    }

    /// Runs the job's `body` and returns its `then`.
    ///
    /// When this returns, `body` and everything that it captured have been released.
    private func runBody() -> @Sendable () -> Void {
        let job = job.withLock { $0.take() }!
        job.body()
        return job.then
    }
}

/// Keeps the calling thread busy.
func spin(for duration: Duration) {
    let end = ContinuousClock.now + duration
    while ContinuousClock.now < end {}
}
