import ObserverSet
import Testing

/// How sequences end, and what is released then.
@Suite("Ends of sequences", .lifetimesChecked, .againstHanging)
struct SequenceEndTests {}

extension SequenceEndTests {
    // MARK: The source ends it

    /// Sources that are made of a set of numbers, and send 2 to each observer.
    private static let derived: [@Sendable (ObserverSet<Int>) -> any NotificationSource<Int>] = [
        { $0 },
        { $0.map { $0 } },
        { $0.filter { $0 > 1 } },
        { $0.compactMap { $0 > 1 ? $0 : nil } },
        { $0.filter { $0 > 1 }.map { "\($0)" }.compactMap { Int($0) } },
        { Mapped(source: $0) { $0 } },
    ]

    @Test(
        "When its source ends it, a sequence delivers what is buffered and then stays at its end; it holds no set",
        arguments: SourceEnd.allCases)
    func sourceEndsIt(end: SourceEnd) async {
        for derive in Self.derived {
            var set: ObserverSet<Int>? = ObserverSet()
            weak let weakSet = set
            let sequence = derive(set!).values()
            let loop = Task { [sequence = derive(set!).values()] in await elements(of: sequence) }
            set?.notify(2)

            end.end(&set)

            expect((weakSet == nil), equals: (end == .setIsReleased))
            expect(set?.isEmpty != false)
            expect(await loop.value, equals: [2])
            expect(await elements(of: sequence), equals: [2])
            expect(await elements(of: sequence), equals: [])
        }
    }

    @Test("A sequence of `once` ends after one element, behind filters too")
    func once() async {
        let set = ObserverSet<Int>()
        let sequences = [set.once.values(), set.once.filter { $0 > 1 }.values(), set.filter { $0 > 1 }.once.values()]

        for value in 1...3 { set.notify(value) }

        expect(set.count, equals: 0)
        for (sequence, element) in zip(sequences, [1, 2, 2]) {
            expect(await elements(of: sequence), equals: [element])
        }
    }

    /// Scenario 68: a loop whose task is cancelled while elements are buffered.
    ///
    /// Source: ReactiveX/RxSwift#1778.
    @Test(
        "A loop in a cancelled task receives what is buffered, unless it looks first whether it is cancelled",
        arguments: [true, false])
    func cancelledWithElementsBuffered(looks: Bool) async {
        let set = ObserverSet<Int>()
        let stream = set.values()
        let received = Log<Int>()
        let (isCalled, mayGoOn) = (Signal(), Door())
        let task = Task {
            for await value in stream {
                if looks, Task.isCancelled { break }
                received.append(value)
                isCalled.set()
                await mayGoOn.pass()
            }
        }
        set.notify(1)
        await eventually { isCalled.isSet }
        for value in 2...200 { set.notify(value) }

        task.cancel()
        mayGoOn.open()
        await task.value

        expect(received.entries, equals: looks ? [1] : Array(1...200))
        #expect(set.isEmpty)
    }

    /// Scenario 50: the set is deallocated while it is notified.
    ///
    /// Source: swift#86719, #82774 (Observation misses an event), #82752 (leaks closures).
    @Test("A set that is released during its own notification still delivers it")
    func setDiesDuringItsNotification() async {
        let holder = Shared<ObserverSet<Int>?>(ObserverSet())
        _ = holder.value?.add { [holder] _ in holder.value = nil }
        let sequence = holder.value!.values()

        holder.value?.notify(1)

        expect(holder.value == nil)
        expect(await elements(of: sequence), equals: [1])
    }

    @Test("A source that registers no observer, or removes it before `register` returns, ends its sequence at once")
    func refused() async {
        let source = Hasty()

        expect(await elements(of: Deaf().values()), equals: [])
        expect(await Deaf().first() == nil)
        expect(await elements(of: source.values()), equals: [1])

        expect(source.set.count, equals: 0)
    }

    // MARK: Its task is cancelled

    /// Scenario 46: cancellation of a task that waits.
    @Test("When the task that waits is cancelled, its loop ends, and the observer has been removed")
    func cancelledWhileWaiting() async {
        let set = ObserverSet<Int>()
        for _ in 0..<200 {
            let isWaiting = Signal()
            let task = Task { [sequence = set.values()] in
                isWaiting.set()
                for await _ in sequence {}
                return set.isEmpty
            }
            await eventually { isWaiting.isSet }

            task.cancel()

            #expect(await task.value)
        }
    }

    /// Scenario 46: cancellation while elements are buffered.
    ///
    /// Whether these are still received is the standard library's decision.
    @Test("In a cancelled task a loop ends and the observer is removed; what is buffered is released with the sequence")
    func cancelledWithBuffer() async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let task = Task {
            do {
                let sequence = set.values()
                for value in 1...3 { set.notify(Tracked(value, in: lifetimes)) }
                cancelThisTask()
                for await _ in sequence {}
                expect(set.count, equals: 0)
                set.notify(Tracked(4, in: lifetimes))
                withExtendedLifetime(sequence) {}
            }
            return lifetimes.count
        }

