import ObserverSet
import Testing

/// A source as the standard library's stream.
@Suite("Streams", .lifetimesChecked, .againstHanging)
struct StreamTests {
    @Test("A stream receives values from its creation on, in order, and its `next()` does not throw")
    func liveFromCreation() async {
        let set = ObserverSet<Int>()
        set.notify(0)
        let stream = set.stream()
        #expect(set.count == 1)

        for value in 1...3 { set.notify(value) }
        var iterator = stream.makeAsyncIterator()
        set.notify(4)

        for value in 1...4 { #expect(await iterator.next() == value) }
    }

    @Test("A stream ends with its set, after what was sent, and stays ended", arguments: [false, true])
    func ends(bySet: Bool) async {
        var set: ObserverSet<Int>? = ObserverSet()
        let streams = [set!.stream(), set!.filter { $0 > 1 }.stream(), set!.once.stream()]
        weak let weakSet = set
        for value in 1...3 { set?.notify(value) }

        if bySet { set = nil } else { set?.removeAll() }

        #expect((weakSet == nil) == bySet)
        #expect(set?.isEmpty != false)
        for (stream, sent) in zip(streams, [[1, 2, 3], [2, 3], [1]]) {
            var received: [Int] = []
            for await value in stream { received.append(value) }
            for await value in stream { received.append(value) }
            #expect(received == sent)
        }
    }

    @Test("A task that waits for an element of a stream goes on when the set is released")
    func endsWhileWaiting() async {
        for _ in 0..<100 {
            var set: ObserverSet<Int>? = ObserverSet()
            let consumer = Task { [stream = set!.stream()] in
                var count = 0
                for await _ in stream { count += 1 }
                return count
            }
            if Bool.random() { await Task.yield() }
            set = nil
            #expect(await consumer.value == 0)
        }
    }

    @Test("A stream that is dropped ends its registration, and releases what is buffered")
    func dropped() async {
        let set = ObserverSet<Tracked>()
        do {
            let unused = set.stream()
            let stream = set.stream(buffering: .newest(2))
            for value in 1...5 { set.notify(Tracked(value)) }
            #expect(Lifetimes.current.count == 5)
            for await value in stream where value.value == 4 { break }
            #expect(set.count == 2)
            withExtendedLifetime((unused, stream)) {}
        }
        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
    }

    @Test("The cancellation of a task that waits for an element of a stream ends its registration")
    func cancelled() async {
        let set = ObserverSet<Int>()
        for _ in 0..<100 {
            let isWaiting = Signal()
            let task = Task { [stream = set.stream()] in
                isWaiting.set()
                for await _ in stream {}
                return set.isEmpty
            }
            await eventually { isWaiting.isSet }
            task.cancel()
            #expect(await task.value)
        }
        #expect(set.isEmpty)
    }

    @Test(
        "A full stream keeps the elements that its policy says",
        arguments: [
            (.unbounded, [1, 2, 3, 4, 5]), (.newest(2), [4, 5]), (.oldest(2), [1, 2]), (.restarting, [5]),
        ] as [(Buffering, [Int])])
    func fullStream(buffering: Buffering, expected: [Int]) async {
        let set = ObserverSet<Int>()
        let stream = set.stream(buffering: buffering)

        for value in 1...5 { set.notify(value) }
        set.removeAll()
        var received: [Int] = []
        for await value in stream { received.append(value) }

        #expect(received == expected)
    }

    @Test("Two streams of one set receive all elements each")
    func two() async {
        let set = ObserverSet<Int>()
        let streams = [set.stream(), set.stream()]
        for value in 1...3 { set.notify(value) }
        set.removeAll()
        for stream in streams {
            var received: [Int] = []
            for await value in stream { received.append(value) }
            #expect(received == [1, 2, 3])
        }
    }

    @Test("A description names the line that made the stream")
    func described() {
        let set = ObserverSet<Int>()
        let stream = set.stream(); let line = #line
        // Nobody counts what is taken from an `AsyncStream`, and so nobody knows what waits.
        set.notify(1)
        #expect(
            set.debugDescription.hasSuffix(
                "  closure, nonisolated, registered at ObserverSetTests/StreamTests.swift:\(line)"))
        withExtendedLifetime(stream) {}
    }

    @Test("A stream without room traps, and the message says what to do")
    func noRoom() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ObserverSet<Int>().stream(buffering: .newest(0))
        }
        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(message.contains("AsyncStream needs room for at least one element"))
        #expect(message.contains("use .newest(1) instead of .newest(0)"))
    }

    @Test("Nothing that is sent after a stream was made is lost, whenever a thread sends it")
    func racesAtTheBeginning() async {
        let set = ObserverSet<Int>()
        let sent = Counter()
        let isDone = Signal()
        let missed = Counter()
        let notifier = Task {
            await onThread { while !isDone.isSet { set.notify(sent.increment()) } }
        }

        for _ in 0..<many(8_000, long: 100_000) {
            var iterator = set.stream().makeAsyncIterator()
            // The notification after this one begins after the registration, so it must arrive.
            let before = sent.value
            if let first = await iterator.next(), first > before + 1 { missed.increment() }
        }
        isDone.set()
        await notifier.value

        #expect(missed.value == 0)
        await eventually { set.isEmpty }
        #expect(set.isEmpty)
    }

    @Test("A set may die, and a task be cancelled, at the same time as a notification reaches a stream")
    func threeAtOnce() async {
        for round in 0..<many(8_000, long: 100_000) {
            let holder = Shared<ObserverSet<Int>?>(ObserverSet())
            let task = Task { [stream = holder.value!.stream(buffering: .newest(1 + round % 2))] in
                for await value in stream { #expect(value == round) }
            }
            await onThreads(3) { thread in
                switch thread {
                case 0: holder.value = nil
                case 1: task.cancel()
                default: holder.value?.notify(round)
                }
            }
            await task.value
        }
    }
}
