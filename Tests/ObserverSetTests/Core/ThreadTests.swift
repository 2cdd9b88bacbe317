import Dispatch
import Foundation
import ObserverSet
import Synchronization
import Testing

/// What has broken others: threads that meet in a set, and locks that are held while they should not be (promises 1, 4 and 11).
///
/// That no lock is held is shown by structure: something waits inside a call for another thread to have used the set. If
/// the lock were held, the test would not end.
@Suite("Threads", .lifetimesChecked, .againstHanging)
struct ThreadTests {
    /// Scenario 34: removal while another thread notifies.
    ///
    /// Source: stream-chat-swift#3361, godot#34752, LDEventSource (ios-client-sdk#222), Kingfisher#2539.
    @Test(
        "After `remove` returns, a thread makes at most the call it had decided on, and no pass begun later calls",
        .serialized, arguments: InPlaceForm.allCases)
    func removalDuringPasses(form: InPlaceForm) async {
        let notifiers = 2
        let set = ObserverSet<Int>()
        let traffic = Traffic()
        let rounds = Log<(round: Round, passesBegun: Int)>()
        let owner = Tracked()

        await onThreads(notifiers + 1) { thread in
            if thread < notifiers {
                while !traffic.isDone { set.notify(traffic.beginPass()) }
            } else {
                for _ in 0..<many(300) {
                    let round = Round()
                    let token = form.add(to: set, owner: owner) { round.wasCalled(inPass: $0) }
                    // Let the others get at least into the next pass, so that some do call it.
                    traffic.waitForNextPass()
                    token.remove()
                    round.removalHasReturned()
                    rounds.append((round: round, passesBegun: traffic.passesBegun))
                }
                traffic.end()
            }
        }

        // All threads have ended: nothing more can be called.
        #expect(rounds.count == many(300))
        #expect(rounds.entries.contains { $0.round.lastPass > 0 }, "some were called")
        #expect(rounds.entries.allSatisfy { $0.round.lateCalls <= notifiers })
        #expect(rounds.entries.allSatisfy { $0.round.lastPass <= $0.passesBegun })
    }

    @Test("A set may be notified while its first observer is added")
    func firstObserverDuringPasses() async {
        for _ in 0..<many(4_000) {
            let set = ObserverSet<Int>()
            let calls = Counter()

            await onThreads(2) { thread in
                if thread == 0 {
                    set.addNonisolated { _ in calls.increment() }
                    set.notify(0)
                } else {
                    for number in 1...100 { set.notify(number) }
                }
            }

            #expect((1...101).contains(calls.value))
        }
    }

    /// Scenario 35: an observer that waits for another thread.
    @Test(
        "An observer may wait for a thread that uses the set in every way",
        arguments: InPlaceForm.allCases)
    func observerWaitsForAThread(form: InPlaceForm) {
        let set = ObserverSet<Int>()
        let log = Log<String>()
        let owner = Tracked()
        let queue = DispatchQueue(label: "Q")
        form.add(to: set, owner: owner) { [weak set] depth in
            guard depth == 0, let set else { return }
            join {
                useInEveryWay(set)
                log.append("thread")
            }
            queue.sync {
                useInEveryWay(set)
                log.append("queue")
            }
        }

        set.notify(0)

        #expect(log.entries == ["thread", "queue"])
        #expect(set.count == 1)
    }

    /// Scenario 35, where another thread removes the observer that waits for it.
    @Test("An observer may wait for a thread that removes it")
    func observerWaitsForItsOwnRemoval() {
        let set = ObserverSet<Void>()
        let token = Shared<ObserverToken?>(nil)
        let answers = Log<Bool>()
        token.value = set.add { [capture = Tracked()] in
            join { answers.append(token.value?.remove() ?? false) }
            answers.append(capture.isIntact)
        }

        set.notify()

        #expect(answers.entries == [true, true])
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 35, where another thread empties the set.
    @Test("An observer may wait for a thread that removes all")
    func observerWaitsForRemoveAll() {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        set.add { [weak set, capture = Tracked(1)] in
            join { [set] in set?.removeAll() }
            log.append(capture.value)
        }
        set.add { log.append(2) }

        set.notify()

        #expect(log.entries == [1])
        #expect(set.isEmpty)
    }

    /// Scenario 39: a lock held while something slow is released.
    ///
    /// Source: realm-swift#7902 (a priority inversion). No user code runs under the lock, so none can make another thread wait for it.
    @Test(
        "While a capture's `deinit` is under way, other threads use the set",
        arguments: WayOut.allCases.filter { $0 != .setDies })
    func slowDeinit(way: WayOut) {
        let hasEnded = Shared(false)
        var set: ObserverSet<Int>? = ObserverSet()
        var owner: Tracked? = Tracked()
        let token = set!.add(owner!) { [capture = Tracked(atEnd: slowEnd(using: set!, then: hasEnded))] _, _ in
            _ = capture
        }

        way.take(set: &set, token: token, owner: &owner)

        #expect(hasEnded.value)
    }

    /// Scenario 39 for a mailbox: its lock is not held while it delivers.
    ///
    /// Source: as before.
    @Test("While an observer on a queue is being called, other threads notify it")
    func slowDelivery() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        set.add(on: DispatchQueue(label: "Q")) { [weak set] value in
            if value == 0 { join { [set] in set?.notify(1) } }
            log.append(value)
        }

        set.notify(0)
        await set.settled()
        // For what the first delivery has notified.
        await set.settled()

        #expect(log.entries == [0, 1])
    }

