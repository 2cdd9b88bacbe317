import Dispatch
import ObserverSet
import Synchronization
import Testing

/// Threads that do everything at once; such tests show most under the thread sanitizer and the address sanitizer.
///
/// `Tools/Stress` runs the same races for any length of time.
@Suite("Stress", .lifetimesChecked, .againstHanging, .serialized)
struct StressTests {
    private static let deliveries = many(200_000, long: 10_000_000)

    private let mistakes = Mistakes()

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

    @Test("A one-time observer is either called or removed, never both", arguments: [2, 4, 16])
    func onceOrRemoved(threads: Int) async {
        let storm = Storm(threads: threads, deliveries: 0, seed: 0, mistakes)
        let gate = Gate(threads)
        let rounds = (0..<Self.deliveries / 400).map { _ in
            let set = ObserverSet<Value>()
            return (set: set, those: (0..<8).map { _ in storm.add(to: set, isOnce: true) })
        }

        await onThreads(threads) { index in
            for round in rounds {
                gate.pass()
                if index % 2 == 0 {
                    storm.notify(round.set, Value(thread: index))
                } else {
                    round.those.forEach(storm.remove)
                }
            }
        }

        let outcomes = rounds.flatMap(\.those).map { $0.record.outcomes }
        #expect(outcomes.allSatisfy { $0 == 1 })
        expect(mistakes.list, equals: [])
        expect(storm.lifetimes.count, equals: 0)
    }

    @Test("A one-time observer that is removed after its call has been decided on is not called")
    func onceButRemovedLate() {
        let source = LateRemoval()
        let calls = Counter()

        source.token.value = source.once.add { _ in calls.increment() }
        source.set.notify(1)

        #expect(source.isRemoved.value)
        expect(calls.value, equals: 0)
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
        "Observers on other actors and queues receive all values, in each thread's order, while others come and go",
        arguments: [1, 2, 4, 8])
    func hops(threads: Int) async {
        await Hops(threads: threads, deliveries: Self.deliveries, mistakes).run()

        expect(mistakes.list, equals: [])
    }

    @Test("Each actor receives what a thread notifies to several sets in that thread's order", arguments: [1, 2, 4, 8])
    func orders(threads: Int) async {
        await Orders(threads: threads, deliveries: Self.deliveries, mistakes).run()

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

    @Test(
        "An observer that is removed in its own isolation is not called again, whatever is enqueued", arguments: [1, 4])
    func removedWhereItRuns(threads: Int) async {
        for _ in 0..<Self.deliveries / 1_000 {
            let set = ObserverSet<Int>()
            let leaver = Leaver(stayingFor: 5)
            await leaver.observe(set)

            await onThreads(threads) { _ in
                for number in 1...20 { set.notify(number) }
            }
            await set.settled()

            expect(await leaver.calls, equals: 5)
            #expect(set.isEmpty)
        }
    }
}

/// A source that removes its observer between a traversal's decision to call it and the call.
private struct LateRemoval: NotificationSource {
    let set = ObserverSet<Int>()
    let token = Shared<ObserverToken?>(nil)
    let isRemoved = Shared(false)

    func register(_ observer: Observer<Int>) -> ObserverToken {
        set.register(
            observer.adapted { [token, isRemoved] value in
                isRemoved.value = token.value?.remove() ?? false
                return value
            })
    }

    func settled() async { await set.settled() }
}

/// Removes its own observer after that many calls.
private actor Leaver {
    private(set) var calls = 0
    private let limit: Int
    private var token: ObserverToken?

    init(stayingFor limit: Int) {
        self.limit = limit
    }

    func observe(_ set: ObserverSet<Int>) {
        token = set.add(self) { leaver, _ in leaver.receive() }
    }

    private func receive() {
        calls += 1
        if calls == limit { token?.remove() }
    }
}
