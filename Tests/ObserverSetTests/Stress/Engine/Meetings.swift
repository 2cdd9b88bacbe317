import Foundation
import ObserverSet
import Synchronization

/// Many short races, each with its own set, after each of which everything must have been released.
///
/// No thread takes the set's lock afterwards, so nothing makes up for a wake-up that was lost.
struct Meetings: Sendable {
    private let threads: Int
    private let mistakes: Mistakes
    private let sets: [ObserverSet<Int>]
    private let lifetimes = Lifetimes()

    init(threads: Int, rounds: Int, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        sets = (0..<rounds).map { _ in ObserverSet() }
    }

    func run(until isOver: @escaping @Sendable () -> Bool = { false }) async {
        let ended = Atomic<Bool>(false)
        let gate = Gate(threads)
        await onThreads(threads) { index in
            for (round, set) in sets.enumerated() {
                // The first thread adds and removes, the others notify.
                let token = index == 0 ? add(to: set) : nil
                gate.pass()
                if let token {
                    if round % 2 == 0 { token.remove() } else { set.removeAll() }
                } else {
                    for value in 0...round % 3 { set.notify(value) }
                }
                gate.pass()
                if index == 0 {
                    mistakes.note(.notReleased, unless: lifetimes.count == 0)
                    ended.store(round % 64 == 0 && isOver(), ordering: .relaxed)
                }
                gate.pass()
                if ended.load(ordering: .relaxed) { break }
            }
        }
    }

    private func add(to set: ObserverSet<Int>) -> ObserverToken {
        let capture = Tracked(in: lifetimes)
        return set.addNonisolated { [mistakes] value in
            // So that traversals are under way when the observer is removed.
            if value % 2 == 0 { Thread.yield() }
            mistakes.note(.calledWithTheDead, unless: capture.isIntact)
        }
    }
}
