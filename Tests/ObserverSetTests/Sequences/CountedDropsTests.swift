import Foundation
import ObserverSet
import Testing

/// Sequences whose elements say how many values were dropped before them.
@Suite("Sequences that count drops", .lifetimesChecked, .againstHanging)
struct CountedDropsTests {
    private typealias Kept = Buffering.Kept<Int>

    @Test(
        "The number of dropped values comes with the first value that was kept after them",
        arguments: [
            (.unbounded, [1: 0, 2: 0, 3: 0, 4: 0, 5: 0]),
            (.newest(1), [5: 4]), (.newest(2), [4: 3, 5: 0]), (.newest(5), [1: 0, 2: 0, 3: 0, 4: 0, 5: 0]),
            (.restarting, [5: 4]),
            (.oldest(1), [1: 0]), (.oldest(2), [1: 0, 2: 0]), (.oldest(9), [1: 0, 2: 0, 3: 0, 4: 0, 5: 0]),
        ] as [(Buffering, KeyValuePairs<Int, Int>)])
    func fullBuffer(buffering: Buffering, expected: KeyValuePairs<Int, Int>) async {
        let set = ObserverSet<Int>()
        let sequence = set.countingDrops.values(buffering: buffering)
        let stream = set.countingDrops.stream(buffering: buffering)

        for value in 1...5 { set.notify(value) }
        set.removeAll()
        var received: [Kept] = []
        for await kept in sequence { received.append(kept) }
        var streamed: [Kept] = []
        for await kept in stream { streamed.append(kept) }

        for kept in [received, streamed] {
            #expect(kept.map(\.value) == expected.map(\.key))
            #expect(kept.map(\.droppedBefore) == expected.map(\.value), "and none after the end")
        }
        #expect(sequence.droppedCount == 5 - expected.count)
    }

    @Test("With `.newest`, the number is before the oldest value that was kept, after the newest that was delivered")
    func newest() async {
        let set = ObserverSet<Int>()
        var iterator = set.countingDrops.values(buffering: .newest(2)).makeAsyncIterator()
        set.notify(1)
        #expect(await iterator.next().map(pair) == [1, 0])

        for value in 2...5 { set.notify(value) }
        #expect(await iterator.next().map(pair) == [4, 2])
        set.notify(6)
        #expect(await iterator.next().map(pair) == [5, 0])
        for value in 7...9 { set.notify(value) }
        #expect(await iterator.next().map(pair) == [8, 2])
        #expect(await iterator.next().map(pair) == [9, 0])
        #expect(iterator.droppedCount == 4)
    }

    @Test("With `.oldest`, the number is before the value that found room again")
    func oldest() async {
        let set = ObserverSet<Int>()
        var iterator = set.countingDrops.values(buffering: .oldest(2)).makeAsyncIterator()
        for value in 1...5 { set.notify(value) }
        #expect(await iterator.next().map(pair) == [1, 0])
        set.notify(6)
        set.notify(7)

        #expect(await iterator.next().map(pair) == [2, 0])
        #expect(await iterator.next().map(pair) == [6, 3])
        set.notify(8)
        #expect(await iterator.next().map(pair) == [8, 1])
        #expect(iterator.droppedCount == 4)
    }

    @Test("Each iterator has numbers of its own")
    func ofEach() async {
        let set = ObserverSet<Int>()
        let sequence = set.countingDrops.values(buffering: .newest(1))
        var first = sequence.makeAsyncIterator()
        set.notify(1)
        set.notify(2)
        var second = sequence.makeAsyncIterator()
        #expect(await first.next().map(pair) == [2, 1])
        for value in 3...5 { set.notify(value) }

        #expect(await first.next().map(pair) == [5, 2])
        #expect(await second.next().map(pair) == [5, 2])
        #expect(sequence.droppedCount == 5)
    }

