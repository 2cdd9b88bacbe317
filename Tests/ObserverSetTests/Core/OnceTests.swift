import Dispatch
import ObserverSet
import Testing

/// Observers that are called at most once, whatever the notifying and removing threads do.
@Suite("Observers that are called once", .lifetimesChecked, .againstHanging)
struct OnceTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("One-time observers are called by the first notification, in order, and then not again")
    func once() {
        let owner = Tracked(7)
        let line = #line + 1
        let token = set.once.add { [log] in log.append("once \($0)") }
        _ = set.add { [log] in log.append("always \($0)") }
        set.once.add(owner) { [log] owner, value in log.append("owner \(owner.value) \(value)") }
        #expect(token.isActive)
        #expect(token.description.contains("ObserverSetTests/OnceTests.swift:\(line)"))
        expect(set.count, equals: 3)

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["once 1", "always 1", "owner 7 1", "always 2"])
        #expect(!token.isActive && !token.remove())
        #expect(token.description.hasSuffix(", inactive)"))
        expect(set.count, equals: 1)
    }

    @Test(
        "Behind `once`, or several, an observer of any kind is called once, or not at all if it is removed",
        arguments: ObserverKind.lasting)
    func everyKind(_ kind: ObserverKind) async {
        let sources: [any NotificationSource<Int>] = [
            set.once, set.once.once, set.once.once.once, set.once.map { $0 }.once,
        ]
        for source in sources {
            let calls = Log<Int>()
            let registration = kind.add(to: source) { calls.append($0) }
            #expect(registration.token.isActive)

            set.notify(1)
            set.notify(2)
            await set.settled()

            expect(calls.entries, equals: [1])
            #expect(!registration.token.isActive && !registration.token.remove())
            #expect(set.isEmpty)
            registration.end()

            let removed = kind.add(to: source) { calls.append($0) }
            #expect(removed.token.remove())
            set.notify(3)
            await set.settled()
            expect(calls.entries, equals: [1])
            removed.end()
        }
    }

    @Test(
        "In its call a one-time observer is not counted, and its token is inactive, wherever it runs",
        arguments: ObserverKind.lasting)
    func insideItsCall(_ kind: ObserverKind) async {
        let token = Shared<ObserverToken?>(nil)
        let registration = kind.add(to: set.once) { [weak set, log] (_: Int) in
            log.append("\(set?.count ?? 0), \(set?.isEmpty == true), \(token.value?.isActive == false)")
            expect(token.value?.remove(), equals: false)
        }
        token.value = registration.token

        set.notify(1)
        await set.settled()

        expect(log.entries, equals: ["0, true, true"])
        token.value = nil
        registration.end()
    }

    @Test("A value waiting for a one-time observer is delivered after the set's death, even if `remove` is called")
    @MainActor func setDies() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let token = set?.once.add { @MainActor [log] in log.append("\($0)") }
        join { [set] in set?.notify(1) }
        set = nil
        #expect(token?.isActive == false && token?.remove() == false)
        expect(log.count, equals: 0)

        await eventually { log.count == 1 }

        expect(log.entries, equals: ["1"])
    }

    @Test("Either a one-time observer is called or its removal returns true", arguments: ObserverKind.lastingHopping)
    func calledOrRemovedWhileItWaits(_ kind: ObserverKind) async {
        var removals = 0
        for value in 0..<20 {
            let registration = kind.add(to: set.once) { [log] (value: Int) in log.append("\(value)") }
            set.notify(value)
            if value.isMultiple(of: 2) { await Task.yield() }
            if registration.token.remove() { removals += 1 }
            await set.settled()
            registration.end()
        }
        await eventually { log.count + removals == 20 }
        expect(log.count + removals, equals: 20)
        #expect(set.isEmpty)
    }

    @Test(
        "A value that is skipped before or behind `once` takes nothing: the observer is called with the next one",
        arguments: ObserverKind.lasting)
    func mappedAndFiltered(_ kind: ObserverKind) async {
        let call: @Sendable (Int) -> Void = { [log] in log.append("\($0)") }
        let registrations = [
            kind.add(to: set.filter { $0 > 1 }.once) { call(10 + $0) },
            kind.add(to: set.once.filter { $0 > 1 }) { call(20 + $0) },
            kind.add(to: set.map { -$0 }.once) { call(30 + $0) },
            kind.add(to: set.once.compactMap { $0 > 2 ? -$0 : nil }) { call(40 + $0) },
            kind.add(to: set.filter { $0 > 1 }.once.filter { $0 > 2 }) { call(50 + $0) },
        ]
        var remaining: [Int] = []
        for value in 1...4 {
            set.notify(value)
            await set.settled()
            remaining.append(set.count)
        }

        expect(log.entries.sorted(), equals: ["12", "22", "29", "37", "53"])
        expect(remaining, equals: [4, 2, 0, 0])
        #expect(registrations.allSatisfy { !$0.token.isActive && !$0.token.remove() })
        registrations.forEach { $0.end() }
    }

    @Test("An observer that is added twice for one call is called once by each registration")
    func registeredTwice() async {
        let keeper = Keeper()
        Everywhere([set, set]).once.add(keeper) { [log] (_: isolated Keeper, value) in log.append("group \(value)") }
        Everywhere([set.once, set.once]).add(keeper) { [log] (_: isolated Keeper, value) in
            log.append("members \(value)")
        }

        set.notify(1)
        set.notify(2)
        await set.settled()

        expect(log.entries, equals: ["group 1", "members 1", "members 1"])
        #expect(set.isEmpty)
    }

    // MARK: Threads

    @Test("A one-time observer is called by exactly one of many threads' notifications, of one set or of two")
    func manyThreads() async {
        let owner = Tracked()
        for _ in 0..<100 {
            let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
            let calls = Counter()
            let tokens = [
                set.once.add { _ in _ = calls.increment() },
                set.once.add(owner) { _, _ in calls.increment() },
                Everywhere([set, other]).once.add { _ in _ = calls.increment() },
            ]

            await onThreads(8) { thread in (thread.isMultiple(of: 2) ? set : other).notify(thread) }

            expect(calls.value, equals: 3)
            #expect(tokens.allSatisfy { !$0.isActive })
            #expect(set.isEmpty && other.isEmpty)
        }
    }

    @Test(
        "A one-time observer in one set or two is either called, or removed by one removal that returns true",
        arguments: [ObserverKind.once, .ownerOnce], [false, true])
    func calledOrRemoved(_ kind: ObserverKind, inTwoPlaces: Bool) async {
        let rounds = (0..<2_000).map { _ in OnceRound(kind, other: inTwoPlaces ? ObserverSet() : nil) }

        await race(times: rounds.count) { round in
            rounds[round].set.notify(1)
        } _: { round in
            rounds[round].remove()
        }

        #expect(rounds.allSatisfy { $0.calls.value + $0.removals.value == 1 })
        #expect(rounds.allSatisfy { $0.set.isEmpty && $0.other?.isEmpty != false })
    }

    @Test(
        "A one-time observer notified while being added is called at most once, and its token tells whether it was")
    func notifiedWhileAdded() async {
        let rounds = (0..<2_000).map { _ in OnceRound(.once, isEmpty: true) }

        await race(times: rounds.count) { round in
            for _ in 0..<3 { rounds[round].set.notify(1) }
        } _: { round in
            rounds[round].add()
        }

        #expect(rounds.allSatisfy { $0.isActive == ($0.calls.value == 0) })
        #expect(rounds.allSatisfy { $0.set.count == 1 - $0.calls.value })
        // Observers that the first notification has missed are called by the next one, the others are not.
        for round in rounds { round.set.notify(2) }
        #expect(rounds.allSatisfy { $0.calls.value == 1 && $0.set.isEmpty })
    }
}

/// A set with one observer that is called once, and the numbers of its calls and removals.
private final class OnceRound: Sendable {
    let set = ObserverSet<Int>()
    let calls = Shared(0)
    let removals = Shared(0)
    /// A second set with which the observer is registered.
    let other: ObserverSet<Int>?
    private let kind: ObserverKind
    private let registration = Shared<KeptRegistration?>(nil)

    init(_ kind: ObserverKind, isEmpty: Bool = false, other: ObserverSet<Int>? = nil) {
        self.kind = kind
        self.other = other
        if !isEmpty { add() }
    }

    var isActive: Bool { registration.value?.token.isActive ?? false }

    func add() {
        let source = Everywhere<Int>([set, other].compactMap(\.self))
        registration.value = kind.add(to: source) { [calls] _ in calls.value += 1 }
    }

    func remove() {
        if registration.value?.token.remove() == true { removals.value += 1 }
    }
}
