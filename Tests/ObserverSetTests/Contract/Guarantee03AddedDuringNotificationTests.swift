import Foundation
import ObserverSet
import Testing

/// Guarantee 3: an observer that is added during a notification is first called by the next one.
@Suite("Guarantee 3: added during a notification", .lifetimesChecked, .againstHanging)
struct Guarantee03AddedDuringNotificationTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension Guarantee03AddedDuringNotificationTests {
    @Test("An observer added during a notification is first called by the next one", arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) async {
        let added = Log<KeptRegistration>()
        _ = set.once.add { [set, log] _ in
            added.append(kind.add(to: set) { log.append("added \($0)") })
        }

        set.notify(1)
        await set.settled()
        #expect(log.entries.isEmpty)

        set.notify(2)
        await set.settled()
        expect(log.entries, equals: ["added 2"])
    }

    /// Scenario 5: so many observers are added that the set must grow during the traversal.
    @Test(
        "However many observers any thread adds during a notification, the next is their first",
        arguments: [false, true])
    func addsThousands(onAnotherThread: Bool) {
        let log = Log<Int>()
        let add = { @Sendable [set] in for index in 0..<5_000 { _ = set.add { _ in log.append(index) } } }
        _ = set.once.add { _ in if onAnotherThread { join(add) } else { add() } }

        set.notify(1)
        expect(log.entries, equals: [])
        expect(set.count, equals: 5_000)

        set.notify(2)
        expect(log.entries, equals: Array(0..<5_000))
    }

    /// Scenario 5: each notification adds one observer.
    ///
    /// Source: argent#870 (called in the same emission), boost regression_test.cpp slot_connect_test (a slot that connects a slot).
    @Test(
        "An observer that adds another one at each call causes no endless loop",
        arguments: ObserverKind.lastingInPlace)
    func oneEachTime(_ kind: ObserverKind) {
        let calls = Counter()
        let added = Log<KeptRegistration>()
        let registration = kind.add(to: set) { [set] _ in
            calls.increment()
            added.append(kind.add(to: set) { _ in calls.increment() })
        }

        for round in 1...100 {
            let before = calls.value
            set.notify(round)
            expect(calls.value - before, equals: round)
            expect(set.count, equals: 1 + round)
        }
        set.removeAll()
        registration.end()
    }

    /// Scenario 6: an observer removes itself and is added again.
    @Test(
        "An observer that removes and adds itself again is called once, and comes last from the next notification on",
        arguments: ObserverKind.lastingInPlace)
    func removedAndAddedAgain(_ kind: ObserverKind) {
        let registration = Shared<KeptRegistration?>(nil)
        let first = kind.add(to: set) { [set, log] _ in
            log.append("first")
            expect(registration.value?.token.remove(), equals: true)
            registration.value = kind.add(to: set) { _ in log.append("again") }
        }
        registration.value = first
        let second = kind.add(to: set) { [log] _ in log.append("second") }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["first", "second", "second", "again"])
        expect(registration.value?.token != first.token && !first.token.remove())
        second.end()
        registration.value = nil
    }

    @Test("An observer added before a nested notification is called by it, but by none that had begun before")
    func nested() {
        _ = set.add { [set, log] value in
            guard value < 3 else { return }
            _ = set.add { log.append("added in \(value), called in \($0)") }
            if value == 1 { set.notify(2) }
        }

        set.notify(1)
        expect(log.entries, equals: ["added in 1, called in 2"])
        log.removeAll()

        set.notify(3)
        expect(log.entries, equals: ["added in 1, called in 3", "added in 2, called in 3"])
        set.removeAll()
    }

    @Test(
        "An observer added in a notification takes no slot of one removed in it, nor of all", arguments: [false, true])
    func placesAreNotUsedAgain(allAreRemoved: Bool) {
        let token = Shared<ObserverToken?>(nil)
        _ = set.once.add { [set, log] _ in
            if allAreRemoved { set.removeAll() } else { expect(token.value?.remove(), equals: true) }
            _ = set.add { log.append("added \($0)") }
        }
        token.value = set.add { [log] _ in log.append("removed") }
        _ = set.add { [log] in log.append("last \($0)") }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: allAreRemoved ? ["added 2"] : ["last 1", "last 2", "added 2"])
    }

    @Test("A notification that begins after `add` has returned calls the observer, whatever other threads do")
    func calledByTheNext() async {
        await onThreads(4) { [set] _ in
            for round in 0..<2_000 {
                let called = Signal()
                let token = set.add { _ in called.set() }
                set.notify(round)
                #expect(called.isSet)
                token.remove()
            }
        }
    }

    /// A thread can rely on what it has learned of an observer through the set itself.
    @Test("A thread that sees by `count` or `isEmpty` that there is an observer reaches it", arguments: [false, true])
    func seenThenNotified(byCount: Bool) async {
        let rounds = many(100_000, long: 1_000_000)
        let sets = (0..<rounds).map { _ in ObserverSet<Int>() }
        let calls = Counter()

        await race(times: rounds) { round in
            _ = sets[round].addNonisolated { _ in calls.increment() }
        } _: { round in
            var looks = 0
            while byCount ? sets[round].count == 0 : sets[round].isEmpty {
                looks += 1
                if looks > 200 { Thread.yield() }
            }
            sets[round].notify(round)
        }

        expect(calls.value, equals: rounds)
    }
}
