import ObserverSet
import Testing

/// What a sequence of a source's values delivers, and to whom.
@Suite("Sequences", .lifetimesChecked, .againstHanging)
struct SequenceTests {}

extension SequenceTests {
    // MARK: What arrives

    /// Scenario 43: the first element.
    ///
    /// Source: swift-concurrency-extras#19, relay#1268, swift-foundation makeAsyncIteratorStartsObservation.
    @Test("A sequence receives values from the moment `values()` returns, even before anyone iterates over it")
    func liveFromCreation() async {
        let set = ObserverSet<Int>()
        set.notify(0)
        let sequence = set.values()
        expect(set.count, equals: 1)

        set.notify(1)
        var iterator = sequence.makeAsyncIterator()
        set.notify(2)

        expect(await iterator.next(), equals: 1)
        expect(await iterator.next(), equals: 2)
        expect(set.count, equals: 1)
    }

    /// Scenario 45: what a full buffer does.
    ///
    /// Source: swift-async-algorithms#383, NotificationCenterMessageTests asyncMessageSequenceBuffer.
    @Test(
        "A full buffer keeps the elements that its policy says, and a description shows how many were dropped",
        arguments: [
            (.unbounded, [1, 2, 3, 4, 5]),
            (.newest(2), [4, 5]), (.newest(1), [5]), (.newest(5), [1, 2, 3, 4, 5]), (.newest(.max), [1, 2, 3, 4, 5]),
            (.oldest(2), [1, 2]), (.oldest(1), [1]), (.oldest(5), [1, 2, 3, 4, 5]), (.oldest(.max), [1, 2, 3, 4, 5]),
            (.latest, [5]),
        ] as [(Buffering, [Int])])
    func fullBuffer(buffering: Buffering, expected: [Int]) async {
        let set = ObserverSet<Int>()
        let sequence = set.values(buffering: buffering)

        for value in 1...5 { set.notify(value) }

        expect(dropped(by: set), equals: 5 - expected.count)
        set.removeAll()
        expect(await elements(of: sequence), equals: expected)
    }

    @Test("A buffer counts the elements that have passed a filter, and a description says which line made the sequence")
    func filteredBuffer() async {
        let set = ObserverSet<Int>()
        let newest = set.filter { $0 % 2 == 0 }.values(buffering: .newest(2)); let line = #line
        let site = "registered at ObserverSetTests/SequenceTests.swift:\(line)"
        #expect(set.debugDescription.hasSuffix("  closure, nonisolated, \(site)"))
        for value in 1...10 { set.notify(value) }
        #expect(set.debugDescription.hasSuffix("  closure, nonisolated, 3 dropped, \(site)"))

        set.removeAll()
        expect(await elements(of: newest), equals: [8, 10])
    }

    // MARK: Loops

    /// Scenario 44: two loops over one sequence.
    ///
    /// Source: swift#66541, #71412, #76547; swift-async-algorithms TestShare.swift.
    @Test("Loops over one sequence share its elements; each loop over a sequence of its own receives all of them")
    func loops() async {
        let set = ObserverSet<Int>()
        let shared = set.values()
        let loops = [shared, shared, set.values(), set.values()].map { sequence in
            Task { await elements(of: sequence) }
        }
        expect(set.count, equals: 3)

        for value in 1...100 { set.notify(value) }
        set.removeAll()

        let received = [await loops[0].value, await loops[1].value]
        expect((received[0] + received[1]).sorted(), equals: Array(1...100))
        for elements in received { expect(elements, equals: elements.sorted()) }
        for loop in loops[2...] { expect(await loop.value, equals: Array(1...100)) }
    }

    // MARK: Bad input

    @Test("A buffer without room traps, and the message says what to do")
    func noRoom() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = ObserverSet<Int>().values(buffering: .oldest(.min))
        }

        let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let advice = "use .oldest(1) instead of .oldest(\(Int.min))"
        #expect(message.contains("AsyncStream needs room for at least one element; \(advice)"))
    }

    // MARK: One element

    @Test("`first()` registers before it first suspends, returns the next notification, and removes its observer")
    @MainActor
    func first() async {
        let set = ObserverSet<Int>()
        set.notify(0)
        let main = Task { @MainActor in
            expect(set.count, equals: 1)
            for value in 1...2 { set.notify(value) }
        }

        expect(await set.first(), equals: 1)
        await main.value
        expect(set.count, equals: 0)
    }

    @Test(
        "`first()` returns nil when its task is cancelled while it waits or before, even where there is a value at once"
    )
    func firstCancelled() async {
        let set = ObserverSet<Int>()
        let cancelled = Task {
            cancelThisTask()
            return [await set.first(), await set.starting(with: 1).first()]
        }
        expect(await cancelled.value, equals: [nil, nil])
        let waiting = Task { await set.first() }
        await eventually { set.count == 1 }

        waiting.cancel()

        expect(await waiting.value, equals: nil)
        expect(set.count, equals: 0)
    }

    @Test(
        "`first()` returns nil when the source ends its registration, and keeps no set alive",
        arguments: SourceEnd.allCases)
    func firstEnded(end: SourceEnd) async {
        var set: ObserverSet<Int>? = ObserverSet()
        weak let weakSet = set
        let tasks = [
            Task { [weak set] in await set?.first() },
            Task { [weak set] in await set?.map { $0 + 1 }.filter { $0 == 0 }.first() },
        ]
        await eventually { set?.count == 2 }
        set?.notify(1)
        expect(await tasks[0].value, equals: 1)

        end.end(&set)

        expect(await tasks[1].value == nil)
        expect(weakSet == nil || end == .observersAreRemoved)
    }
}

/// How many elements the sequences of a set have dropped together, as its description shows.
func dropped<Parameters>(by set: ObserverSet<Parameters>) -> Int {
    set.debugDescription.matches(of: /(\d+) dropped/).reduce(0) { $0 + Int($1.1)! }
}

/// Cancels the task that calls it.
func cancelThisTask() { unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() } }
