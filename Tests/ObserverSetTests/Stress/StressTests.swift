import Dispatch
import ObserverSet
import Synchronization
import Testing

/// Threads that do everything at once; such tests show most under the thread sanitizer and the address sanitizer.
///
/// `Tools/Stress` runs the same races for any length of time.
@Suite("Stress", .lifetimesChecked, .againstHanging, .serialized)
struct StressTests {
    private let mistakes = Mistakes()
}

extension StressTests {
    private static let deliveries = many(200_000, long: 10_000_000)

    // MARK: Synchronous observers

    @Test("Threads add, remove, notify, query and let owners die, all at once", arguments: [1, 2, 4, 8, 16])
    func everythingAtOnce(threads: Int) async {
        let seed = UInt64.random(in: 0...UInt64.max)

        await Storm(threads: threads, deliveries: Self.deliveries, seed: seed, mistakes).run()

        expect(mistakes.list, equals: [], "with seed \(seed)")
    }

    @Test(
        "Observers that are removed while others notify are released, even if nobody uses the set again",
        arguments: [2, 4])
    func meetings(threads: Int) async {
        await Meetings(threads: threads, rounds: Self.deliveries / 50 / threads, mistakes).run()

        expect(mistakes.list, equals: [])
    }

    @Test("A thread that only notifies sees the observers that another thread adds fully initialised")
    func publication() async {
        let lifetimes = Lifetimes.current
        let rounds = (0..<Self.deliveries / 800).map { _ in ObserverSet<Int>() }
        // Relaxed, so that only the set orders the threads.
        let roundsDone = Atomic<Int>(0)

        await race(times: rounds.count) { [mistakes] round in
            var last: ObserverToken?
            for value in 1...40 {
                let capture = Tracked(value, in: lifetimes)
                let token = rounds[round].addNonisolated { _ in
                    mistakes.note(.calledWithTheDead, unless: capture.value == value && capture.isIntact)
                }
                // Not in all rounds, since the release that follows a removal also orders the two threads.
                if round % 2 == 1, value % 3 == 0 { last?.remove() }
                last = token
            }
            roundsDone.store(round + 1, ordering: .relaxed)
        } _: { round in
            repeat { rounds[round].notify(round) } while roundsDone.load(ordering: .relaxed) <= round
        }

        expect(mistakes.list, equals: [])
        #expect(rounds.enumerated().allSatisfy { round, set in set.count == (round % 2 == 1 ? 27 : 40) })
    }

    @Test("A stream's drop count adds up, whatever ends it; so do the order of events, and what removal drops")
    func streams() async {
        let seed = UInt64.random(in: 0...UInt64.max)

        await Streams(races: Self.deliveries / 1_000, seed: seed, mistakes: mistakes).run()

        expect(mistakes.list, equals: [], "with seed \(seed)")
    }

    // MARK: Observers elsewhere

    @Test(
        "Each actor and queue receives what a thread notifies to several sets in that thread's order, while others come and go",
        arguments: [1, 2, 4, 8])
    func hops(threads: Int) async {
        await Hops(threads: threads, deliveries: Self.deliveries, mistakes).run()

        expect(mistakes.list, equals: [])
    }

    @Test(
        "An observer that awaits is called one at a time, loses no value uncounted, and leaves nothing behind",
        arguments: [2, 3, 8])
    func awaits(threads: Int) async {
        let seed = UInt64.random(in: 0...UInt64.max)

        await Awaits(threads: threads, races: many(10_000, long: 500_000), seed: seed, mistakes).run()

        expect(mistakes.list, equals: [], "with seed \(seed)")
    }
}
