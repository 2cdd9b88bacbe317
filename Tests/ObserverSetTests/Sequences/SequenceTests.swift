import Dispatch
import ObserverSet
import Testing

/// What a sequence delivers, and to which iterator.
@Suite("Sequences", .lifetimesChecked, .againstHanging)
struct SequenceTests {
    // MARK: What arrives

    /// Scenario 43: the first element.
    ///
    /// Source: swift-concurrency-extras#19, relay#1268, swift-foundation makeAsyncIteratorStartsObservation.
    @Test("A sequence receives values from its creation on, even before it is iterated over")
    func liveFromCreation() async {
        let set = ObserverSet<Int>()
        set.notify(0)
        let sequence = set.values()
        #expect(set.count == 1)

        set.notify(1)
        var iterator = sequence.makeAsyncIterator()
        set.notify(2)

        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == 2)
        #expect(set.count == 1)
        #expect(sequence.droppedCount == 0)
    }

    @Test("A thread's elements arrive in order, one at a time")
    func inOrder() async {
        let log = Log<Int>()
        var set: ObserverSet<Int>? = ObserverSet()
        let sequence = set!.values()
        let consumer = Task { for await value in sequence { log.append(value) } }

        await onThread { [set] in for value in 0..<1_000 { set?.notify(value) } }
        set = nil
        await consumer.value

        #expect(log.entries == Array(0..<1_000))
    }

    @Test("Elements from each of several threads arrive in that thread's order")
    func inOrderOfEachThread() async {
        let count = 1_000
        var set: ObserverSet<(thread: Int, number: Int)>? = ObserverSet()
        let sequence = set!.values()
        let consumer = Task {
            var next = [0, 0, 0, 0]
            var inversions = 0
            for await (thread, number) in sequence {
                if number != next[thread] { inversions += 1 }
                next[thread] = number + 1
            }
            return (next, inversions)
        }

        await onThreads(4) { [set] thread in
            for number in 0..<count { set?.notify((thread: thread, number: number)) }
        }
        set = nil
        let (next, inversions) = await consumer.value

        #expect(next == Array(repeating: count, count: 4))
        #expect(inversions == 0)
    }

    /// Scenario 45: what a full buffer does.
    ///
    /// Source: swift-async-algorithms#383, NotificationCenterMessageTests asyncMessageSequenceBuffer.
    @Test(
        "A full buffer keeps the elements that its policy says, and counts the dropped ones",
        arguments: [
            (.unbounded, [1, 2, 3, 4, 5], 0),
            (.newest(2), [4, 5], 3), (.newest(1), [5], 4), (.newest(5), [1, 2, 3, 4, 5], 0),
            (.newest(.max), [1, 2, 3, 4, 5], 0),
            (.oldest(2), [1, 2], 3), (.oldest(1), [1], 4), (.oldest(5), [1, 2, 3, 4, 5], 0),
            (.oldest(.max), [1, 2, 3, 4, 5], 0),
        ] as [(Buffering, [Int], Int)])
    func fullBuffer(buffering: Buffering, expected: [Int], dropped: Int) async {
        var set: ObserverSet<Int>? = ObserverSet()
        let sequence = set!.values(buffering: buffering)

        for value in 1...5 { set?.notify(value) }
        #expect(sequence.droppedCount == dropped)
        set = nil
        var iterator = sequence.makeAsyncIterator()
        var received: [Int] = []
        while let value = await iterator.next() { received.append(value) }

        #expect(received == expected)
        #expect(iterator.droppedCount == dropped)
        #expect(sequence.droppedCount == dropped)
    }

    @Test("A buffer counts the elements that have passed a filter, and not what was notified")
    func filteredBuffer() async {
        let set = ObserverSet<Int>()
        let newest = set.filter { $0 % 2 == 0 }.values(buffering: .newest(2))
        let oldest = set.compactMap { $0 % 2 == 0 ? $0 * 10 : nil }.values(buffering: .oldest(2))

        for value in 1...10 { set.notify(value) }
        set.removeAll()

        var received: [Int] = []
        for await value in newest { received.append(value) }
        for await value in oldest { received.append(value) }
        #expect(received == [8, 10, 20, 40])
        #expect(newest.droppedCount == 3)
        #expect(oldest.droppedCount == 3)
    }

    @Test("A buffer that has been emptied has room again")
    func roomAgain() async {
        let set = ObserverSet<Int>()
        var iterator = set.values(buffering: .oldest(1)).makeAsyncIterator()

        for value in 1...3 { set.notify(value) }
        #expect(await iterator.next() == 1)
        for value in 4...6 { set.notify(value) }
        #expect(await iterator.next() == 4)

        #expect(iterator.droppedCount == 4)
    }

    @Test("Parameters of every shape arrive as they are")
    func shapes() async {
        let void = ObserverSet<Void>()
        let optional = ObserverSet<Int?>()
        let labelled = ObserverSet<(name: String, index: Int)>()
        let object = ObserverSet<Tracked>()
        var voids = void.values().makeAsyncIterator()
        var optionals = optional.values().makeAsyncIterator()
        var tuples = labelled.values().makeAsyncIterator()
        var objects = object.values().makeAsyncIterator()

        void.notify()
        optional.notify(nil)
        optional.notify(1)
        labelled.notify((name: "So What", index: 0))
        object.notify(Tracked(7))

        #expect(await voids.next() != nil)
        #expect(await optionals.next() == .some(nil))
        #expect(await optionals.next() == .some(1))
        #expect(await tuples.next()?.name == "So What")
        #expect(await objects.next()?.value == 7)
        #expect(Lifetimes.current.count == 0)
    }

    // MARK: Iterators

    /// Scenario 44: two iterators of one sequence.
    ///
    /// Source: swift#66541, #71412, #76547; swift-async-algorithms TestShare.swift.
    @Test("The first iterator takes the live registration, each further one begins its own")
    func twoIterators() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        set.notify(1)

        var first = sequence.makeAsyncIterator()
        #expect(set.count == 1)
        var second = sequence.makeAsyncIterator()
        #expect(set.count == 2)
        set.notify(2)
        set.notify(3)

        #expect([await first.next(), await first.next(), await first.next()] == [1, 2, 3])
        #expect([await second.next(), await second.next()] == [2, 3])
    }

    /// Scenario 44 in two tasks.
    ///
    /// Source: as before.
    @Test("Two loops over one sequence both get every element")
    func twoLoops() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let sequence = set!.values()
        let consumers = (0..<2).map { _ in
            Task {
                var received: [Int] = []
                for await value in sequence { received.append(value) }
                return received
            }
        }
        // Wait until the second loop has registered, too.
        await eventually { set?.count == 2 }

        for value in 0..<100 { set?.notify(value) }
        set = nil

        for consumer in consumers { #expect(await consumer.value == Array(0..<100)) }
    }

    @Test("An iterator made after another one was dropped begins anew")
    func oneAfterTheOther() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        set.notify(1)
        do {
            var iterator = sequence.makeAsyncIterator()
            #expect(await iterator.next() == 1)
        }
        #expect(set.isEmpty)
        set.notify(2)

        var iterator = sequence.makeAsyncIterator()
        #expect(set.count == 1)
        set.notify(3)

        #expect(await iterator.next() == 3)
    }

    @Test("Dropped elements are counted for each iterator, and in total for the sequence")
    func dropsOfEach() async {
        let set = ObserverSet<Int>()
        let sequence = set.values(buffering: .newest(1))
        let first = sequence.makeAsyncIterator()
        set.notify(1)
        set.notify(2)
        let second = sequence.makeAsyncIterator()
        set.notify(3)
        set.notify(4)

        #expect(first.droppedCount == 3)
        #expect(second.droppedCount == 1)
        #expect(sequence.droppedCount == 4)
    }

    @Test("A thousand iterators that wait are each woken once by an element")
    func thousandIterators() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let woken = Counter()
        let consumers = (0..<1_000).map { _ in
            let sequence = set!.values()
            return Task {
                var received: [Int] = []
                for await value in sequence {
                    woken.increment()
                    received.append(value)
                }
                return received
            }
        }
        #expect(set?.count == 1_000)

        for value in 1...3 {
            set?.notify(value)
            await eventually { woken.value == 1_000 * value }
            #expect(woken.value == 1_000 * value)
        }
        set = nil

        for consumer in consumers { #expect(await consumer.value == [1, 2, 3]) }
        #expect(woken.value == 3_000)
    }

    // MARK: Sources

    @Test("A custom source has sequences too, which end with the underlying set")
    func ownSource() async {
        var lines: ObserverSet<String>? = ObserverSet()
        var iterator = LineLengths(lines: lines!).values().makeAsyncIterator()
        #expect(lines?.count == 1)

        lines?.notify("So What")
        lines?.notify("")
        lines?.notify("Blue in Green")
        lines = nil

        #expect(await iterator.next() == 7)
        #expect(await iterator.next() == 13)
        #expect(await iterator.next() == nil)
    }

    @Test("A sequence of an existential or opaque source behaves like that of the set behind it")
    func erasedSources() async {
        weak var weakSet: ObserverSet<Int>?
        let sequences: [NotificationSequence<Int>]
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            let existential: any NotificationSource<Int> = set
            let opaque: some NotificationSource<Int> = set
            sequences = [existential.values(), opaque.values()]
            set.notify(1)
        }
        #expect(weakSet == nil)

        for sequence in sequences {
            var iterator = sequence.makeAsyncIterator()
            #expect(await iterator.next() == 1)
            #expect(await iterator.next() == nil)
            var another = sequence.makeAsyncIterator()
            #expect(await another.next() == nil)
        }
    }

    @Test("A description names the line that made the sequence")
    func described() async {
        let set = ObserverSet<Int>()
        let sequence = set.values(); let line = #line
        #expect(set.debugDescription.contains("SequenceTests.swift:\(line)"))

        let first = sequence.makeAsyncIterator()
        let second = sequence.makeAsyncIterator()

        #expect(set.debugDescription.hasSuffix("SequenceTests.swift:\(line) × 2"))
        withExtendedLifetime((first, second)) {}
    }

    @Test(
        "A description shows how many elements wait in a sequence", arguments: [.unbounded, .newest(3)] as [Buffering])
    func describedWaiting(buffering: Buffering) async {
        let set = ObserverSet<Int>()
        let sequence = set.values(buffering: buffering)
        func waits(_ waiting: String) -> Bool {
            set.debugDescription.contains("  closure, nonisolated\(waiting), registered at ")
        }
        #expect(waits(""))

        set.notify(1)
        #expect(waits(", 1 waiting"))
        var iterator = sequence.makeAsyncIterator()
        for value in 2...5 { set.notify(value) }
        #expect(waits(buffering == .unbounded ? ", 5 waiting" : ", 3 waiting"))
        let next = await iterator.next()
        #expect(next == (buffering == .unbounded ? 1 : 3))
        #expect(waits(buffering == .unbounded ? ", 4 waiting" : ", 2 waiting"))
        while !waits("") { _ = await iterator.next() }
    }

    @Test("A description shows how many elements wait in a bounded sequence, or in one that is adapted")
    func describedWaitingInOtherSequences() {
        let set = ObserverSet<Int>()
        let counting = set.values(buffering: .newest(2))
        let adapted = set.map { $0 }.values()
        let only = set.once.values()

        for value in 1...3 { set.notify(value) }

        let lines = set.debugDescription.split(separator: "\n").dropFirst()
        #expect(lines.map { $0.contains(", 2 waiting, ") } == [true, false])
        #expect(lines.map { $0.contains(", 3 waiting, ") } == [false, true])
        withExtendedLifetime((counting, adapted, only)) {}
    }

    // MARK: Isolation

    @Test("A loop on the main actor stays there")
    @MainActor
    func onTheMainActor() async {
        var set: ObserverSet<Int>? = ObserverSet()
        var received: [Int] = []
        let sequence = set!.values()
        set?.notify(1)
        set?.notify(2)
        set = nil

        for await value in sequence {
            MainActor.assertIsolated()
            received.append(value)
        }

        #expect(received == [1, 2])
    }

    @Test("An actor may keep an iterator, and use it in its own isolation")
    func keptByAnActor() async {
        let set = ObserverSet<Int>()
        let reader = Reader(set.values())
        set.notify(1)
        set.notify(2)

        #expect(await reader.read() == 1)
        #expect(await reader.readInPlace() == 2)
    }

    @Test("An iterator may be handed to a task that then owns it")
    func handedOver() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        set.notify(1)

        let iterator = sequence.makeAsyncIterator()
        let task = Task {
            var iterator = iterator
            return await iterator.next()
        }

        #expect(await task.value == 1)
    }

    // MARK: One element

    @Test("`first()` returns the next notification, and ends its registration")
    func first() async {
        let set = ObserverSet<Int>()
        set.notify(0)
        let task = Task { await set.first() }
        await eventually { set.count == 1 }

        set.notify(1)
        set.notify(2)

        #expect(await task.value == 1)
        #expect(set.isEmpty)
    }

    @Test("`first()` listens before it first suspends, on the main actor too")
    @MainActor
    func firstOnTheMainActor() async {
        let set = ObserverSet<Int>()
        let main = Task { @MainActor in
            await Task.yield()
            #expect(set.count == 1)
            set.notify(1)
        }

        #expect(await set.first() == 1)
        await main.value
    }

    @Test("`first()` returns nil when its task is cancelled")
    func firstCancelled() async {
        let set = ObserverSet<Int>()
        let task = Task { await set.first() }
        await eventually { set.count == 1 }

        task.cancel()

        #expect(await task.value == nil)
        #expect(set.isEmpty)
    }

    @Test("`first()` returns nil when the set dies, and does not keep the set alive while it waits")
    func firstOfTheDead() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let task = Task { [weak set] in await set?.first() }
        await eventually { set?.count == 1 }
        #expect(set?.count == 1)

        set = nil

        #expect(await task.value == nil)
    }

    @Test("`first()` returns nil when all observers are removed")
    func firstRemoved() async {
        let set = ObserverSet<Int>()
        let task = Task { await set.first() }
        await eventually { set.count == 1 }

        set.removeAll()

        #expect(await task.value == nil)
    }

    @Test("A sequence that is made with `.restarting` keeps the newest value")
    func restarting() async {
        let set = ObserverSet<Int>()
        var values = set.values(buffering: .restarting).makeAsyncIterator()

        for value in 1...3 { set.notify(value) }

        #expect(await values.next() == 3)
    }
}

/// A source that passes on the length of each line of another source, except for empty lines.
struct LineLengths: NotificationSource {
    let lines: any NotificationSource<String>

    func register(_ observer: Observer<Int>) -> ObserverToken {
        lines.register(observer.adapted { line in line.isEmpty ? nil : line.count })
    }

    func settled() async { await lines.settled() }
}

/// An actor that keeps an iterator.
private actor Reader {
    private var iterator: NotificationSequence<Int>.Iterator?

    init(_ sequence: NotificationSequence<Int>) {
        iterator = sequence.makeAsyncIterator()
    }

    func read() async -> Int? {
        var iterator = self.iterator
        return await iterator?.next()
    }

    func readInPlace() async -> Int? {
        var iterator = self.iterator
        return await iterator?.next(isolation: self)
    }
}
