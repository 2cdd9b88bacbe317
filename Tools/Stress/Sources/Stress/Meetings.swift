import Foundation
import ObserverSet
import Synchronization

/// Many short meetings at a set of its own, after each of which everything must have been released.
///
/// Nobody takes the set's lock afterwards: a wake-up that was lost stays lost.
struct Meetings: Sendable {
    private let threads: Int
    private let mistakes: Mistakes
    private let sets: [ObserverSet<Int>]
    private let census = Census()

    init(threads: Int, rounds: Int, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        sets = (0..<rounds).map { _ in ObserverSet() }
    }

    func run(for seconds: Double?) async {
        let deadline = Deadline(seconds.map { $0 / 2 })
        let isOver = Atomic<Bool>(false)
        let barrier = Barrier(threads)
        await onThreads(threads) { index in
            for (round, set) in sets.enumerated() {
                // The first thread adds and removes, the others notify.
                let token = index == 0 ? add(to: set) : nil
                barrier.pass()
                if let token {
                    if round % 2 == 0 { token.remove() } else { set.removeAll() }
                } else {
                    for value in 0...round % 3 { set.notify(value) }
                }
                barrier.pass()
                if index == 0 {
                    mistakes.note(.notReleased, unless: census.living == 0)
                    isOver.store(round % 64 == 0 && deadline.isOver, ordering: .relaxed)
                }
                barrier.pass()
                if isOver.load(ordering: .relaxed) { break }
            }
        }
    }

    private func add(to set: ObserverSet<Int>) -> ObserverToken {
        let capture = Tracked(census)
        return set.addNonisolated { [mistakes] value in
            // So that passes are under way when the observer is removed.
            if value % 2 == 0 { sched_yield() }
            mistakes.note(.calledWithTheDead, unless: capture.isIntact)
        }
    }
}
