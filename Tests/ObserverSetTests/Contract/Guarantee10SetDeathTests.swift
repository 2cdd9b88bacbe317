import Dispatch
import ObserverSet
import Testing

/// Guarantee 10: a set may be released at any time, even during its own notification.
///
/// The notification then still completes, and the set's tokens become inactive.
@Suite("Guarantee 10: the set may die any time", .lifetimesChecked, .againstHanging)
struct Guarantee10SetDeathTests {
    private let calls = Counter()
}

extension Guarantee10SetDeathTests {
    // MARK: In its own notification

    enum Death: CaseIterable, Sendable { case inPlace, onAnotherThread, whenEmptied }

    @Test(
        "A set whose last reference is released by an observer, on any thread, finishes its notification",
        arguments: ObserverKind.inPlace, Death.allCases)
    func inAnObserver(_ kind: ObserverKind, _ death: Death) {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let log = Log<String>()
        _ = set.value?.add { _ in log.append("first") }
        let registration = kind.add(to: set.value!) { _ in
            log.append("last reference")
            if death == .whenEmptied { set.value?.removeAll() }
            if death == .onAnotherThread { join { set.value = nil } } else { set.value = nil }
        }
        _ = set.value?.add { _ in log.append("after") }

        set.value?.notify(1)

        expect(log.entries, equals: ["first", "last reference"] + (death == .whenEmptied ? [] : ["after"]))
        expect(set.value == nil && !registration.token.isActive)
        registration.end()
    }

    @Test("A set that dies in a nested notification finishes the outer ones too")
    func nested() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let log = Log<Int>()
        _ = set.value?.add { value in
            if value < 3 { set.value?.notify(value + 1) } else { set.value = nil }
        }
        _ = set.value?.add { log.append($0) }

        set.value?.notify(1)

        expect(log.entries, equals: [3, 2, 1])
    }

    @Test("A set may die in the `deinit` of its observer's capture")
    func inADeinit() {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let capture = Shared<Tracked?>(Tracked { set.value = nil })
        let token = set.value?.add { [capture = capture.exchange(nil)] _ in _ = capture }
        let other = set.value?.add { _ in }

        expect(token?.remove(), equals: true)

        expect(set.value == nil)
        expect(other?.isActive, equals: false)
    }

    // MARK: Values in mailboxes

    /// Scenario 37, for the end of the set, which is not a removal.
    @Test("What was enqueued when the set died is still delivered", arguments: ObserverKind.hopping)
    func enqueued(_ kind: ObserverKind) async {
        let log = Log<Int>()
        // Nothing is awaited before it is set: the observers may keep every thread of the pool until then.
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
        #expect(!registration.token.isActive)
        isDead.set()

        await eventually { log.count == (kind.isOnce ? 1 : 100) }
        expect(log.entries, equals: kind.isOnce ? [0] : Array(0..<100))
        registration.end()
    }

    @Test(
        "A removal drops what the set enqueued before it died, for every part of a token",
        arguments: ObserverKind.hopping, [false, true])
    func dropped(_ kind: ObserverKind, isMerged: Bool) async {
        let log = Log<Int>()
        // Nothing is awaited before it is set, as above.
        let isRemoved = Signal()
        let other = ObserverSet<Int>()
        let registration: KeptRegistration
        do {
            let set = ObserverSet<Int>()
            registration = kind.add(to: set) { value in
                isRemoved.wait()
                log.append(value)
            }
            for value in 0..<100 { set.notify(value) }
        }
        let token = isMerged ? ObserverToken([registration.token, other.add { _ in }]) : registration.token
        expect(kind.isOnce || token.pendingCount >= 99)

        let isMine = token.remove()

        // A one-time observer's call that has ended the registration, and not begun, is prevented, so this may be true.
        expect(isMine == isMerged || kind.isOnce && isMine)
        expect(token.pendingCount, equals: 0)
        isRemoved.set()
        await token.removeAndWait()
        // One call may have begun before.
        expect(log.entries == [] || log.entries == [0] && isMine == isMerged)
        registration.end()
    }

    // MARK: Afterwards

    /// Scenario 21: the token outlives the set.
    ///
    /// Source: boost deletion_test.cpp (test_signal_deletion: both connections are "not connected").
    @Test(
        "A token keeps neither set nor observer alive, and does nothing once the set is gone",
        arguments: ObserverKind.allCases)
    func tokens(_ kind: ObserverKind) async {
        let other = ObserverSet<Int>()
        weak var weakSet: ObserverSet<Int>?
        let captures = Lifetimes()
        let registration: KeptRegistration
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            registration = kind.add(to: set) { [calls, capture = Tracked(in: captures)] _ in
                if capture.isIntact { calls.increment() }
            }
            #expect(registration.token.isActive)
        }
        let token = registration.token
        expect(weakSet == nil)
        expect(captures.count, equals: ObserverKind.held.contains(kind) ? 0 : 1)

        let answers = Log<Bool>()
        await onThreads(4) { _ in
            answers.append(token.isActive)
            answers.append(token.remove())
            answers.append(other.remove(token))
        }

        expect(answers.entries, equals: Array(repeating: false, count: 12))
        #expect(token.description.contains("inactive"))
        expect(calls.value, equals: 0)
        registration.end()
    }

    // MARK: On several threads

    @Test(
        "Tokens may be used while their set dies or is emptied: each observer is released once",
        arguments: SourceEnd.allCases)
    func tokensInARace(_ end: SourceEnd) async {
        let released = Counter()
        let lifetimes = Lifetimes.current
        for _ in 0..<300 {
            let set = Shared<ObserverSet<Int>?>(ObserverSet())
            let tokens = (0..<8).compactMap { _ in
                set.value?.add { [capture = Tracked(in: lifetimes) { released.increment() }] _ in _ = capture }
            }
            await race(times: 1) { _ in
                var last = set.exchange(nil)
                end.end(&last)
            } _: { _ in
                for token in tokens { _ = (token.isActive, token.remove(), token.description) }
            }
            expect(tokens.allSatisfy { !$0.isActive && !$0.remove() })
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
            expect(set.value == nil)
        }

        #expect(calls.value.isMultiple(of: 4))
    }
}
