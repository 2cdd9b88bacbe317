import Dispatch
import ObserverSet
import Testing

/// Promise 10: the set may be released at any time, even during its own notification: the traversal finishes, and
/// tokens become inactive.
@Suite("Promise 10: the set may die any time", .lifetimesChecked, .againstHanging)
struct Promise10SetDeathTests {
    private let calls = Counter()

    // MARK: In its own notification

    @Test(
        "A set whose last reference is released by an observer finishes its notification",
        arguments: ObserverKind.inPlace)
    func inAnObserver(_ kind: ObserverKind) {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let log = Log<String>()
        _ = set.value?.add { _ in log.append("first") }
        let registration = set.value.map {
            kind.add(to: $0) { _ in
                log.append("last reference")
                set.value = nil
            }
        }
        _ = set.value?.add { _ in log.append("after") }

        set.value?.notify(1)

        expect(log.entries, equals: ["first", "last reference", "after"])
        #expect(set.value == nil)
        expect(registration?.token.isActive, equals: false)
        registration?.end()
    }

    @Test("A set that is a property of an object that an observer releases finishes its notification")
    func asAProperty() {
        final class Model: Sendable {
            let changed = ObserverSet<Int>()
            let life = Tracked()
        }
        let model = Shared<Model?>(Model())
        let log = Log<String>()
        _ = model.value?.changed.add { _ in model.value = nil }
        _ = model.value?.changed.add { _ in log.append("after") }

        model.value?.changed.notify(1)

        expect(log.entries, equals: ["after"])
        #expect(model.value == nil)
    }

    @Test("A set that dies in a nested notification finishes the outer ones too")
    func nested() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let log = Log<String>()
        _ = set.value?.add { value in
            if value < 3 { set.value?.notify(value + 1) } else { set.value = nil }
        }
        _ = set.value?.add { log.append("\($0)") }

        set.value?.notify(1)