    /// Scenario 41: a slow observer.
    ///
    /// Source: RxSwift Anomalies (testSeparationBetweenOnAndSubscriptionLocks).
    @Test(
        "While one thread is in an observer, others add, remove, count and notify",
        arguments: InPlaceForm.allCases)
    func slowObserver(form: InPlaceForm) async {
        let set = ObserverSet<Int>()
        let owner = Tracked()
        let isInside = DispatchSemaphore(value: 0)
        let mayLeave = DispatchSemaphore(value: 0)
        let hasLeft = Shared(false)
        form.add(to: set, owner: owner) { value in
            guard value == 0 else { return }
            isInside.signal()
            mayLeave.wait()
            hasLeft.value = true
        }

        async let slow: Void = onThread { set.notify(0) }
        let wasStillInside = await onThread {
            isInside.wait()
            for _ in 0..<100 { useInEveryWay(set) }
            let wasStillInside = !hasLeft.value
            mayLeave.signal()
            return wasStillInside
        }
        await slow

        #expect(wasStillInside)
        #expect(set.count == 1)
    }

    /// Scenario 41, for what is removed meanwhile.
    ///
    /// Source: as before.
    @Test(
        "What is removed while another thread is in an observer is released when that pass has ended")
    func removedBehindASlowObserver() async {
        let set = ObserverSet<Void>()
        let lifetimes = Lifetimes.current
        let isInside = DispatchSemaphore(value: 0)
        let mayLeave = DispatchSemaphore(value: 0)
        set.add {
            isInside.signal()
            mayLeave.wait()
        }
        let tokens = (0..<1_000).map { index in
            set.add { [capture = Tracked(index, in: lifetimes)] in Issue.record("\(capture.value) was removed") }
        }

        async let slow: Void = onThread { set.notify() }
        await onThread {
            isInside.wait()
            for token in tokens { token.remove() }
            mayLeave.signal()
        }
        await slow

        #expect(lifetimes.count == 0)
        #expect(set.count == 1)
    }
}

/// An end that waits for another thread to have used the set.
private func slowEnd(using set: ObserverSet<Int>, then hasEnded: Shared<Bool>) -> @Sendable () -> Void {
    { [unowned set] in
        join { useInEveryWay(set) }
        hasEnded.value = true
    }
}

/// The passes of several threads, numbered.
private final class Traffic: Sendable {
    private let passes = Atomic<Int>(0)
    private let hasEnded = Atomic<Bool>(false)

    var passesBegun: Int { passes.load(ordering: .sequentiallyConsistent) }
    var isDone: Bool { hasEnded.load(ordering: .acquiring) }

    /// Returns a number that is higher than those of all passes that have begun.
    func beginPass() -> Int { passes.add(1, ordering: .sequentiallyConsistent).newValue }

    func waitForNextPass() {
        let begun = passesBegun
        while passesBegun == begun { Thread.yield() }
    }

    func end() { hasEnded.store(true, ordering: .releasing) }
}

/// What one observer was told, seen from its removal.
private final class Round: Sendable {
    private let isRemoved = Atomic<Bool>(false)
    private let late = Atomic<Int>(0)
    private let last = Atomic<Int>(0)

    var lateCalls: Int { late.load(ordering: .acquiring) }
    /// The latest pass that made a call.
    var lastPass: Int { last.load(ordering: .acquiring) }

    func wasCalled(inPass pass: Int) {
        if isRemoved.load(ordering: .sequentiallyConsistent) { late.add(1, ordering: .relaxed) }
        last.max(pass, ordering: .acquiringAndReleasing)
    }

    func removalHasReturned() {
        isRemoved.store(true, ordering: .sequentiallyConsistent)
    }
}

/// Every call that a set offers, as a thread makes it that knows nothing of what the others do.
private func useInEveryWay(_ set: ObserverSet<Int>) {
    let owner = Lifetimes()
    let token = set.add { _ in }
    set.add(owner) { _, _ in }
    let once = set.addOnce { _ in }
    set.notify(1)
    _ = set.count
    _ = set.isEmpty
    _ = set.debugDescription
    _ = token.isActive
    once.remove()
    set.removeAll(ownedBy: owner)
    set.remove(token)
}
