import Foundation
import ObserverSet
import Synchronization
import Testing

/// Threads that do everything at once: most telling under the thread and the address sanitizer.
@Suite("Stress", .lifetimesChecked, .serialized)
struct StressTests {
    /// OBSERVERSET_LONG asks for so many that rare interleavings occur.
    private static let isLong = ProcessInfo.wantsLongTests
    #if OBSERVERSET_TSAN
    // The sanitizer looks at each access, so that fewer will do.
    private static let deliveries = isLong ? 2_000_000 : meetings(50_000)
    #else
    private static let deliveries = isLong ? 10_000_000 : meetings(200_000)
    #endif
    private static let minutes = isLong ? 120 : 5

    // MARK: Synchronous observers

    @Test(
        "Threads add, remove, notify, ask and let owners die, all at once", .timeLimit(.minutes(minutes)),
        arguments: [1, 2, 4, 8, 16])
    func everythingAtOnce(threads: Int) async {
        let lifetimes = Lifetimes.current
        let storm = Storm(goal: Self.deliveries, lifetimes: lifetimes)
        let owner = Tracked(in: lifetimes)
        let staying = Staying(storm, owner: owner)
        let seed = UInt64.random(in: 0...UInt64.max)
        let notifications = Atomic<Int>(0)

        await onThreads(threads) { index in
            var life = StormLife(storm, threads: threads, seed: seed &+ UInt64(index))
            while !storm.isOver { life.step() }
            life.end()
            notifications.add(life.calmNotifications, ordering: .relaxed)
        }

        // The passes that are left have the entries of dead owners removed.
        if let last = storm.trade(nil) { storm.remove(last) }
        storm.wild.removeAll()
        storm.notify(storm.calm)
        storm.notify(storm.wild)
        let total = notifications.load(ordering: .relaxed) + 1
        #expect(storm.mistakes.isEmpty, "with seed \(seed): \(storm.mistakes)")
        #expect(staying.counts == Array(repeating: total, count: staying.counts.count))
        #expect(storm.calm.count == staying.counts.count)
        #expect(storm.wild.isEmpty)
        // Nothing but the owner that stays: all captures were released.
        #expect(lifetimes.count == 1)
        withExtendedLifetime(owner) {}
    }

    @Test(
        "An observer that is to be called once is either called or removed", .timeLimit(.minutes(minutes)),
        arguments: [2, 4, 16])
    func onceOrRemoved(threads: Int) async {
        let lifetimes = Lifetimes.current
        let storm = Storm(goal: .max, lifetimes: lifetimes)
        let rounds = (0..<Self.deliveries / 400).map { _ in
            let set = ObserverSet<Int>()
            return (gate: Gate(threads), set: set, those: (0..<8).map { _ in storm.add(to: set, isOnce: true) })
        }

        await onThreads(threads) { index in
            for round in rounds {
                round.gate.pass()
                if index % 2 == 0 { storm.notify(round.set) } else { round.those.forEach(storm.remove) }
            }
        }

        let outcomes = rounds.flatMap(\.those).map { $0.record.outcomes }
        #expect(outcomes.allSatisfy { $0 == 1 })
        #expect(storm.mistakes.isEmpty, "\(storm.mistakes)")
        #expect(lifetimes.count == 0)
    }

    @Test("An observer that is to be called once, and is removed when its call has been decided on, is not called")
    func onceButRemovedLate() {
        let source = LateRemoval()
        let record = Record()

        source.token.value = source.addOnce { _ in record.calls.add(1, ordering: .relaxed) }
        source.set.notify(1)

        #expect(source.isRemoved.value)
        #expect(record.calls.load(ordering: .relaxed) == 0)
    }

    @Test("A thread that only notifies sees whole what another adds", .timeLimit(.minutes(minutes)))
    func publication() async {
        let lifetimes = Lifetimes.current
        let rounds = (0..<Self.deliveries / 800).map { _ in ObserverSet<Int>() }
        let mistakes = Mistakes()
        // Relaxed, so that it orders nothing: only the set does.
        let roundsDone = Atomic<Int>(0)

        await race(times: rounds.count) { round in
            var last: ObserverToken?
            for value in 1...40 {
                let capture = Tracked(value, in: lifetimes)
                let token = rounds[round].addNonisolated { _ in
                    mistakes.note(unless: capture.value == value && capture.isIntact)
                }
                // Not in all rounds: the release that follows a removal orders the two as well.
                if round % 2 == 1, value % 3 == 0 { last?.remove() }
                last = token
            }
            roundsDone.store(round + 1, ordering: .relaxed)
        } _: { round in
            repeat { rounds[round].notify(round) } while roundsDone.load(ordering: .relaxed) <= round
        }

        #expect(mistakes.count == 0)
        #expect(rounds.enumerated().allSatisfy { round, set in set.count == (round % 2 == 1 ? 27 : 40) })
    }

    // MARK: Observers elsewhere

    @Test(
        "Observers elsewhere are told everything, in the order of each thread, while others come and go",
        .timeLimit(.minutes(minutes)), arguments: [1, 2, 4, 8])
    func hops(threads: Int) async {
        let lifetimes = Lifetimes.current
        let set = ObserverSet<Numbered>()
        let sources = threads + 2
        let perSource = Self.deliveries / 4 / sources
        let complete = Received(counts: Array(repeating: perSource, count: sources) + [perSource / 8])
        let onActor = ActorReceiver(sources: sources + 1)
        let onMain = await MainReceiver(sources: sources + 1, observing: set)
        let queue = DispatchQueue(label: "stress")
        let mistakes = Mistakes()
        let onQueue = QueueReceiver(sources: sources + 1)
        set.add(onActor) { [weak set] receiver, value in
            receiver.receive(value)
            // An echo from inside a delivery: queued behind what that holds.
            if value.source == 0, value.number % 8 == 0 {
                set?.notify(Numbered(source: sources, number: value.number / 8))
            }
        }
        set.add(on: queue, onQueue) { receiver, value in receiver.receive(value) }

        async let fromActor: Void = onActor.notify(set, source: threads, times: perSource)
        async let fromMain: Void = onMain.notify(set, source: threads + 1, times: perSource)
        await onThreads(threads) { index in
            var visitors = Visitors(
                set, queue: queue, actor: onActor, lifetimes: lifetimes, mistakes: mistakes, seed: UInt64(index))
            for number in 1...perSource {
                set.notify(Numbered(source: index, number: number))
                if number % 16 == 0 { visitors.comeOrGo() }
            }
            visitors.end()
        }
        await fromActor
        await fromMain
        await set.settled()

        #expect(await onActor.received == complete)
        #expect(await onMain.received == complete)
        #expect(queue.sync { onQueue.received } == complete)
        #expect(mistakes.count == 0)
        #expect(set.count == 3)
        // A drain that has delivered its last value may still be letting go of it.
        await eventually { lifetimes.count == 0 }
        #expect(lifetimes.count == 0)
    }

    @Test(
        "An observer that is removed where it runs is not called again, whatever is enqueued",
        .timeLimit(.minutes(minutes)), arguments: [1, 4])
    func removedWhereItRuns(threads: Int) async {
        let rounds = Self.deliveries / 1_000
        for _ in 0..<rounds {
            let set = ObserverSet<Numbered>()
            let leaver = Leaver(stayingFor: 5)
            await leaver.observe(set)

            await onThreads(threads) { index in
                for number in 1...20 { set.notify(Numbered(source: index, number: number)) }
            }
            await set.settled()

            #expect(await leaver.calls == 5)
            #expect(set.isEmpty)
        }
    }
}
