import Foundation
import ObserverSet
import Testing

/// Races of sequences between several threads, and what they leave behind.
@Suite("Races of sequences", .lifetimesChecked, .againstHanging, .serialized)
struct SequenceRaceTests {}

extension SequenceRaceTests {
    /// Scenario 42: an element arrives while the task that waits for it is being cancelled.
    ///
    /// Source: BLESwift#25, supabase-swift#1154, AsyncExtensions#52, swift#87082, swift#87084 (hangs after 53,212 and 291,212 rounds
    /// where the continuation was resumed under a lock that the cancellation takes too).
    @Test("A race of an element with a cancellation never hangs the waiting task, nor leaves a registration")
    func sendAgainstCancel() async {
        let rounds = many(20_000, long: 500_000)
        let set = ObserverSet<Int>()
        let wrong = Counter()
        let delivered = Counter()
        let next = Shared<Waiting?>(nil)

        await race(times: rounds) { round in
            let waiting = next.value ?? Waiting(set)
            // There is no cancellation in round 1, and no notification in rounds 2 and 3 (below). So each of the two
            // comes first at least then.
            if round != 1 { waiting.cancel(after: round % 8) }
            if let value = waiting.result() {
                delivered.increment()
                // The value of this round or, if the notifier was late, of the previous one.
                if value != round && value != round - 1 { wrong.increment() }
            }
            next.value = round < rounds - 1 ? Waiting(set) : nil
        } _: { round in
            for _ in 0..<round % 5 { Thread.yield() }
            if round != 2 && round != 3 { set.notify(round) }
        }

        expect(wrong.value, equals: 0)
        expect(delivered.value > 0, "some elements came first")
        expect(delivered.value < rounds, "some cancellations came first")
        // The last task releases its iterator only after it has set `isOver`.
        await eventually { set.isEmpty }
        expect(set.count, equals: 0)
    }

    /// Scenario 42 for `first()`, which registers only when it is called.
    ///
    /// Source: as before.
    @Test("`first()` returns when a notification and a cancellation come at the same time")
    func firstAgainstCancel() async {
        let set = ObserverSet<Int>()

        await race(times: many(5_000, long: 100_000)) { round in
            let isOver = Signal()
            let task = Task {
                _ = await set.first()
                isOver.set()
            }
            for _ in 0..<round % 8 { Thread.yield() }
            task.cancel()
            isOver.wait()
        } _: { round in
            set.notify(round)
        }

        expect(set.count, equals: 0)
    }

