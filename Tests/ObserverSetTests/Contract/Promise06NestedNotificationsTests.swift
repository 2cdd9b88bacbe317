import ObserverSet
import Testing

/// Promise 6: nested notifications are depth first: the inner one completes before the outer one goes on.
@Suite("Promise 6: nested notifications", .lifetimesChecked, .againstHanging)
struct Promise06NestedNotificationsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

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
        "Notifications that are nested several levels deep each complete before the enclosing one continues",
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

    /// Scenario 9: what later observers receive.
    ///
    /// Source: Reactive-Extensions/RxJS#1171, ReactiveX/rxjs#6580, MetaMask/core#9840 (a stale value delivered last), psygnal#292 and
    /// #293. Depth first means that a later observer sees the inner value before the outer one.
    @Test("An earlier observer receives the outer value first, and a later observer the inner value first")
    func earlierAndLater() {
        let set = ObserverSet<String>()
        _ = set.add { [log] in log.append("earlier \($0)") }
        _ = set.add { [set] in if $0 == "bad" { set.notify("good") } }
        _ = set.add { [log] in log.append("later \($0)") }

        set.notify("bad")

        expect(log.entries, equals: ["earlier bad", "earlier good", "later good", "later bad"])
        set.removeAll()
    }

    @Test(
        "Later observers receive a nested notification before the outer one, also on other actors and queues",
        arguments: ObserverKind.lasting)
    func innerGoesFirst(_ kind: ObserverKind) async {
        _ = set.add { [set] value in
            if value == 1 { set.notify(2) }
        }
        let received = Log<Int>()
        let registration = kind.add(to: set) { [received] in received.append($0) }

        await onThread { [set] in set.notify(1) }
        await set.settled()

        expect(received.entries, equals: [2, 1])
        registration.end()
        set.removeAll()
    }

    @Test("An observer that notifies twice has each value delivered to all before it goes on")
    func twice() {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            if value == 0 {
                set.notify(1)
                set.notify(2)
            }
        }
        _ = set.add { [log] in log.append("b\($0)") }
        _ = set.add { [log] in log.append("c\($0)") }

        set.notify(0)

        expect(log.entries, equals: ["a0", "a1", "b1", "c1", "a2", "b2", "c2", "b0", "c0"])
        set.removeAll()
    }

    /// Source: psygnal#281, ReSwift#519 (a view that ends with the older state).
    @Test(
        "Observers that read the state in their call end with the latest one, wherever they run",
        arguments: ObserverKind.lasting)
    func stateThatIsRead(_ kind: ObserverKind) async {
        let changed = ObserverSet<Int>()
        let state = Shared(0)
        let shown = Log<Int>()
        @Sendable func set(_ new: Int) {
            state.value = new
            changed.notify(0)
        }
        _ = changed.add { _ in if state.value > 42 { set(42) } }
        let registration = kind.add(to: changed) { _ in shown.append(state.value) }

        await onThread { set(50) }
        await changed.settled()

        expect(shown.entries, equals: [42, 42])
        registration.end()
        changed.removeAll()
    }

    @Test("Notifications that every observer makes form a tree of calls, which is traversed depth first")
    func tree() {
        for index in 0..<3 {
            _ = set.add { [set, log] depth in
                log.append("<\(index)")
                if depth < 3 { set.notify(depth + 1) }
                log.append(">")
            }
        }

        set.notify(0)

        func walk(_ depth: Int) -> [String] {
            (0..<3).flatMap { ["<\($0)"] + (depth < 3 ? walk(depth + 1) : []) + [">"] }
        }
        expect(log.entries, equals: walk(0))
        set.removeAll()
    }

    /// Scenario 8, across sets.
    ///
    /// Source: as for one set; two models that observe each other.
    @Test("Notifications of two sets that notify each other are depth first as well")
    func twoSets() {
        let other = ObserverSet<Int>()
        _ = set.add { [log] in
            log.append("set \($0)")
            other.notify($0 + 1)
        }
        _ = set.add { [log] in log.append("set again \($0)") }
        _ = other.add { [set, log] in
            log.append("other \($0)")
            if $0 < 3 { set.notify($0 + 1) }
        }

        set.notify(0)

        expect(
            log.entries,
            equals: [
                "set 0", "other 1", "set 2", "other 3", "set again 2", "set again 0",
            ])
        set.removeAll()
    }

    @Test("A notification by another thread, for which an observer waits, completes before the outer one goes on")
    func onAnotherThread() {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            if value == 1 { join { set.notify(2) } }
        }
        _ = set.add { [log] in log.append("b\($0)") }

        set.notify(1)

        expect(log.entries, equals: ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("A nested notification from a `deinit` completes before the outer one goes on")
    func fromADeinit() {
        let parameters = ObserverSet<Tracked>()
        _ = set.add { [log] in log.append("inner \($0)") }
        _ = parameters.add { [set, log] _ in
            log.append("a")
            _ = Tracked { set.notify(2) }
            log.append("a ends")
        }
        _ = parameters.add { [log] _ in log.append("b") }

        parameters.notify(Tracked())

        expect(log.entries, equals: ["a", "inner 2", "a ends", "b"])
    }

    @Test("On the main actor, a nested notification reaches the actor's observers before the outer one continues")
    @MainActor func onTheMainActor() {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            if value < 3 { set.notify(value + 1) }
        }
        _ = set.add { [log] in log.append("b\($0)") }

        set.notify(0)

        expect(log.entries, equals: ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
        set.removeAll()
    }

    /// After it has delivered once, a mailbox is idle again, and calls are made in place as before.
    @Test("On the main actor, nested notifications are still depth first after a delivery from another thread")
    @MainActor func onTheMainActorAfterADelivery() async {
        _ = set.add { [set, log] value in
            log.append("a\(value)")
            if value == 1 { set.notify(2) }
        }
        _ = set.add { [log] in log.append("b\($0)") }
        join { [set] in set.notify(0) }
        await set.settled()

        set.notify(1)

        expect(log.entries.dropFirst(2), equals: ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("On an actor, a nested notification reaches the actor's observers before the outer one continues")
    func onAnActor() async {
        let keeper = Keeper()
        set.add(keeper) { [set, log] (keeper: isolated Keeper, value) in
            log.append("a\(value)")
            if value == 1 { set.notify(2) }
        }
        set.add(keeper) { [log] (_: isolated Keeper, value) in log.append("b\(value)") }

        await keeper.perform { [set] _ in set.notify(1) }

        expect(log.entries, equals: ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("A notification may nest ten thousand deep where the stack allows it")
    func deep() async {
        let deepest = await onThread(stackSize: 64 << 20) { [set] in
            let deepest = Counter()
            _ = set.add { [set] depth in
                deepest.increment()
                if depth < 10_000 { set.notify(depth + 1) }
            }
            set.notify(1)
            return deepest.value
        }

        expect(deepest, equals: 10_000)
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
            for form in DeepForm.allCases {
                for (size, limit) in [
                    (8 << 20, form == .owner ? 6_000 : 10_000), (512 << 10, form == .owner ? 350 : 500),
                ] {
                    let reached = await form.depth(limit, stackSize: size)
                    expect(reached, equals: limit, "\(form) on \(size) bytes")
                }
            }
        }
    }

    /// Scenario 8, with a removal at the greatest depth.
    @Test(
        "An observer removed in a nested notification is not called by the outer ones, and is released when they end")
    func removedInTheDepth() {
        let isReleased = Signal()
        let capture = Shared<Tracked?>(Tracked { isReleased.set() })
        let token = Shared<ObserverToken?>(nil)
        _ = set.add { [set] value in
            if value < 5 { set.notify(value + 1) } else { expect(token.value?.remove(), equals: true) }
            #expect(!isReleased.isSet, "a notification may still be reading it")
        }
        token.value = set.add { [log, capture = capture.exchange(nil)] in log.append("removed \($0 + capture!.value)") }
        _ = set.add { [log] in log.append("kept \($0)") }

        set.notify(1)

        expect(log.entries, equals: ["kept 5", "kept 4", "kept 3", "kept 2", "kept 1"])
        #expect(isReleased.isSet)
        set.removeAll()
    }
}

/// The kinds of observers that differ in how much of the stack a call takes.
enum DeepForm: String, CaseIterable, Codable, Sendable {
    case closure, nonisolated, owner

    /// Nests notifications that deep on a separate thread; returns the depth that was reached.
    func depth(_ limit: Int, stackSize: Int) async -> Int {
        let set = ObserverSet<Int>()
        let calls = Shared(0)
        // The observers' own frames are kept small, since they are not what is measured.
        switch self {
        case .closure:
            _ = set.add { [unowned set] depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        case .nonisolated:
            _ = set.addNonisolated { [unowned set] depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        case .owner:
            set.add(calls) { [unowned set] calls, depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        }
        await onThread(stackSize: stackSize) { set.notify(1) }
        return calls.value
    }
}
