import Foundation
import ObserverSet

// A client that merges and converts sources in a loop, in an optimised build, on a thread as small as those of Apple's systems.
// If merged sources were nested, an `add` would overflow its stack.

typealias Source = any NotificationSource<Int>

let folds: [(name: String, steps: Int, step: @Sendable (Source, ObserverSet<Int>) -> Source)] = [
    ("merged from the left", 5_000, { all, next in all.merge(with: next) }),
    ("merged from the right", 5_000, { all, next in next.merge(with: all) }),
    ("mapped", 1_000, { all, _ in all.map { $0 + 1 } }),
    ("merged and then mapped", 1_000, { all, next in all.merge(with: next).map { $0 + 1 } }),
    ("mapped and then merged", 1_000, { all, next in next.merge(with: all.map { $0 + 1 }) }),
    ("merged, each time once", 1_000, { all, next in all.merge(with: next).once }),
    ("grouped", 1_000, { all, next in ObserverGroup([all, next]).map { 1 } }),
]

/// Adds observers to a folded source on a small thread, and returns how often they have been called.
func calls(_ steps: Int, _ step: @escaping @Sendable (Source, ObserverSet<Int>) -> Source) -> Int {
    nonisolated(unsafe) var calls = 0
    let isOver = DispatchSemaphore(value: 0)
    let thread = Thread {
        let sets = (0..<steps).map { _ in ObserverSet<Int>() }
        var all: Source = sets[0]
        for set in sets.dropFirst() { all = step(all, set) }
        for token in [all.addNonisolated { _ in calls += 1 }, all.addAsync { _ in }] {
            sets[0].notify(1)
            token.remove()
        }
        isOver.signal()
    }
    thread.stackSize = 512 * 1_024
    thread.start()
    isOver.wait()
    return calls
}

for fold in folds { precondition(calls(fold.steps, fold.step) == 1, fold.name) }
print("FoldedSources: \(folds.count) ways to make one source of thousands fit on a small stack")
