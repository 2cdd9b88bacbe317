import Dispatch
import ObserverSet
import Testing

/// What has broken others: values on their way to a queue (promises 4, 5 and 7).
@Suite("Delivery on a queue", .lifetimesChecked, .againstHanging)
struct QueueDeliveryTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "Q")

    // MARK: Never synchronously

    /// Scenario 36: notified on the observer's own queue.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test("Notified on its own queue, an observer is called after the block that notifies")
    func notifiedOnItsQueue() async {
        set.add(on: queue) { [log] in log.append($0) }

        await withCheckedContinuation { continuation in
            queue.async {
                log.append(-1)
                set.notify(0)
                log.append(-2)
                continuation.resume()
            }
        }
        await set.settled()

        #expect(log.entries == [-1, -2, 0])
    }

    /// Scenario 36: notified by the observer itself.
    ///
    /// Source: as before.
    @Test("An observer on a queue that notifies its own set is called after it has returned")
    func notifiesItself() async {
        set.add(on: queue) { [log, weak set] value in
            if value < 3 { set?.notify(value + 1) }
            log.append(value)
        }

        set.notify(0)
        await set.settled()
        await set.settled()
        await set.settled()
        await set.settled()

        #expect(log.entries == [0, 1, 2, 3])
    }

    /// Scenario 36 for the main queue.
    ///
    /// Source: as before.
    @Test("Notified on the main actor, an observer on the main queue is called later")
    @MainActor
    func mainToMainQueue() async {
        set.add(on: .main) { [log] in log.append($0) }

        set.notify(0)
        #expect(log.entries == [])
        await set.settled()

        #expect(log.entries == [0])
    }

    /// Scenario 36 for the main actor, where the call is made in place.
    ///
    /// Source: as before.
    @Test("Notified on the main actor, an observer of the main actor is called in place")
    @MainActor
    func mainToMainActor() {
        set.add { [log] value in
            MainActor.assertIsolated()
            log.append(value)
        }

        set.notify(0)

        #expect(log.entries == [0])
    }

    // MARK: After removal

    /// Scenario 37: removed on the queue.
    ///
    /// Source: RxSwift#38 (the guarantee), #1778 and #2268 (where it was broken), RxBinding#37.
    @Test(
        "Removed on its queue, an observer is not called again, whatever waits for it",
        arguments: Removal.allCases)
    func removedOnItsQueue(removal: Removal) async {
        let owner = Tracked()
        let token = set.add(on: queue, owner) { [log] _, value in log.append(value) }
        let removed = Shared(false)

        queue.suspend()
        queue.async { [set] in removed.value = removal.perform(on: set, token: token, owner: owner) }
        for value in 0..<100 { set.notify(value) }
        queue.resume()
        await set.settled()

        #expect(removed.value)
        #expect(log.entries == [])
    }

    /// Scenario 37: removed by its own call.
    ///
    /// Source: as before.
    @Test(
        "An observer that removes itself on its queue is not called again, whatever waits for it",
        arguments: Removal.allCases)
    func removesItselfOnItsQueue(removal: Removal) async {
        let owner = Tracked()
        let token = Shared<ObserverToken?>(nil)
        token.value = set.add(on: queue, owner) { [log, weak set] owner, value in
            log.append(value)
            guard value == 2, let set, let token = token.value else { return }
            #expect(removal.perform(on: set, token: token, owner: owner))
        }

        queue.suspend()
        for value in 0..<100 { set.notify(value) }
        queue.resume()
        await set.settled()

        #expect(log.entries == [0, 1, 2])
    }

    /// Scenario 37: removed from elsewhere.
    ///
    /// Source: as before.
    @Test(
        "Removed elsewhere, an observer is called at most once more",
        arguments: Removal.allCases)
    func removedElsewhere(removal: Removal) async {
        let owner = Tracked()
        let isInside = DispatchSemaphore(value: 0)
        let mayLeave = DispatchSemaphore(value: 0)
        let token = set.add(on: queue, owner) { [log] _, value in
            log.append(value)
            isInside.signal()
            mayLeave.wait()
        }
        for value in 0..<100 { set.notify(value) }

        await onThread { [set] in
            isInside.wait()
            #expect(removal.perform(on: set, token: token, owner: owner))
            mayLeave.signal()
        }
        await set.settled()

        #expect(log.entries == [0], "the call under way, and none of those that waited")
    }

    /// Scenario 37 without a gate: wherever the removal falls.
    ///
    /// Source: as before.
    @Test("Wherever a removal falls, at most the call already decided on follows it")
    func removedAnywhere() async {
        let lateCalls = Log<Int>()
        for _ in 0..<300 {
            let set = ObserverSet<Int>()
            let isRemoved = Shared(false)
            let late = Shared(0)
            let token = set.add(on: queue) { _ in
                if isRemoved.value { late.value += 1 }
            }

            await onThread {
                for value in 0..<50 { set.notify(value) }
                token.remove()
                isRemoved.value = true
            }
            await set.settled()

            lateCalls.append(late.value)
        }

        #expect(lateCalls.count == 300)
        #expect(lateCalls.entries.allSatisfy { $0 <= 1 })
    }

    /// Scenario 37, what is not a removal: the set's end.
    @Test("What was enqueued before the set died is still delivered")
    func setDiesBeforeDelivery() async {
        var set: ObserverSet<Int>? = ObserverSet()
        set?.add(on: queue) { [log, capture = Tracked(10)] in log.append(capture.value + $0) }

        queue.suspend()
        for value in 0..<3 { set?.notify(value) }
        set = nil
        queue.resume()
        await onQueue {}

        #expect(log.entries == [10, 11, 12])
    }

    // MARK: Owners

    /// Scenario 38: the owner dies while a value waits.
    ///
    /// Source: qcoro#168.
    @Test(
        "Values that wait for a queue keep no owner, are not delivered without one, and let the closure go")
    func ownerDiesWhileQueued() async {
        let lifetimes = Lifetimes.current
        var owner: Tracked? = Tracked()
        weak let weakOwner = owner
        set.add(on: queue, owner!) { [log, capture = Tracked()] _, value in log.append(value + capture.value) }

        queue.suspend()
        for value in 0..<10 { set.notify(value) }
        owner = nil
        #expect(weakOwner == nil)
        #expect(lifetimes.count == 1, "the capture")
        queue.resume()
        await set.settled()
        set.notify(10)
        await set.settled()

        #expect(owner == nil)
        #expect(log.entries == [])
        await eventually { lifetimes.count == 0 }
        #expect(lifetimes.count == 0)
        #expect(set.isEmpty)
    }

    /// Scenario 38, between two values.
    ///
    /// Source: as before.
    @Test(
        "An owner that is let go in a call on a queue is not called for the values behind it")
    func ownerDiesInItsCallOnAQueue() async {
        let owner = Shared<Tracked?>(Tracked())
        set.add(on: queue, owner.value!) { [log] tracked, value in
            log.append(value)
            if value == 1 { owner.value = nil }
            #expect(tracked.isIntact)
        }

        queue.suspend()
        for value in 0..<10 { set.notify(value) }
        queue.resume()
        await set.settled()

        #expect(log.entries == [0, 1])
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 38 for an actor that owns its observer.
    ///
    /// Source: as before.
    @Test("Values that wait for an actor are dropped when it is gone")
    func actorDiesWhileQueued() async {
        for _ in 0..<30 {
            var listener: Listener? = Listener(log)
            weak let weakListener = listener
            set.add(listener!) { listener, value in listener.hear(value) }

            set.notify(0)
            listener = nil
            await set.settled()
            // The job that brought the value held the actor; it may not have ended yet.
            await eventually { weakListener == nil }
            #expect(weakListener == nil)
            #expect(listener == nil)
        }

        #expect(set.isEmpty)
        #expect(log.count <= 30)
    }

    /// Runs `body` on the queue, behind what is there.
    private func onQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            queue.async {
                body()
                continuation.resume()
            }
        }
    }
}

/// The ways to remove an observer.
enum Removal: CaseIterable, Sendable {
    case byToken, bySet, byOwner, all

    /// Returns whether the registration is gone, and was there before.
    func perform(on set: ObserverSet<Int>, token: ObserverToken, owner: Tracked) -> Bool {
        guard token.isActive else { return false }
        switch self {
        case .byToken: guard token.remove() else { return false }
        case .bySet: guard set.remove(token) else { return false }
        case .byOwner: guard set.removeAll(ownedBy: owner) == 1 else { return false }
        case .all: set.removeAll()
        }
        return !token.isActive
    }
}

/// An actor that writes down what it hears.
private actor Listener {
    private let log: Log<Int>

    init(_ log: Log<Int>) {
        self.log = log
    }

    func hear(_ value: Int) { log.append(value) }
}
