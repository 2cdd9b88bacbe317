import ObserverSet
import Testing

/// Guarantee 6: if an observer notifies, this inner notification completes before the outer one continues.
@Suite("Guarantee 6: nested notifications", .lifetimesChecked, .againstHanging)
struct Guarantee06NestedNotificationsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension Guarantee06NestedNotificationsTests {
    /// Scenario 9: what later observers receive.
    ///
    /// Source: Reactive-Extensions/RxJS#1171, ReactiveX/rxjs#6580, MetaMask/core#9840 (a stale value delivered last), psygnal#292 and
    /// #293. Depth first means that a later observer sees the inner value before the outer one.
    @Test("A nested notification reaches all observers before the outer one goes on", arguments: ObserverKind.inPlace)
    func depthFirst(_ kind: ObserverKind) {
        _ = set.add { [log] in log.append("a\($0)") }
        let registration = kind.add(to: set) { [set, log] value in
            log.append("b\(value)")
            if value == 1 { set.notify(2) }
        }
        _ = set.add { [log] in log.append("c\($0)") }

        set.notify(1)

        let inner = kind.isOnce ? ["a2", "c2"] : ["a2", "b2", "c2"]
        expect(log.entries, equals: ["a1", "b1"] + inner + ["c1"])
        registration.end()
        set.removeAll()
    }

    /// Scenario 8: bounded recursion.
    ///
    /// Source: RxSwift SubjectConcurrencyTest (testSubjectIsReentrant); roberthein/Observable#19 (a deadlock: the mutex
    /// was held while notifying); Qt tst_qobject recursiveSignalEmission.
    @Test(
        "Notifications several levels deep each complete before the enclosing one continues",
        arguments: ObserverKind.lastingInPlace)
    func nestedSeveralTimes(_ kind: ObserverKind) {
        let registrations = [
            kind.add(to: set) { [set, log] value in
                log.append("a\(value)")
                if value < 3 { set.notify(value + 1) }
            },
            kind.add(to: set) { [log] in log.append("b\($0)") },
        ]

        set.notify(0)

        expect(log.entries, equals: ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
        set.removeAll()
        registrations.forEach { $0.end() }
    }

    /// Source: psygnal#281, ReSwift#519 (a view that ends with the older state).
    @Test(
        "Later observers receive a nested notification first, and end with the latest state",
        arguments: ObserverKind.lasting)
    func innerGoesFirst(_ kind: ObserverKind) async {
        let state = Shared(0)
        let (received, shown) = (Log<Int>(), Log<Int>())
        @Sendable func change(_ new: Int) {
            state.value = new
            set.notify(new)
        }
        _ = set.add { _ in if state.value > 42 { change(42) } }
        let registration = kind.add(to: set) { value in
            received.append(value)
            shown.append(state.value)
        }

        await onThread { change(50) }
        await set.settled()

        expect(received.entries, equals: [42, 50])
        expect(shown.entries, equals: [42, 42])
        registration.end()
        set.removeAll()
    }

    @Test("A notification by another thread for which an observer waits, or from a `deinit`, is completed inside")
    func fromAnotherThreadAndADeinit() {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            guard value == 1 else { return }
            join { set.notify(2) }
            do { _ = Tracked { set.notify(3) } }
            log.append("goes on")
        }
        _ = set.add { [log] in log.append("b\($0)") }

        set.notify(1)

        expect(log.entries, equals: ["a1", "a2", "b2", "a3", "b3", "goes on", "b1"])
        set.removeAll()
    }

    /// After it has delivered once, a mailbox is idle again, and calls are made in place as before.
    @Test("On the main actor, notifications nest in the same way, also after a delivery from another thread")
    @MainActor func onTheMainActor() async {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            if value > 0, value < 3 { set.notify(value + 1) }
        }
        _ = set.add { [log] in log.append("b\($0)") }

        for _ in 0..<2 {
            log.removeAll()
            set.notify(1)
            expect(log.entries, equals: ["a1", "a2", "a3", "b3", "b2", "b1"])
            join { [set] in set.notify(0) }
            await set.settled()
        }
        set.removeAll()
    }

    /// Scenario 10: how deep notifications nest on an ordinary stack, and on that of a secondary thread.
    ///
    /// Source: canjs#27, brs-engine#905, ResInsight#14306. An owner is loaded for its call, which takes more of the
    /// stack in a debug build. Runs in its own process, since a stack that is too small ends the process.
    @Test(
        "Notifications nest 10,000 levels deep on 8 MiB of stack (6,000 with owners), and 500 on 512 KiB (350)",
        .disabled(if: AllocatedMemory.isSanitized, "A sanitizer enlarges frames"))
    func deepOnAStack() async {
        await #expect(processExitsWith: .success) {
            let (large, small) = (8 << 20, 512 << 10)
            for (hasOwner, size, limit) in [
                (false, large, 10_000), (false, small, 500), (true, large, 6_000), (true, small, 350),
            ] {
                let set = ObserverSet<Int>()
                let reached = Shared(0)
                // The observers' own frames are kept small, since they are not what is measured.
                if hasOwner {
                    set.add(reached) { [unowned set] reached, depth in
                        if depth < limit { set.notify(depth + 1) } else { reached.value = depth }
                    }
                } else {
                    _ = set.add { [unowned set] depth in
                        if depth < limit { set.notify(depth + 1) } else { reached.value = depth }
                    }
                }
                await onThread(stackSize: size) { set.notify(1) }
                expect(reached.value, equals: limit, "on \(size) bytes")
            }
        }
    }

    /// Scenario 8, with a removal at the greatest depth.
    @Test("An observer removed in a nested notification is not called by the outer ones, and is released when they end")
    func removedInTheDepth() {
        let isReleased = Signal()
        let token = Shared<ObserverToken?>(nil)
        _ = set.add { [set] value in
            if value < 5 { set.notify(value + 1) } else { expect(token.value?.remove(), equals: true) }
            #expect(!isReleased.isSet, "a notification may still be reading it")
        }
        token.value = set.add { [log, capture = Tracked { isReleased.set() }] in
            log.append("removed \($0 + capture.value)")
        }
        _ = set.add { [log] in log.append("kept \($0)") }

        set.notify(1)

        expect(log.entries, equals: ["kept 5", "kept 4", "kept 3", "kept 2", "kept 1"])
        #expect(isReleased.isSet)
        set.removeAll()
    }
}
