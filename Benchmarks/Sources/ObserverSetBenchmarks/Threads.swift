import Foundation
import Synchronization

/// Lets several threads continue at the same moment, so that what they do next really overlaps.
private final class Gate: Sendable {
    private let missing: Atomic<Int>

    init(_ count: Int) {
        missing = Atomic(count)
    }

    /// Returns when all threads for which the gate was made have called this method.
    func pass() {
        missing.subtract(1, ordering: .acquiringAndReleasing)
        while missing.load(ordering: .acquiring) > 0 { sched_yield() }
    }
}

/// The time from when the first of several threads began until the last of them ended.
private final class Span: Sendable {
    private let bounds = Mutex<(first: UInt64, last: UInt64)>((.max, 0))

    func include(_ start: UInt64, _ end: UInt64) {
        bounds.withLock { $0 = (min($0.first, start), max($0.last, end)) }
    }

    var length: UInt64 {
        bounds.withLock { $0.last - $0.first }
    }
}

/// Checks, for a fifth of a second, whether two threads get a processor each.
func isQuiet() -> Bool {
    let spins = repetitions(filling: 200_000_000, spin)
    func time(_ threads: Int) -> UInt64 { together(Array(repeating: { spin(spins) }, count: threads)) }
    return Double(time(2)) < 1.1 * Double(time(1))
}

@inline(never)
private func spin(_ count: Int) {
    let value = Atomic<Int>(0)
    for _ in 0..<count { value.wrappingAdd(1, ordering: .relaxed) }
}

/// Runs each closure on its own thread, lets all begin at once, and returns when all have ended.
///
/// - Returns: The time in nanoseconds from when the first of `timed` began until when the last of them had ended.
func together(_ timed: [@Sendable () -> Void], beside others: [@Sendable () -> Void] = []) -> UInt64 {
    let gate = Gate(timed.count + others.count)
    let span = Span()
    let running = DispatchGroup()
    func start(_ body: @escaping @Sendable () -> Void) {
        running.enter()
        Thread.detachNewThread {
            gate.pass()
            body()
            running.leave()
        }
    }
    for body in timed {
        start {
            let start = now()
            body()
            span.include(start, now())
        }
    }
    others.forEach(start)
    running.wait()
    return span.length
}
