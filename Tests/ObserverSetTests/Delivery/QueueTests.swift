import Dispatch
import ObserverSet
import Testing

/// Observers on dispatch queues: always asynchronous, in order, one call at a time.
@Suite("Queues", .lifetimesChecked, .againstHanging)
struct QueueTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "serial")

    @Test("An observer runs on its queue", arguments: [false, true])
    func onTheQueue(_ isConcurrent: Bool) async {
        let queue = DispatchQueue(label: "queue", attributes: isConcurrent ? .concurrent : [])
        let owner = Tracked()
        set.add(on: queue) { [log] in
            dispatchPrecondition(condition: .onQueue(queue))
            log.append($0)
        }
        set.add(on: queue, owner) { [log] _, value in
            dispatchPrecondition(condition: .onQueue(queue))
            log.append(value)
        }

        set.notify(1)
        await set.settled()

        #expect(log.entries == [1, 1])
    }

    @Test("An observer on the main queue runs there")
    func onTheMainQueue() async {
        set.add(on: .main) { [log] in
            dispatchPrecondition(condition: .onQueue(.main))
            log.append($0)
        }

        set.notify(1)
        await set.settled()

        #expect(log.entries == [1])
    }

    @Test("A notification from the queue itself is asynchronous too")
    func fromTheQueueItself() async {
        set.add(on: queue) { [log] in log.append($0) }

        queue.sync {
            set.notify(1)
            #expect(log.entries.isEmpty)
        }
        await set.settled()

        #expect(log.entries == [1])
    }

    @Test("A notification does not wait for the queue")
    func doesNotWait() async {
        let mayGoOn = Signal()
        queue.async { mayGoOn.wait() }
        set.add(on: queue) { [log] in log.append($0) }

        for value in 0..<10 { set.notify(value) }
        #expect(log.entries.isEmpty)
        mayGoOn.set()
        await set.settled()

        #expect(log.entries == Array(0..<10))
    }

    @Test("On a concurrent queue, the calls of one observer come one at a time and in order")
    func concurrentQueue() async {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let inside = Shared(false)
        set.add(on: queue) { [log] in
            #expect(!inside.exchange(true))
            log.append($0)
            #expect(inside.exchange(false))
        }

        for _ in 0..<20 {
            for value in 0..<500 { set.notify(value) }
            await set.settled()
            #expect(log.entries == Array(0..<500))
            log.removeAll()
        }
    }

    @Test("Many observers on one queue each hear everything in order")
    func manyOnOneQueue() async {
        let logs = (0..<50).map { _ in Log<Int>() }
        for log in logs { set.add(on: queue) { log.append($0) } }

        for value in 0..<200 { set.notify(value) }
        await set.settled()

        for log in logs { #expect(log.entries == Array(0..<200)) }
    }

    @Test("A long delivery lets others onto the queue between its turns")
    func turns() async {
        let deliveredBefore = Log<Int>()
        let allEnqueued = Signal()
        queue.async { allEnqueued.wait() }
        set.add(on: queue) { [log] in log.append($0) }

        for value in 0..<5_000 { set.notify(value) }
        queue.async { [log] in deliveredBefore.append(log.count) }
        allEnqueued.set()
        await set.settled()

        #expect(deliveredBefore.entries[0] < 5_000)
        #expect(log.entries == Array(0..<5_000))
    }

    @Test("An observer on a queue may notify, add, remove and wait for another thread that does")
    func usesTheSet() async {
        let token = Shared<ObserverToken?>(nil)
        token.value = set.add(on: queue) { [set, log] value in
            log.append(value)
            join {
                set.add { log.append($0 + 10) }
                set.notify(value + 1)
            }
            token.value?.remove()
        }

        set.notify(1)
        await set.settled()

        #expect(log.entries == [1, 12])
        #expect(set.count == 1)
        set.removeAll()
    }

    @Test("An owner that dies takes its observer with it, and the queue holds nothing of it")
    func ownerDies() async {
        var owner: Tracked? = Tracked()
        let token = set.add(on: queue, owner!) { [log] _, value in log.append(value) }
        set.notify(1)
        await set.settled()
        #expect(log.entries == [1])

        queue.sync {}
        owner = nil

        #expect(!token.isActive)
        set.notify(2)
        await set.settled()
        #expect(log.entries == [1])
    }

    @Test("Values for a suspended queue wait until it is resumed")
    func suspendedQueue() async {
        set.add(on: queue) { [log] in log.append($0) }
        queue.suspend()
        for value in 0..<10 { set.notify(value) }
        #expect(log.entries.isEmpty)

        queue.resume()
        await set.settled()

        #expect(log.entries == Array(0..<10))
    }

    @Test("Threads that notify at once lose nothing and deliver nothing twice")
    func nothingLost() async {
        let owner = Tracked()
        set.add(on: queue) { [log] in log.append($0) }
        set.add(on: queue, owner) { [log] _, value in log.append(-value) }

        await onThreads(4) { [set] thread in
            for index in 1...500 { set.notify(thread * 1_000 + index) }
        }
        await set.settled()

        let sent = (0..<4).flatMap { thread in (1...500).map { thread * 1_000 + $0 } }
        #expect(log.entries.filter { $0 > 0 }.sorted() == sent)
        #expect(log.entries.filter { $0 < 0 }.map { -$0 }.sorted() == sent)
    }
}