    @Test("What a filter skips is not counted, whether it is in front or behind")
    func filtered() async {
        let set = ObserverSet<Int>()
        let inFront = set.filter { $0 % 2 == 0 }.map { $0 }.countingDrops.values(buffering: .newest(2))
        let behind = set.countingDrops.filter { $0.value % 2 == 0 }.values(buffering: .newest(2))
        let all = set.once.countingDrops.values(buffering: .newest(2))

        for value in 1...10 { set.notify(value) }
        set.removeAll()

        for sequence in [inFront, behind] {
            var received: [[Int]] = []
            for await kept in sequence { received.append(pair(kept)) }
            #expect(received == [[8, 3], [10, 0]])
            #expect(sequence.droppedCount == 3)
        }
        for await kept in all { #expect(pair(kept) == [1, 0]) }
    }

    @Test("A loop that waits is woken by each value, and ends with its set")
    func waiting() async {
        let set = ObserverSet<Int>()
        let log = Log<[Int]>()
        let loop = Task { [values = set.countingDrops.values(buffering: .newest(1))] in
            for await kept in values { log.append(pair(kept)) }
        }
        for value in 1...100 {
            set.notify(value)
            await eventually { log.count == value }
        }
        set.removeAll()
        await loop.value
        #expect(log.entries == (1...100).map { [$0, 0] })
    }

    @Test("Two loops that wait for elements of one stream receive every element, one of them each")
    func twoLoops() async {
        for _ in 0..<many(2_000) {
            let set = ObserverSet<Int>()
            let log = Log<Int>()
            let stream = set.countingDrops.stream(buffering: .newest(10))
            let loops = (0..<2).map { _ in
                Task {
                    var iterator = stream.makeAsyncIterator()
                    // Each stops after its element: none may be left to the other one's next turn.
                    if let kept = await iterator.next() { log.append(kept.value) }
                }
            }
            await onThread {
                set.notify(1)
                set.notify(2)
            }
            for loop in loops { await loop.value }
            #expect(log.entries.sorted() == [1, 2])
        }
    }

    @Test("A cancelled loop ends at once, and its registration is gone", arguments: [false, true])
    func cancelled(isStream: Bool) async {
        let set = ObserverSet<Tracked>()
        let task = Task {
            if isStream {
                for await _ in set.countingDrops.stream(buffering: .newest(2)) {}
            } else {
                for await _ in set.countingDrops.values(buffering: .newest(2)) {}
            }
        }
        await eventually { set.count == 1 }
        task.cancel()
        await task.value
        // A stream may still be ending it, on the thread that cancelled.
        await eventually { set.isEmpty }
        #expect(set.isEmpty)
    }

    @Test("Dropped values are released at once, buffered ones with the sequence; their `deinit` may use the set")
    func released() async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let ends = Counter()
        do {
            let sequence = set.countingDrops.values(buffering: .newest(2))
            let stream = set.countingDrops.stream(buffering: .oldest(2))
            for value in 1...6 {
                set.notify(
                    Tracked(value, in: lifetimes) { [weak set] in
                        set?.addNonisolated { _ in }.remove()
                        ends.increment()
                    })
            }
            #expect(ends.value == 2)
            #expect(lifetimes.count == 4)
            withExtendedLifetime((sequence, stream)) {}
        }
        #expect(set.isEmpty)
        #expect(ends.value == 6)
    }

    /// Scenario 49: no element is lost without being counted.
    ///
    /// Source: tokio loom_broadcast.rs (drop_rx, broadcast_wrap: received + lagged == sent).
    @Test(
        "The number before each element is exactly that of the missing ones, whichever side is faster",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)] as [Buffering])
    func exact(buffering: Buffering) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<many(400, long: 20_000) {
            let sent = 1 + random.below(200)
            let paces = (0..<2).map { _ in random.next() }
            let set = ObserverSet<Int>()
            let sequence = set.countingDrops.values(buffering: buffering)
            let iterators = Counter()
            let consumers = paces.map { pace in
                Task {
                    var pace = SeededGenerator(seed: pace)
                    var wrong = 0
                    var last = 0
                    var iterator = sequence.makeAsyncIterator()
                    iterators.increment()
                    while let kept = await iterator.next() {
                        if kept.droppedBefore != kept.value - last - 1 { wrong += 1 }
                        last = kept.value
                        for _ in 0..<pace.below(3) { await Task.yield() }
                    }
                    return (wrong, last, iterator.droppedCount)
                }
            }
            await eventually { iterators.value == paces.count }

            await onThread {
                for value in 1...sent {
                    set.notify(value)
                    if value % 7 == 0 { Thread.yield() }
                }
            }
            set.removeAll()

            for consumer in consumers {
                let (wrong, last, dropped) = await consumer.value
                #expect(wrong == 0, "seed \(seed)")
                switch buffering {
                case .oldest: #expect(dropped >= sent - last, "what is dropped at the end is not before any element")
                default: #expect(last == sent, "seed \(seed)")
                }
            }
        }
    }

    @Test(
        "The elements and the numbers before them add up to what several threads sent",
        arguments: [.newest(1), .newest(3)] as [Buffering])
    func exactOfSeveral(buffering: Buffering) async {
        for _ in 0..<many(400, long: 50_000) {
            let set = ObserverSet<Int>()
            let consumer = Task { [sequence = set.countingDrops.values(buffering: buffering)] in
                var sum = 0
                for await kept in sequence { sum += 1 + kept.droppedBefore }
                return sum
            }
            await eventually { set.count == 1 }
            await onThreads(3) { thread in for number in 0..<50 { set.notify(number) } }
            set.removeAll()
            #expect(await consumer.value == 150)
        }
    }
}

/// The value and the number before it, to compare.
private func pair(_ kept: Buffering.Kept<Int>) -> [Int] { [kept.value, kept.droppedBefore] }
