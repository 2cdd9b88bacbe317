import Dispatch
import ObserverSet
import Testing

/// What has broken others: observers elsewhere that see notifications out of order (promise 7).
@Suite("Order of delivery", .lifetimesChecked, .againstHanging)
struct OrderTests {
    /// Scenario 11: several notifiers, several queues.
    ///
    /// Source: dotnet/reactive#455. No order is promised between two threads' notifications, nor that two observers agree on one.
    @Test("Observers on queues see each notifying thread's values in order")
    func perThreadOnQueues() async {
        for _ in 0..<50 {
            let set = ObserverSet<(thread: Int, value: Int)>()
            let logs = [Log<(thread: Int, value: Int)>(), Log<(thread: Int, value: Int)>()]
            for (index, log) in logs.enumerated() {
                set.add(on: DispatchQueue(label: "observer \(index)")) { log.append($0) }
            }

            await onThreads(2) { thread in
                for value in 0..<50 { set.notify((thread: thread, value: value)) }
            }
            await set.settled()

            for log in logs {
                for thread in 0..<2 {
                    #expect(log.entries.filter { $0.thread == thread }.map(\.value) == Array(0..<50))
                }
            }
        }
    }

    /// Scenario 12: one owner, two ways of delivery.
    @Test("An owner that observes in place and on a queue sees the order in each")
    func inPlaceAndOnAQueue() async {
        let set = ObserverSet<Int>()
        let owner = Tracked()
        let inPlace = Log<Int>()
        let onQueue = Log<Int>()
        set.add(owner) { _, value in inPlace.append(value) }
        set.add(on: DispatchQueue(label: "Q"), owner) { _, value in onQueue.append(value) }

        for value in 1...1_000 { set.notify(value) }
        #expect(inPlace.entries == Array(1...1_000))
        await set.settled()

        #expect(onQueue.entries == Array(1...1_000))
    }

    /// Scenario 11 on a queue that is not serial.
    @Test("On a concurrent queue an observer is still called one value at a time, in order")
    func concurrentQueue() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let inside = Shared(0)
        let overlaps = Shared(0)
        set.add(on: DispatchQueue(label: "Q", attributes: .concurrent)) { value in
            if inside.exchange(1) != 0 { overlaps.value += 1 }
            log.append(value)
            inside.value = 0
        }

        for value in 0..<5_000 { set.notify(value) }
        await set.settled()

        #expect(log.entries == Array(0..<5_000))
        #expect(overlaps.value == 0)
    }

    /// Scenario 13: one task for each value loses the order, a mailbox does not.
    ///
    /// Source: swift-migration-guide#69.
    @Test("An actor sees a thread's notifications in order, each time")
    func actorSeesOrder() async {
        for _ in 0..<200 {
            let set = ObserverSet<Int>()
            let recorder = Recorder()
            set.add(recorder) { recorder, value in recorder.values.append(value) }

            await onThread {
                for value in 0..<100 { set.notify(value) }
            }
            await set.settled()

            #expect(await recorder.values == Array(0..<100))
        }
    }

    /// Scenario 13, with the actor among the notifiers.
    @Test("An actor that notifies itself is told the values that wait for it first")
    func actorDrainsBeforeItsOwn() async {
        let set = ObserverSet<Int>()
        let recorder = Recorder()
        set.add(recorder) { recorder, value in recorder.values.append(value) }

        let inPlace = await recorder.notify(set, afterAnotherThreadNotified: 1...100, then: 101)

        #expect(inPlace == Array(1...101))
    }

    /// Scenario 14: the main actor as notifier and observer.
    @Test("The main actor's own notification never overtakes those that wait for it")
    @MainActor
    func mainActor() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        set.add { value in
            MainActor.assertIsolated()
            log.append(value)
        }

        set.notify(1)
        #expect(log.entries == [1])
        join {
            set.notify(2)
            set.notify(3)
        }
        #expect(log.entries == [1], "the main actor is busy here")
        set.notify(4)

        #expect(log.entries == [1, 2, 3, 4])
    }

    /// Scenario 14: both at once, again and again.
    @Test("The main actor and a thread that notify at once are each seen in their own order")
    @MainActor
    func mainActorAndThread() async {
        for _ in 0..<50 {
            let set = ObserverSet<(isMain: Bool, value: Int)>()
            let log = Log<(isMain: Bool, value: Int)>()
            set.add { log.append($0) }

            async let others: Void = onThreads(1) { _ in
                for value in 0..<50 { set.notify((isMain: false, value: value)) }
            }
            for value in 0..<50 {
                set.notify((isMain: true, value: value))
                if value % 10 == 0 { await Task.yield() }
            }
            await others
            await set.settled()

            #expect(log.entries.filter(\.isMain).map(\.value) == Array(0..<50))
            #expect(log.entries.filter { !$0.isMain }.map(\.value) == Array(0..<50))
        }
    }

    @Test("Between the many values that wait for it, the main actor does other work")
    @MainActor
    func mainActorInTurns() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        set.add { log.append($0) }
        join {
            for value in 0..<10_000 { set.notify(value) }
        }

        let deliveredBefore = await Task { log.entries.count }.value

        #expect(deliveredBefore < 10_000)
        await set.settled()
        #expect(log.entries == Array(0..<10_000))
    }
}

/// An actor that keeps what it is told.
private actor Recorder {
    var values: [Int] = []

    /// Has another thread notify while the actor is busy, then notifies in its own isolation; returns what it had been told
    /// when that call returned.
    func notify(_ set: ObserverSet<Int>, afterAnotherThreadNotified waiting: ClosedRange<Int>, then value: Int) -> [Int]
    {
        join {
            for value in waiting { set.notify(value) }
        }
        set.notify(value)
        return values
    }
}
