import Dispatch
import Foundation
import ObserverSet
import Testing

/// How sequences end, and what is released then.
@Suite("Ends of sequences", .lifetimesChecked, .againstHanging)
struct SequenceEndTests {
    // MARK: The source releases its observers

    @Test("A sequence of a source for one call ends with its first element")
    func sequence() async {
        let set = ObserverSet<Int>()
        let values = set.once.values()
        set.notify(1)
        set.notify(2)
        var received: [Int] = []
        for await value in values { received.append(value) }
        for await value in values { received.append(value) }
        #expect(received == [1])
        #expect(set.isEmpty)
    }

    @Test("When the set dies, a sequence delivers its buffered elements, and then ends")
    func setDies() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let sequence = set!.values()
        for value in 1...3 { set?.notify(value) }

        set = nil
        var iterator = sequence.makeAsyncIterator()

        #expect([await iterator.next(), await iterator.next(), await iterator.next()] == [1, 2, 3])
        #expect(await iterator.next() == nil)
        #expect(await iterator.next() == nil, "an ended sequence stays at its end")
        #expect(iterator.droppedCount == 0)
    }

    @Test("An iterator that waits ends when the set dies")
    func setDiesWhileWaiting() async {
        for _ in 0..<100 {
            var set: ObserverSet<Int>? = ObserverSet()
            let consumer = Task { [sequence = set!.values()] in
                var count = 0
                for await _ in sequence { count += 1 }
                return count
            }
            if Bool.random() { await Task.yield() }
            set = nil

            #expect(await consumer.value == 0)
        }
    }

    @Test("`removeAll` ends a sequence as the set's death does: after what was sent, and for every further iterator")
    func removedAll() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        set.notify(1)
        set.removeAll()
        set.notify(2)

        var received: [[Int]] = []
        for _ in 0..<3 {
            var values: [Int] = []
            for await value in sequence { values.append(value) }
            received.append(values)
        }

        #expect(received == [[1], [], []])
        #expect(set.isEmpty)
    }

    @Test("A sequence that `removeAll` has ended for two iterators is ended for a third one")
    func removedAllOfTwo() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        var iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
        set.removeAll()
        #expect(await iterators[1].next() == nil)

        iterators.append(sequence.makeAsyncIterator())

        #expect(set.isEmpty)
        #expect(await iterators[2].next() == nil)
        #expect(await iterators[0].next() == nil)
    }

    @Test(
        "A sequence has ended when `removeAll` returns, even if a notification in progress keeps its observer",
        arguments: FirstIterator.allCases)
    func removedDuringANotification(first: FirstIterator) async {
        let set = ObserverSet<Int>()
        let (isCalled, mayReturn) = (Signal(), Signal())
        set.addNonisolated { _ in
            isCalled.set()
            mayReturn.wait()
        }
        let sequence = set.values()
        var iterators = [sequence.makeAsyncIterator()]
        // Dropped again: the sequence may not go by the registration that was made last.
        _ = sequence.makeAsyncIterator()
        let notifying = Task { await onThread { set.notify(1) } }
        await eventually { isCalled.isSet }

        set.removeAll()
        if first == .isDropped { iterators = [] }
        var further = sequence.makeAsyncIterator()

        #expect(set.isEmpty)
        #expect(await further.next() == nil)
        mayReturn.set()
        await notifying.value
        if first == .isKept { #expect(await iterators[0].next() == nil) }
    }

    @Test("A sequence whose registration has ended with its loop is not ended by `removeAll`")
    func removedAfterTheLoop() async {
        let set = ObserverSet<Int>()
        let sequence = set.values()
        set.notify(1)
        for await _ in sequence { break }
        set.removeAll()

        var iterator = sequence.makeAsyncIterator()
        set.notify(2)

        #expect(await iterator.next() == 2)
    }

    @Test("`removeAll` ends the loops over sources made from the set, after the values already sent")
    func removedAllOfAPublishedSource() async {
        let set = ObserverSet<Int>()
        let published: [any NotificationSource<Int>] = [set, set.map { 10 * $0 }, set.filter { $0 > 0 }]
        var iterators = published.map { $0.values().makeAsyncIterator() }
        var twice = Twice(set: set).values().makeAsyncIterator()

        set.notify(1)
        set.removeAll()

        for (index, value) in [1, 10, 1].enumerated() {
            #expect(await iterators[index].next() == value)
            #expect(await iterators[index].next() == nil)
        }
        #expect(await twice.next() == 1)
        #expect(await twice.next() == 1)
        #expect(await twice.next() == nil)
    }

    /// Registers each observer in two places.
    private struct Twice: NotificationSource {
        let set: ObserverSet<Int>

        func register(_ observer: Observer<Int>) -> ObserverToken {
            ObserverToken([set.register(observer), set.register(observer)])
        }

        func settled() async { await set.settled() }
    }

    /// Scenario 50: the set is deallocated while it is notified.
    ///
    /// Source: swift#86719, #82774 (Observation misses an event), #82752 (leaks closures).
    @Test("A set that dies during its own notification still delivers it")
    func setDiesDuringItsNotification() async {
        let holder = Shared<ObserverSet<Int>?>(ObserverSet())
        holder.value?.add { [holder] _ in holder.value = nil }
        var iterator = holder.value!.values().makeAsyncIterator()

        holder.value?.notify(1)

        #expect(holder.value == nil)
        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == nil)
    }

    @Test("Neither a sequence nor its iterators keep the set alive")
    func setIsNotKept() async {
        weak var weakSet: ObserverSet<Int>?
        let sequence: NotificationSequence<Int>
        var iterators: [NotificationSequence<Int>.Iterator] = []
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            sequence = set.values()
            iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
        }

        #expect(weakSet == nil)
        var ofTheDead = sequence.makeAsyncIterator()
        #expect(await ofTheDead.next() == nil)
        #expect(ofTheDead.droppedCount == 0)
        #expect(iterators.count == 2)
    }

    @Test("A sequence of a source that is a value keeps the source alive; an iterator does not")
    func valueIsKept() async {
        weak var weakSet: ObserverSet<String>?
        var sequence: NotificationSequence<Int>?
        do {
            let set = ObserverSet<String>()
            weakSet = set
            sequence = LineLengths(lines: set).values()
        }
        #expect(weakSet != nil)
        var first = sequence!.makeAsyncIterator()
        var second = sequence!.makeAsyncIterator()
        weakSet?.notify("four")

        sequence = nil

        #expect(weakSet == nil)
        #expect(await first.next() == 4)
        #expect(await first.next() == nil)
        #expect(await second.next() == 4)
        #expect(await second.next() == nil)
    }

    /// Sources that are made of a set of numbers, and send those above 1, or all.
    private static let derived: [@Sendable (ObserverSet<Int>) -> any NotificationSource<Int>] = [
        { $0.map { $0 } },
        { $0.filter { $0 > 1 } },
        { $0.compactMap { $0 > 1 ? $0 : nil } },
        { $0.filter { $0 > 1 }.map { "\($0)" }.compactMap { Int($0) } },
        { $0.filter { $0 > 1 }.once },
        { $0.once.filter { $0 > 1 } },
    ]

    @Test("A sequence of a mapped or filtered source ends with its set, as one of the set itself does")
    func mappedEndsWithItsSet() async {
        for derive in Self.derived {
            var set: ObserverSet<Int>? = ObserverSet()
            weak let weakSet = set
            let sequence = derive(set!).values()
            let loop = Task { [values = derive(set!).values()] in
                var received: [Int] = []
                for await value in values { received.append(value) }
                return received.last
            }
            set?.notify(2)

            set = nil

            #expect(weakSet == nil)
            #expect(await loop.value == 2)
            var received: [[Int]] = []
            for _ in 0..<2 {
                var values: [Int] = []
                for await value in sequence { values.append(value) }
                received.append(values)
            }
            #expect(received == [[2], []])
        }
    }

    @Test("Every iterator of a sequence of a mapped source receives the mapped values, as long as the set lives")
    func mappedTwice() async {
        let set = ObserverSet<Int>()
        let sequence = set.filter { $0 > 1 }.map { "\($0)" }.values()
        var first = sequence.makeAsyncIterator()
        var second = sequence.makeAsyncIterator()
        #expect(set.count == 2)

        set.notify(1)
        set.notify(2)

        #expect(await first.next() == "2")
        #expect(await second.next() == "2")
        set.removeAll()
        #expect(await first.next() == nil)
        #expect(await second.next() == nil)
        var third = sequence.makeAsyncIterator()
        #expect(await third.next() == nil)
    }

    @Test("Waiting for `first()` of a mapped source does not keep the set alive")
    func firstOfMapped() async {
        weak var weakSet: ObserverSet<Int>?
        var waiting: [Task<String?, Never>] = []
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            waiting.append(Task { [weak set] in await set?.map { "\($0)" }.first() })
            waiting.append(Task { [weak set] in await set?.map { "\($0)" }.filter { $0 == "0" }.first() })
            await eventually { set.count == 2 }
            set.notify(2)
        }

        #expect(await waiting[0].value == "2")
        #expect(await waiting[1].value == nil)
        await eventually { weakSet == nil }
        #expect(weakSet == nil)
    }

    @Test("What the closure of a mapped source captures is released with its sequence")
    func captureOfAMappedSource() async {
        let set = ObserverSet<Int>()
        do {
            let capture = Tracked()
            let sequence = set.filter { [capture] _ in capture.isIntact }.values()
            let iterators = [sequence.makeAsyncIterator(), sequence.makeAsyncIterator()]
            set.notify(1)
            withExtendedLifetime(iterators) {}
        }
        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
    }

    @Test("A source that does not register its observer has sequences that end at once")
    func refused() async {
        let sequence = Deaf().values()
        var iterator = sequence.makeAsyncIterator()
        #expect(await iterator.next() == nil)
        #expect(await Deaf().first() == nil)
    }

    @Test("A source that calls and removes its observer before `register` returns leaves no registration")
    func endedWhileRegistering() async {
        let set = ObserverSet<Int>()
        let source = Hasty(set: set)
        var iterator = source.values().makeAsyncIterator()
        #expect(set.isEmpty)

        #expect(await iterator.next() == 1)
        #expect(await iterator.next() == nil)
        // The token, which `register` returned after the registration had ended, was removed as well.
        #expect(source.isBystanderThere == false)
    }

    // MARK: The task is cancelled

    /// Scenario 46: cancellation of a task that waits.
    @Test("A cancelled task's loop ends at once, and its registration is gone")
    func cancelledWhileWaiting() async {
        let set = ObserverSet<Int>()
        for _ in 0..<200 {
            let isWaiting = Counter()
            let task = Task { [sequence = set.values()] in
                isWaiting.increment()
                for await _ in sequence {}
                return set.isEmpty
            }
            await eventually { isWaiting.value == 1 }

            task.cancel()

            #expect(await task.value)
        }
        #expect(set.isEmpty)
    }

    /// Scenario 46: cancellation while elements are buffered.
    @Test(
        "After cancellation nothing is delivered; what was buffered is released and counted")
    func cancelledWithBuffer() async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let gate = Signal()
        let sequence = set.values()
        let task = Task {
            var received: [Int] = []
            for await value in sequence {
                received.append(value.value)
                start.finish()
                // The loop is busy with the first element while the others arrive and the task is cancelled.
                await onThread { gate.wait() }
            }
            return (received, set.isEmpty, lifetimes.count)
        }
        for value in 1...5 { set.notify(Tracked(value, in: lifetimes)) }
        for await _ in started {}

        task.cancel()
        gate.set()
        let (received, isGone, alive) = await task.value

        #expect(received == [1])
        #expect(isGone)
        #expect(alive == 0)
        #expect(sequence.droppedCount == 4)
    }

    @Test(
        "A cancelled iterator stays at its end, and keeps no buffered elements alive")
    func cancelledForGood() async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let sequence = set.values()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var iterator = sequence.makeAsyncIterator()
                set.notify(Tracked(1, in: lifetimes))
                #expect(await iterator.next()?.value == 1)
                cancelThisTask()
                set.notify(Tracked(2, in: lifetimes))
                set.notify(Tracked(3, in: lifetimes))
                #expect(await iterator.next() == nil)
                #expect(set.isEmpty)
                #expect(lifetimes.count == 0)
                #expect(await iterator.next() == nil)
                #expect(iterator.droppedCount == 2)
            }
        }
        #expect(sequence.droppedCount == 2)
    }

    // MARK: The iterator or the sequence is dropped

    /// Scenario 47: leaving the loop.
    ///
    /// Source: swift-foundation asyncMessageSequenceStopsObservationWhenDescoped.
    @Test("Leaving a loop ends its registration, and releases what is buffered")
    func leavingALoop() async {
        let set = ObserverSet<Tracked>()
        let sequence = set.values()
        for value in 1...5 { set.notify(Tracked(value)) }
        #expect(Lifetimes.current.count == 5)

        for await value in sequence where value.value == 2 { break }

        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
        #expect(sequence.droppedCount == 3)
    }

    @Test("Leaving a loop over a sequence that nobody keeps ends its registration")
    func leavingALoopOverATemporary() async {
        let set = ObserverSet<Int>()
        let notifier = set.once.add { _ in }
        // Notifies once the sequence exists; only the loop holds the sequence.
        let task = Task {
            while set.count == 1 { await Task.yield() }
            set.notify(1)
        }
        for await _ in set.values() {
            break
        }
        await task.value
        notifier.remove()
        #expect(set.isEmpty)
    }

    /// Bad input: an iterator that is not used.
    @Test("An iterator dropped before its first element ends its registration")
    func iteratorDroppedUnused() {
        let set = ObserverSet<Tracked>()
        let sequence = set.values()
        do {
            let iterator = sequence.makeAsyncIterator()
            set.notify(Tracked(1))
            #expect(set.count == 1)
            withExtendedLifetime(iterator) {}
        }

        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
        #expect(sequence.droppedCount == 1)
    }

    @Test("A sequence dropped without ever having been iterated over ends its registration")
    func sequenceDroppedUnused() {
        let set = ObserverSet<Tracked>()
        do {
            let sequence = set.values()
            set.notify(Tracked(1))
            withExtendedLifetime(sequence) {}
            #expect(set.count == 1)
            #expect(Lifetimes.current.count == 1)
        }

        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
        for _ in 0..<1_000 { _ = set.values() }
        #expect(set.isEmpty)
    }

    @Test("A sequence that was iterated over may be dropped before its iterator")
    func sequenceDroppedFirst() async {
        let set = ObserverSet<Int>()
        var iterator = set.values().makeAsyncIterator()
        #expect(set.count == 1)

        set.notify(1)

        #expect(await iterator.next() == 1)
    }

    @Test(
        "A sequence may be dropped inside a notification, by another observer")
    func droppedInsideANotification() async {
        let set = ObserverSet<Int>()
        let sequences = Shared<[NotificationSequence<Int>]>([])
        set.once.add { _ in sequences.value = [] }
        sequences.value = [set.values(), set.values()]
        set.once.add { _ in sequences.value = [] }

        set.notify(1)

        #expect(set.isEmpty)
    }

    @Test("A sequence that is dropped while a notification in progress reaches it does no harm")
    func droppedWhileReached() async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        let isDone = Signal()
        let notifiers = Task {
            await onThreads(2) { _ in
                while !isDone.isSet { set.notify(Tracked(in: lifetimes)) }
            }
        }
        await onThread {
            for _ in 0..<many(20_000) {
                let sequence = set.values()
                let iterator = sequence.makeAsyncIterator()
                let another = sequence.makeAsyncIterator()
                withExtendedLifetime((iterator, another)) {}
            }
            isDone.set()
        }
        await notifiers.value

        #expect(set.isEmpty)
        #expect(lifetimes.count == 0)
    }

    // MARK: What a deinit may do

    /// Scenario 29: the `deinit` of a value that a buffer drops.
    @Test(
        "The `deinit` of a value that a full buffer drops may use the set",
        arguments: [.newest(1), .oldest(1)] as [Buffering])
    func droppedByAFullBuffer(buffering: Buffering) {
        let set = ObserverSet<Tracked>()
        let ends = Log<Int>()
        let lifetimes = Lifetimes.current
        let sequence = set.values(buffering: buffering)

        for value in 1...3 { set.notify(Tracked(value, in: lifetimes) { [weak set] in use(set, ends) }) }

        #expect(ends.entries == [1, 1])
        #expect(sequence.droppedCount == 2)
    }

    /// Scenario 29: the `deinit` of values that are still buffered at the end.
    @Test(
        "The `deinit` of a value that is buffered at the end may use the set",
        arguments: SequenceEnd.allCases)
    func droppedAtTheEnd(end: SequenceEnd) async {
        var set: ObserverSet<Tracked>? = ObserverSet()
        let ends = Log<Int>()
        let lifetimes = Lifetimes.current
        var sequence: NotificationSequence<Tracked>? = set!.values()
        for value in 1...3 { set?.notify(Tracked(value, in: lifetimes) { [weak set] in use(set, ends) }) }

        switch end {
        case .sequenceIsDropped:
            sequence = nil
        case .iteratorIsDropped:
            do { _ = sequence?.makeAsyncIterator() }
        case .taskIsCancelled:
            let task = Task { [sequence] in
                cancelThisTask()
                for await _ in sequence! { Issue.record("the task was cancelled before") }
            }
            await task.value
        case .setDies:
            set = nil
            sequence = nil
        case .observersAreRemoved:
            set?.removeAll()
            sequence = nil
        }

        #expect(ends.count == 3)
        #expect(lifetimes.count == 0)
        #expect(set?.isEmpty != false)
        withExtendedLifetime(sequence) {}
    }

    @Test(
        "A capture of an adapting source is released when the iterator is dropped, and may use the set in its `deinit`")
    func captureOfASource() async {
        let set = ObserverSet<Int>()
        let ends = Log<Int>()
        let lifetimes = Lifetimes.current
        for isCancelled in [false, true] {
            let source = Capturing(source: set) { Tracked(in: lifetimes) { [weak set] in use(set, ends) } }
            let task = Task {
                var iterator = source.values().makeAsyncIterator()
                if isCancelled { cancelThisTask() }
                set.notify(1)
                return await iterator.next()
            }
            #expect(await task.value == (isCancelled ? nil : 1))
        }

        #expect(ends.count == 2)
        #expect(set.isEmpty)
    }
}