        expect(await task.value, equals: 0)
    }

    // MARK: It is dropped

    /// Scenario 47: leaving the loop.
    ///
    /// Source: swift-foundation asyncMessageSequenceStopsObservationWhenDescoped.
    @Test("Leaving a loop does not end the sequence while it is held; dropping it removes the observer")
    func leavingALoop() async {
        let set = ObserverSet<Tracked>()
        do {
            let sequence = set.values()
            for value in 1...5 { set.notify(Tracked(value)) }
            for await value in sequence where value.value == 2 { break }
            expect(set.count, equals: 1)
            for await value in sequence where value.value == 4 { break }
            expect(Lifetimes.current.count, equals: 1)
            withExtendedLifetime(sequence) {}
        }

        expect(set.count, equals: 0)
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test(
        "An iterator goes on when the sequence that made it has been dropped, and a loop that is left removes the observer"
    )
    func sequenceDroppedFirst() async {
        let set = ObserverSet<Int>()
        do {
            var iterator = set.values().makeAsyncIterator()
            for value in 1...2 {
                set.notify(value)
                expect(await iterator.next(), equals: value)
            }
            expect(set.count, equals: 1)
        }
        expect(set.count, equals: 0)

        for await _ in set.starting(with: 1).values() { break }

        expect(set.count, equals: 0)
    }

    @Test("Sequences may be dropped inside a notification, by another observer, or unused, with what is buffered")
    func droppedInsideANotification() {
        let set = ObserverSet<Tracked>()
        let sequences = Shared<[AsyncStream<Tracked>]>([])
        _ = set.add { value in if value.value == 1 { sequences.value = [] } }
        sequences.value = [set.values(), set.values()]
        set.notify(Tracked(0))
        expect(Lifetimes.current.count, equals: 1)

        set.notify(Tracked(1))
        for _ in 0..<1_000 { _ = set.values() }

        expect([set.count, Lifetimes.current.count], equals: [1, 0])
    }

    // MARK: What a deinit may do

    /// Scenario 29: the `deinit` of a value that a buffer drops.
    @Test(
        "A value that a full buffer drops may use the set in its `deinit`",
        arguments: [.newest(1), .oldest(1)] as [Buffering])
    func droppedByAFullBuffer(buffering: Buffering) {
        let set = ObserverSet<Tracked>()
        let ends = Log<Int>()
        let sequence = set.values(buffering: buffering)

        for value in 1...3 { set.notify(Tracked(value) { [weak set] in use(set, ends) }) }

        expect(ends.entries, equals: [1, 1])
        withExtendedLifetime(sequence) {}
    }

    /// Scenario 29: the `deinit` of values that are still buffered at the end.
    @Test(
        "The `deinit` of a value that is buffered at the end, and of what a source captures, may use the set",
        arguments: SequenceEnd.allCases)
    func droppedAtTheEnd(end: SequenceEnd) async {
        var set: ObserverSet<Tracked>? = ObserverSet()
        let ends = Log<Int>()
        let capture = Shared<Tracked?>(Tracked { [weak set] in use(set, ends) })
        var sequence: AsyncStream<Tracked>? = set!
            .filter { [capture = capture.exchange(nil)] _ in capture?.isIntact == true }.values()
        for value in 1...3 { set?.notify(Tracked(value) { [weak set] in use(set, ends) }) }

        switch end {
        case .sequenceIsDropped: break
        case .taskIsCancelled:
            let task = Task { [sequence] in
                cancelThisTask()
                for await _ in sequence! {}
            }
            await task.value
        case .setIsReleased: set = nil
        case .observersAreRemoved: set?.removeAll()
        }
        sequence = nil
        // A task may have ended a moment before it releases the sequence.
        await eventually { ends.count == 4 }

        expect(ends.count, equals: 4)
        expect(set?.isEmpty != false)
    }
}

/// How a sequence with elements in its buffer comes to its end.
enum SequenceEnd: CaseIterable, Sendable {
    case sequenceIsDropped, taskIsCancelled, setIsReleased, observersAreRemoved
}

/// Uses a set in several ways, from this thread and from another one, and logs the number of its observers.
private func use<Parameters>(_ set: ObserverSet<Parameters>?, _ ends: Log<Int>) {
    guard let set else { return ends.append(0) }
    ends.append(set.count)
    set.addNonisolated { _ in }.remove()
    _ = set.values()
    join {
        set.addNonisolated { _ in }.remove()
        _ = set.values().makeAsyncIterator()
    }
}

/// A source that registers no observer.
private struct Deaf: NotificationSource {
    func register(_ observer: Observer<Int>) -> ObserverToken { ObserverToken([]) }
    func settled() async {}
}

/// A source whose `register` calls and removes the observer before it returns.
private struct Hasty: NotificationSource {
    let set = ObserverSet<Int>()

    func register(_ observer: Observer<Int>) -> ObserverToken {
        let token = set.register(observer)
        set.notify(1)
        token.remove()
        return token
    }

    func settled() async { await set.settled() }
}
