import Dispatch
import Foundation
import ObserverSet
import Synchronization
import Testing

/// Races of sequences between several threads.
@Suite("Races of sequences", .lifetimesChecked, .againstHanging, .serialized)
struct SequenceRaceTests {
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

        #expect(wrong.value == 0)
        #expect(delivered.value > 0, "some elements came first")
        #expect(delivered.value < rounds, "some cancellations came first")
        // The last task releases its iterator only after it has set `isOver`.
        await eventually { set.isEmpty }
        #expect(set.isEmpty)
    }

    /// Scenario 42 for `first()`, which registers only when it is called.
    ///
    /// Source: as before.
    @Test("`first()` returns when a notification and a cancellation come at the same time")
    func firstAgainstCancel() async {
        let rounds = many(5_000, long: 100_000)
        let set = ObserverSet<Int>()

        await race(times: rounds) { round in
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

        #expect(set.isEmpty)
    }

    /// Scenario 49: no element is lost without being counted.
    ///
    /// Source: tokio loom_broadcast.rs (drop_rx, broadcast_wrap: received + lagged == sent).
    @Test(
        "The delivered and the dropped elements add up to the elements sent, whichever side is faster",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)] as [Buffering]
    )
    func everyElementIsAccountedFor(buffering: Buffering) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<many(400) {
            let sent = Int(random.next() % 200)
            let senders = 1 + Int(random.next() % 3)
            let paces = (0..<3).map { _ in random.next() }
            var set: ObserverSet<Int>? = ObserverSet()
            let sequence = set!.values(buffering: buffering)
            let iterators = Counter()
            let consumers = paces.map { pace in
                Task {
                    var pace = SeededGenerator(seed: pace)
                    var delivered: [Int] = []
                    var iterator = sequence.makeAsyncIterator()
                    iterators.increment()
                    while let value = await iterator.next() {
                        delivered.append(value)
                        for _ in 0..<pace.next() % 3 { await Task.yield() }
                    }
                    return (delivered, iterator.droppedCount)
                }
            }
            await eventually { iterators.value == paces.count }

            await onThreads(senders) { [set] sender in
                for number in 0..<sent {
                    set?.notify(sender * sent + number)
                    if number % 7 == 0 { Thread.yield() }
                }
            }
            set = nil

            var dropped = 0
            for consumer in consumers {
                let (delivered, itsDropped) = await consumer.value
                #expect(delivered.count + itsDropped == senders * sent, "seed \(seed)")
                for sender in 0..<senders {
                    let ofOne = delivered.filter { $0 / max(sent, 1) == sender }
                    #expect(zip(ofOne, ofOne.dropFirst()).allSatisfy(<), "seed \(seed)")
                }
                dropped += itsDropped
            }
            #expect(sequence.droppedCount == dropped)
        }
    }

    /// Scenario 49 with a consumer that leaves at any time.
    ///
    /// Source: as before.
    @Test(
        "The count of dropped elements is right for a consumer that leaves or is cancelled at any time",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)]
            as [Buffering],
        [true, false])
    func everyElementIsAccountedForAtAnyTime(
        buffering: Buffering, isCancelled: Bool
    ) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<many(800) {
            let set = ObserverSet<Int>()
            let reached = Counter()
            let sequence = Counting(source: set, count: reached).values(buffering: buffering)
            let patience = Int(random.next() % 50)
            let received = Counter()
            let consumer = Task {
                var iterator = sequence.makeAsyncIterator()
                while isCancelled || received.value < patience, await iterator.next() != nil { received.increment() }
            }
            let moment = Int(random.next() % 100)

            await onThreads(1) { _ in
                for number in 0..<100 {
                    set.notify(number)
                    if isCancelled, number == moment { consumer.cancel() }
                }
            }
            // For a consumer that wants more elements than there were, or that began after some of them were sent.
            consumer.cancel()
            await consumer.value

            // The last element may have reached the source before the registration ended, but not the observer.
            let accountedFor = received.value + sequence.droppedCount
            #expect(reached.value - 1...reached.value ~= accountedFor, "seed \(seed)")
            #expect(set.isEmpty)
        }
    }

    @Test("The count of dropped elements never falls, and never exceeds the number of elements sent")
    func countRises() async {
        let set = ObserverSet<Int>()
        let sent = Counter()
        let isDone = Signal()
        let sequence = set.values(buffering: .newest(2))
        let wrong = Counter()

        await onThreads(2) { thread in
            if thread == 0 {
                for number in 0..<many(80_000) {
                    sent.increment()
                    set.notify(number)
                    if number % 100 == 0 { _ = sequence.makeAsyncIterator() }
                }
                isDone.set()
            } else {
                var last = 0
                while !isDone.isSet {
                    let count = sequence.droppedCount
                    if count < last || count > sent.value { wrong.increment() }
                    last = count
                }
            }
        }

        #expect(wrong.value == 0)
    }

    @Test("An iterator that is made while `removeAll` ends its sequence ends, and so does one that is made later")
    func madeDuringTheEnd() async {
        for round in 0..<many(8_000, long: 100_000) {
            let set = ObserverSet<Int>()
            let sequence = set.values()
            let first = sequence.makeAsyncIterator()
            let loops = Log<Task<Void, Never>>()

            await onThreads(3) { thread in
                switch thread {
                case 0: set.removeAll()
                // A notification in progress keeps the observers from being released.
                case 1: set.notify(round)
                default:
                    let iterator = sequence.makeAsyncIterator()
                    loops.append(
                        Task {
                            var iterator = iterator
                            while await iterator.next() != nil {}
                        })
                }
            }
            for await _ in sequence { Issue.record("the set has removed all observers") }
            for loop in loops.entries { await loop.value }

            #expect(set.isEmpty)
            withExtendedLifetime(first) {}
        }
    }

    @Test("An iterator that is dropped does not end one that is made at the same time")
    func droppedDuringTheBeginning() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        let isDone = Signal()
        let ended = Counter()
        let others = Task {
            await onThread { while !isDone.isSet { _ = sequence.makeAsyncIterator() } }
        }

        for round in 0..<many(20_000, long: 100_000) {
            var iterator = sequence.makeAsyncIterator()
            set.notify(round)
            if await iterator.next() == nil { ended.increment() }
        }
        isDone.set()
        await others.value

        #expect(ended.value == 0)
        #expect(set.isEmpty)
    }

    /// Scenario 50: notifications while the sequence is being created.
    ///
    /// Source: swift#86719, #82774 (Observation misses an event), #82752 (leaks closures).
    @Test("Every notification that begins after the sequence was made arrives")
    func racesAtTheBeginning() async {
        let set = ObserverSet<Int>()
        let rounds = many(8_000)
        let latest = Atomic<Int>(0)
        let isDone = Signal()
        let missed = Counter()
        let notifier = Task {
            await onThread {
                var number = 0
                while !isDone.isSet {
                    number += 1
                    latest.store(number, ordering: .sequentiallyConsistent)
                    set.notify(number)
                }
            }
        }

        for _ in 0..<rounds {
            var iterator = set.values().makeAsyncIterator()
            // The notification after this one begins after the registration, so it must arrive.
            let before = latest.load(ordering: .sequentiallyConsistent)
            if let first = await iterator.next(), first > before + 1 { missed.increment() }
        }
        isDone.set()
        await notifier.value

        #expect(missed.value == 0)
        #expect(set.isEmpty)
    }

    @Test("A set may die, and a task be cancelled, at the same time as a notification")
    func threeAtOnce() async {
        let rounds = many(8_000)
        for round in 0..<rounds {
            let set = ObserverSet<Tracked>()
            let lifetimes = Lifetimes.current
            let holder = Shared<ObserverSet<Tracked>?>(set)
            let task = Task { [sequence = set.values(buffering: .newest(1 + round % 2))] in
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

    @Test(
        "Many tasks may make iterators of one sequence at once, and one of them gets the live registration")
    func oneGetsTheLiveOne() async {
        for _ in 0..<many(800) {
            let set = ObserverSet<Int>()
            let sequence = set.values()
            set.notify(1)
            let first = Counter()
            let made = Counter()
            let consumers = Log<Task<Void, Never>>()

            await onThreads(4) { _ in
                let iterator = sequence.makeAsyncIterator()
                made.increment()
                consumers.append(
                    Task {
                        var iterator = iterator
                        if await iterator.next() == 1 { first.increment() }
                    })
            }
            #expect(made.value == 4)
            set.notify(2)
            for consumer in consumers.entries { await consumer.value }

            #expect(first.value == 1)
            #expect(set.isEmpty)
        }
    }

    /// Scenario 48: a consumer that is slower than the notifier.
    @Test("A bounded buffer keeps memory flat, however much is sent", .measuringMemory)
    func memoryIsFlat() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<[Int]>()
            let sequence = set.values(buffering: .newest(1))
            var sent = 0
            func send(_ count: Int) {
                for number in 0..<count { set.notify([number]) }
                sent += count
            }

            let growth = await AllocatedMemory.growth {
                send(10_000)
            } _: {
                send(many(1_000_000))
            }

            #expect(growth < 512 << 10)
            #expect(sequence.droppedCount == sent - 1)
        }
    }

    // The buffer is the standard library's, which does not shrink.
    @Test(
        "Memory for a burst of elements is freed with the iterator that has read them, at the latest", .measuringMemory)
    func burst() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Int>()
            func read(_ count: Int) async {
                var iterator = set.values().makeAsyncIterator()
                for number in 0..<count { set.notify(number) }
                for _ in 0..<count { _ = await iterator.next() }
            }

            let growth = await AllocatedMemory.growth {
                await read(1_000)
            } _: {
                await read(many(4_000_000))
            }

            // The memory for that many elements would be two and a half mebibytes.
            #expect(growth < 1 << 20)
        }
    }

    @Test("Sequences that come and go leave no memory behind", .measuringMemory)
    func churn() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<[Int]>()

            let growth = await AllocatedMemory.growth {
                await comeAndGo(set, 10_000)
            } _: {
                await comeAndGo(set, many(100_000))
            }

            #expect(growth < 1 << 20)
            #expect(set.isEmpty)
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

/// A source that counts the values that reach it, and passes them on.
private struct Counting: NotificationSource {
    let source: any NotificationSource<Int>
    let count: Counter

    func register(_ observer: Observer<Int>) -> ObserverToken {
        source.register(
            observer.adapted { [count] (value: Int) in
                count.increment()
                return value
            })
    }

    func settled() async { await source.settled() }
}

/// Makes sequences, uses some of them, and drops them.
private func comeAndGo(_ set: ObserverSet<[Int]>, _ count: Int) async {
    for number in 0..<count {
        let sequence = set.values(buffering: number % 2 == 0 ? .unbounded : .newest(2))
        set.notify([number])
        var iterator = sequence.makeAsyncIterator()
        if number % 3 == 0 { _ = await iterator.next() }
        if number % 5 == 0 { _ = sequence.makeAsyncIterator() }
    }
}