/// What becomes of the first iterator of a sequence when its set has removed all observers.
enum FirstIterator: CaseIterable, Sendable {
    case isKept, isDropped
}

/// How a sequence with elements in its buffer comes to its end.
enum SequenceEnd: CaseIterable, Sendable {
    case sequenceIsDropped, iteratorIsDropped, taskIsCancelled, setDies, observersAreRemoved
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
///
/// The token that it returns also stands for another registration.
private final class Hasty: NotificationSource {
    private let set: ObserverSet<Int>
    private let bystanders = ObserverSet<Int>()

    init(set: ObserverSet<Int>) {
        self.set = set
    }

    var isBystanderThere: Bool { !bystanders.isEmpty }

    func register(_ observer: Observer<Int>) -> ObserverToken {
        let token = set.register(observer)
        set.notify(1)
        token.remove()
        return ObserverToken([token, bystanders.addNonisolated { _ in }])
    }

    func settled() async {
        await set.settled()
        await bystanders.settled()
    }
}

/// A source whose registrations capture something.
private struct Capturing: NotificationSource {
    let source: any NotificationSource<Int>
    let make: @Sendable () -> Tracked

    func register(_ observer: Observer<Int>) -> ObserverToken {
        source.register(observer.adapted { [capture = make()] (value: Int) in capture.isIntact ? value : nil })
    }

    func settled() async { await source.settled() }
}

/// Cancels the task that calls it.
private func cancelThisTask() {
    unsafe withUnsafeCurrentTask { task in unsafe task?.cancel() }
}
