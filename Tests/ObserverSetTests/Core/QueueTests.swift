import Dispatch
import Testing

@testable import ObserverSet

/// Observers on dispatch queues: always asynchronous, in order, one call at a time.
@Suite("Queues", .lifetimesChecked, .againstHanging)
struct QueueTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "serial")
}

extension QueueTests {
    /// Scenario 36: a notification on the observer's own queue.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test(
        "An observer that is notified on its own queue is called after the block that notifies",
        arguments: [false, true])
    func notifiedOnItsQueue(_ isSynchronous: Bool) async {
        _ = set.addNonisolated(on: queue) { [log] in log.append($0) }
        let block: @Sendable () -> Void = { [set, log] in
            log.append(-1)
            set.notify(0)
            log.append(-2)
        }

        if isSynchronous { queue.sync(execute: block) } else { queue.async(execute: block) }
        queue.sync {}
        await set.settled()

        expect(log.entries, equals: [-1, -2, 0])
    }

    /// Scenario 36 for the main queue.
    ///
    /// Source: as before.
    @Test("An observer on the main queue is called there, later, whether the main actor or another thread notifies")
    @MainActor func onTheMainQueue() async {
        _ = set.addNonisolated(on: .main) { [log] in
            dispatchPrecondition(condition: .onQueue(.main))
            log.append($0)
        }

        set.notify(0)
        expect(log.entries, equals: [])
        await set.settled()
        join { [set] in set.notify(1) }
        expect(log.entries, equals: [0])
        await set.settled()

        expect(log.entries, equals: [0, 1])
    }

    /// Scenario 11 on a queue that is not serial.
    @Test("On a concurrent queue, an observer's calls do not overlap, and are in order, while another's may run")
    func concurrentQueue() async {
        let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        let isOtherCalled = Signal()
        let calls = Counter()
        _ = set.addNonisolated(on: queue) { [log] value in
            dispatchPrecondition(condition: .onQueue(queue))
            expect(calls.increment(), equals: 1)
            // Would wait for ever if the other observer could not be called meanwhile.
            isOtherCalled.wait()
            log.append(value)
            calls.decrement()
        }
        _ = set.addNonisolated(on: queue) { value in if value == 99 { isOtherCalled.set() } }

        for count in [5_000] + Array(repeating: 500, count: 20) {
            await onThread { [set] in for value in 0..<count { set.notify(value) } }
            await set.settled()
            expect(log.entries, equals: Array(0..<count))
            log.removeAll()
        }
    }

    @Test("On a serial queue, what a thread notifies to several sets, and other work, come in one order")
    func oneOrder() async {
        let other = ObserverSet<Int>()
        for (number, source) in [set, set, other].enumerated() {
            _ = source.addNonisolated(on: queue) { [log, queue] in
                dispatchPrecondition(condition: .onQueue(queue))
                log.append(number * 10_000 + $0)
            }
        }

        for count in [3_000] + Array(repeating: 300, count: 20) {
            await onThread { [set, log, queue] in
                for value in 0..<count {
                    if value.isMultiple(of: 100) { queue.async { log.append(-1) } }
                    value.isMultiple(of: 3) ? set.notify(value) : other.notify(value)
                }
            }
            await set.settled()
            await other.settled()
            let expected = (0..<count).flatMap { value -> [Int] in
                let values = value.isMultiple(of: 3) ? [value, 10_000 + value] : [20_000 + value]
                return value.isMultiple(of: 100) ? [-1] + values : values
            }
            expect(log.entries, equals: expected)
            log.removeAll()
        }
    }

    /// Scenario 38, between two values.
    ///
    /// Source: qcoro#168.
    @Test("An owner released in a call on a queue is not called for the values that still wait")
    func ownerDiesInItsCallOnAQueue() async {
        let owner = Shared<Tracked?>(Tracked())
        set.addNonisolated(on: queue, owner.value!) { [log, queue] tracked, value in
            dispatchPrecondition(condition: .onQueue(queue))
            log.append(value)
            if value == 1 { owner.value = nil }
            #expect(tracked.isIntact)
        }

        queue.suspend()
        for value in 0..<10 { set.notify(value) }
        queue.resume()
        await set.settled()

        expect(log.entries, equals: [0, 1])
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("What has waited leaves the room of a few values, and not that of a burst", arguments: [8, 10_000])
    func roomThatIsKept(_ count: Int) throws {
        var jobs = Queue<Int>()
        for value in 0..<count { jobs.append(value) }
        for value in 0..<count { expect(jobs.removeFirst(), equals: value) }

        let elements = try #require(Mirror(reflecting: jobs).descendant("elements") as? [Int?])
        #expect((count == 8 ? 8...64 : 0...64).contains(elements.capacity))
    }

    // MARK: Descriptions

    @Test("A description shows how many values wait for a queue, and whether a call is in progress")
    func descriptions() async {
        let (isCalled, mayEnd) = (Signal(), Signal())
        let token = set.addNonisolated(on: queue) { _ in
            isCalled.set()
            mayEnd.wait()
        }
        func shows(_ text: String) -> Bool { token.description.contains("on queue serial\(text), registered") }
        #expect(shows(""))

        queue.suspend()
        for value in 0..<2 { set.notify(value) }
        #expect(shows(", 2 pending"))

        queue.resume()
        await eventually { isCalled.isSet }
        set.notify(2)
        #expect(shows(", in a call, 2 pending"))
        mayEnd.set()
        await eventually { shows("") }
        #expect(shows(""))
    }
}