    /// Scenario 49: no element is lost without being counted.
    ///
    /// Source: tokio loom_broadcast.rs (drop_rx, broadcast_wrap: received + lagged == sent).
    @Test(
        "The delivered and the dropped elements add up to the elements sent, and each thread's arrive in order",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)] as [Buffering])
    func everyElementIsAccountedFor(buffering: Buffering) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<many(400, long: 20_000) {
            let sent = random.below(200)
            let senders = 1 + random.below(3)
            let set = ObserverSet<Int>()
            let consumer = Task { [sequence = set.values(buffering: buffering), pace = random.next()] in
                var pace = SeededGenerator(seed: pace)
                var delivered: [Int] = []
                for await value in sequence {
                    delivered.append(value)
                    for _ in 0..<pace.below(3) { await Task.yield() }
                }
                return delivered
            }

            await onThreads(senders) { sender in
                for number in 0..<sent {
                    set.notify(sender * sent + number)
                    if number % 7 == 0 { Thread.yield() }
                }
            }
            let dropped = dropped(by: set)
            set.removeAll()

            let delivered = await consumer.value
            expect(delivered.count + dropped, equals: senders * sent, "seed \(seed)")
            for sender in 0..<senders {
                let ofOne = delivered.filter { $0 / max(sent, 1) == sender }
                #expect(zip(ofOne, ofOne.dropFirst()).allSatisfy(<), "seed \(seed)")
            }
        }
    }

    /// Scenario 50: notifications while the sequence is being made.
    ///
    /// Source: swift#86719, #82774 (Observation misses an event), #82752 (leaks closures).
    @Test("Every notification that begins after the sequence was made arrives")
    func racesAtTheBeginning() async {
        let set = ObserverSet<Int>()
        let sent = Counter()
        let isDone = Signal()
        let missed = Counter()
        let notifier = Task {
            await onThread { while !isDone.isSet { set.notify(sent.increment()) } }
        }

        for _ in 0..<many(8_000, long: 100_000) {
            var iterator = set.values().makeAsyncIterator()
            // The notification after this one begins after the registration, so it must arrive.
            let before = sent.value
            if let first = await iterator.next(), first > before + 1 { missed.increment() }
        }
        isDone.set()
        await notifier.value

        expect(missed.value, equals: 0)
        expect(set.count, equals: 0)
    }

    @Test("A sequence that is made or dropped while another thread removes all observers ends or goes on, and is gone")
    func removedAtTheBeginning() async {
        let set = ObserverSet<Int>()

        await race(times: many(20_000, long: 500_000)) { round in
            let sequence = set.values()
            let loop = Task { [sequence = set.values()] in for await _ in sequence {} }
            if round % 2 == 0 { loop.cancel() }
            withExtendedLifetime(sequence) {}
        } _: { _ in
            set.notify(1)
            set.removeAll()
        }
        set.removeAll()

        expect(set.count, equals: 0)
    }

    @Test("A set may be released, and a task cancelled, at the same time as a notification")
    func threeAtOnce() async {
        for round in 0..<many(8_000, long: 100_000) {
            let lifetimes = Lifetimes.current
            let holder = Shared<ObserverSet<Tracked>?>(ObserverSet())
            let task = Task { [sequence = holder.value!.values(buffering: .newest(1 + round % 2))] in
                for await value in sequence { #expect(value.isIntact) }
            }
            await onThreads(3) { thread in
                switch thread {
                case 0: holder.value = nil
                case 1: task.cancel()
                default: holder.value?.notify(Tracked(in: lifetimes))
                }
            }
            await task.value
        }
    }

    // MARK: Memory

    /// Scenario 48: a consumer that is slower than the notifier.
    @Test("A bounded buffer keeps memory flat; sequences that come and go leave no memory behind", .measuringMemory)
    func memoryIsFlat() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<[Int]>()
            let sequence = set.values(buffering: .newest(1))
            let buffered = await AllocatedMemory.growth {
                for number in 0..<10_000 { set.notify([number]) }
            } _: {
                for number in 0..<many(1_000_000) { set.notify([number]) }
            }
            expect(buffered < 512 << 10)
            withExtendedLifetime(sequence) { set.removeAll() }

            func comeAndGo(_ count: Int) async {
                for number in 0..<count {
                    let sequence = set.values(buffering: number % 2 == 0 ? .unbounded : .newest(2))
                    set.notify([number])
                    var iterator = sequence.makeAsyncIterator()
                    if number % 3 == 0 { _ = await iterator.next() }
                }
            }
            let left = await AllocatedMemory.growth {
                await comeAndGo(5_000)
            } _: {
                await comeAndGo(many(100_000))
            }
            expect(left < 512 << 10 && set.isEmpty)
        }
    }

    // MARK: The current value first

    /// A model whose lock its observers' registration and its changes share.
    private final class Model: Sendable {
        let changed = ObserverSet<Int>()
        private let value = Guarded(0)

        func change() {
            value.withLock { value in
                value += 1
                changed.notify(value)
            }
        }

        func observe(_ add: @Sendable (any NotificationSource<Int>) -> Void) {
            value.withLock { value in add(changed.starting(with: value)) }
        }
    }

    @Test("Observers that come while four threads change the model have no gap and no double")
    func contiguous() async {
        for _ in 0..<many(1_000) {
            let model = Model()
            let keepers = (0..<4).map { _ in Keeper() }
            let logs = (0..<12).map { _ in Log<Int>() }
            let streams = Log<(AsyncStream<Int>, Log<Int>)>()
            let changes = 25
            async let changing: Void = onThreads(4) { _ in for _ in 0..<changes { model.change() } }
            await onThread {
                for (index, log) in logs.enumerated() {
                    model.observe { source in
                        switch index % 3 {
                        case 0: source.add(keepers[index / 3]) { (_: isolated Keeper, value) in log.append(value) }
                        case 1: _ = source.addAsync { log.append($0) }
                        default: streams.append((source.values(), log))
                        }
                    }
                }
            }
            await changing
            await model.changed.settled()
            withExtendedLifetime(keepers) { model.changed.removeAll() }
            for (stream, log) in streams.entries {
                for await value in stream { log.append(value) }
            }

            for entries in logs.map(\.entries) {
                expect(entries, equals: Array((entries.first ?? 0)...4 * changes))
            }
        }
    }
}

/// A task that waits for an element, or is about to do so.
private final class Waiting: Sendable {
    private let element = Shared<Int?>(nil)
    private let isAboutToWait = Signal()
    private let isOver = Signal()
    private let task: Task<Void, Never>

    /// Blocks until the task is about to wait.
    init(_ set: ObserverSet<Int>) {
        task = Task { [sequence = set.values(), element, isAboutToWait, isOver] in
            var iterator = sequence.makeAsyncIterator()
            isAboutToWait.set()
            element.value = await iterator.next()
            isOver.set()
        }
        isAboutToWait.wait()
    }

    func cancel(after yields: Int) {
        for _ in 0..<yields { Thread.yield() }
        task.cancel()
    }

    /// Blocks until the task has ended.
    func result() -> Int? {
        isOver.wait()
        return element.value
    }
}