        expect(log.entries, equals: ["3", "2", "1"])
    }

    @Test("A set that another thread releases during a notification finishes that notification")
    func byAnotherThread() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        _ = set.value?.add { _ in join { set.value = nil } }
        _ = set.value?.add { [calls] _ in calls.increment() }

        set.value?.notify(1)

        #expect(set.value == nil)
        expect(calls.value, equals: 1)
    }

    @Test("A set may be emptied, and die, in the same call")
    func emptiedAndGone() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        _ = set.value?.add { _ in
            set.value?.removeAll()
            set.value = nil
        }
        _ = set.value?.add { [calls] _ in calls.increment() }

        set.value?.notify(1)

        expect(calls.value, equals: 0)
    }

    @Test("A set may die in the `deinit` of its observer's capture")
    func inADeinit() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let capture = Shared<Tracked?>(Tracked { set.value = nil })
        let token = set.value?.add { [capture = capture.exchange(nil)] _ in _ = capture }
        let other = set.value?.add { _ in }

        expect(token?.remove(), equals: true)

        #expect(set.value == nil)
        expect(other?.isActive, equals: false)
    }

    @Test("A set may die in the call of another set's observer")
    func inAnotherSetsObserver() {
        let other = ObserverSet<Int>()
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let token = set.value?.add { _ in }
        _ = other.add { _ in set.value = nil }
        _ = other.add { [calls] _ in calls.increment() }

        other.notify(1)

        expect(calls.value, equals: 1)
        expect(token?.isActive, equals: false)
    }

    // MARK: Values in mailboxes

    /// Scenario 37, for the end of the set, which is not a removal.
    @Test("What was enqueued when the set died is still delivered", arguments: ObserverKind.lastingHopping)
    func enqueued(_ kind: ObserverKind) async {
        let log = Log<Int>()
        let isDead = Signal()
        let registration: KeptRegistration
        do {
            let set = ObserverSet<Int>()
            registration = kind.add(to: set) { [capture = Tracked()] value in
                isDead.wait()
                if capture.isIntact { log.append(value) }
            }
            for value in 0..<100 { set.notify(value) }
        }
        isDead.set()

        await eventually { log.count == 100 }
        expect(log.entries, equals: Array(0..<100))
        #expect(!registration.token.isActive)
        #expect(!registration.token.remove())
        registration.end()
    }

    @Test("A one-time observer is called with what was enqueued for it when the set died")
    @MainActor func enqueuedForOneTimeObserver() async {
        let log = Log<Int>()
        let token: ObserverToken
        do {
            let set = ObserverSet<Int>()
            token = set.once.add { @MainActor in log.append($0) }
            join { for value in 0..<3 { set.notify(value) } }
        }
        #expect(!token.isActive)

        await eventually { log.count == 1 }
        expect(log.entries, equals: [0])
        #expect(!token.remove())
    }

    @Test("What was enqueued for an owner that died with the set is dropped")
    func enqueuedForADeadOwner() async {
        let areDead = Signal()
        let queue = DispatchQueue(label: "serial")
        queue.async { areDead.wait() }
        do {
            let set = ObserverSet<Int>()
            let owner = Tracked()
            set.addNonisolated(on: queue, owner) { [calls] _, _ in calls.increment() }
            for value in 0..<100 { set.notify(value) }
        }

        areDead.set()
        queue.sync {}
        queue.sync {}
        expect(calls.value, equals: 0)
    }

    @Test("A set may die while its observer is being called elsewhere", arguments: ObserverKind.hopping)
    func duringADelivery(_ kind: ObserverKind) async {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let isCalled = Signal()
        let isDead = Signal()
        let registration = set.value.map {
            kind.add(to: $0) { [calls] _ in
                isCalled.set()
                isDead.wait()
                calls.increment()
            }
        }

        await onThread {
            set.value?.notify(1)
            isCalled.wait()
            set.value = nil
            isDead.set()
        }

        await eventually { calls.value == 1 }
        expect(calls.value, equals: 1)
        registration?.end()
    }

    // MARK: Afterwards

    /// Scenario 21: the token outlives the set.
    ///
    /// Source: boost deletion_test.cpp (test_signal_deletion: both connections are "not connected").
    @Test(
        "A token does not keep its set alive, and does nothing on any thread once the set is gone",
        arguments: ObserverKind.allCases)
    func tokens(_ kind: ObserverKind) async {
        let other = ObserverSet<Int>()
        weak var weakSet: ObserverSet<Int>?
        let registration: KeptRegistration
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            registration = kind.add(to: set) { [calls] _ in calls.increment() }
            #expect(registration.token.isActive)
        }
        let token = registration.token
        #expect(weakSet == nil)

        let answers = Log<Bool>()
        await onThreads(4) { _ in
            answers.append(token.isActive)
            answers.append(token.remove())
            answers.append(other.remove(token))
        }

        expect(answers.entries, equals: Array(repeating: false, count: 12))
        #expect(token.description.contains("inactive"))
        expect(token, equals: token)
        expect(calls.value, equals: 0)
        registration.end()
    }

    @Test("A set without observers dies as well")
    func neverUsed() {
        weak var weakSet: ObserverSet<Int>?
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            set.notify(1)
        }

        #expect(weakSet == nil)
    }

    // MARK: On several threads

    @Test("Tokens may be used by other threads while their set dies")
    func tokensInARace() async {
        let released = Counter()
        let lifetimes = Lifetimes.current
        for _ in 0..<300 {
            let set = Shared<ObserverSet<Int>?>(ObserverSet())
            let tokens = (0..<8).compactMap { _ in
                let capture = Tracked(in: lifetimes) { released.increment() }
                return set.value?.add { _ in _ = capture }
            }
            await race(times: 1) { _ in
                set.value = nil
            } _: { _ in
                for token in tokens {
                    _ = token.isActive
                    token.remove()
                    _ = token.description
                }
            }
            #expect(tokens.allSatisfy { !$0.isActive && !$0.remove() })
        }

        expect(released.value, equals: 2_400)
    }

    @Test("A set may be released by any of the threads that notify it")
    func lastNotifier() async {
        for _ in 0..<200 {
            let set = Shared<ObserverSet<Int>?>(ObserverSet())
            for _ in 0..<4 { _ = set.value?.add { [calls] _ in calls.increment() } }
            await onThreads(3) { thread in
                let own = set.value
                if thread == 0 { set.value = nil }
                own?.notify(1)
            }
            #expect(set.value == nil)
        }

        #expect(calls.value.isMultiple(of: 4))
    }
}
