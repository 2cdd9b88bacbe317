import Dispatch
import ObserverSet
import Testing

/// Observers that are called at most once, whatever the notifying and removing threads do.
@Suite("Observers that are called once", .lifetimesChecked, .againstHanging)
struct OnceTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension OnceTests {
    @Test(
        "Behind `once`, or several, an observer of any kind is called once, or not at all if it is removed",
        arguments: ObserverKind.lasting, [false, true])
    func everyKind(_ kind: ObserverKind, fromTheMainActor: Bool) async {
        let notify: @Sendable () -> Void = { [set] in
            set.notify(1)
            set.notify(2)
        }
        let sources: [any NotificationSource<Int>] = [
            set.once, set.once.once, set.once.once.once, set.once.map { $0 }.once,
        ]
        for source in sources {
            let calls = Log<Int>()
            let registrations = (0..<2).map { _ in kind.add(to: source) { calls.append($0) } }
            let tokens = registrations.map(\.token)
            #expect(tokens[0].isActive && tokens[0].description.contains("registered at") && tokens[1].remove())

            if fromTheMainActor { await MainActor.run(body: notify) } else { notify() }
            await set.settled()

            expect(calls.entries, equals: [1])
            #expect(tokens.allSatisfy { !$0.isActive && !$0.remove() && $0.description.hasSuffix(", inactive)") })
            #expect(set.isEmpty)
            registrations.forEach { $0.end() }
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

    /// Ways in which an observer is called once, each for the set as its only source that notifies.
    enum Way: CaseIterable, Sendable {
        case once, onceTwice, mappedOnce, besideOnce, onceOfSeveral

        func source(_ set: ObserverSet<Int>, _ other: ObserverSet<Int>) -> any NotificationSource<Int> {
            switch self {
            case .once: set.once
            case .onceTwice: set.once.once
            case .mappedOnce: set.once.map { $0 }.filter { $0 > 0 }
            case .besideOnce: Everywhere([other, set.once])
            case .onceOfSeveral: Everywhere([other, set]).once
            }
        }
    }

    @Test(
        "If the end of its registration tells the set's producer, and the producer removes it, it is not called",
        arguments: ObserverKind.lasting, Way.allCases)
    func removedByTheProducer(_ kind: ObserverKind, _ way: Way) async {
        let token = Shared<ObserverToken?>(nil)
        let removals = Log<Bool>()
        let set = ObserverSet<Int> { isObserved in
            if !isObserved, let token = token.value { removals.append(token.remove()) }
        }
        let other = ObserverSet<Int>()
        let registration = kind.add(to: way.source(set, other)) { [log] value in log.append("called with \(value)") }
        token.value = registration.token

        for value in 1...2 { set.notify(value) }
        // Any change of the set may be the one that tells the producer, even one that `settled()` makes beside the call.
        await eventually { !removals.entries.isEmpty }
        await set.settled()

        expect(removals.entries, equals: [true])
        expect(log.entries, equals: [])
        #expect(set.isEmpty && other.isEmpty && !registration.token.isActive && !registration.token.remove())
        token.value = nil
        registration.end()
    }

    @Test("What a set's producer removes through the set is not called, either")
    func removedBySetInTheProducer() {
        let end = Shared<(@Sendable () -> Void)?>(nil)
        let set = ObserverSet<Int> { isObserved in if !isObserved { end.value?() } }
        let token = set.once.addNonisolated { [log] _ in log.append("called") }
        end.value = { [weak set] in expect(set?.remove(token), equals: true) }

        set.notify(1)

        expect(log.entries, equals: [])
        #expect(set.isEmpty)
        end.value = nil
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
            #expect(tokens.allSatisfy { !$0.isActive } && set.isEmpty && other.isEmpty)
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

        #expect(
            rounds.allSatisfy {
                $0.calls.value + $0.removals.value == 1 && $0.set.isEmpty && $0.other?.isEmpty != false
            })
    }
}

/// A set with one observer that is called once, and the numbers of its calls and removals.
private final class OnceRound: Sendable {
    let set = ObserverSet<Int>()
    let calls = Shared(0)
    let removals = Shared(0)
    /// A second set with which the observer is registered.
    let other: ObserverSet<Int>?
    private let registration: KeptRegistration

    init(_ kind: ObserverKind, other: ObserverSet<Int>? = nil) {
        self.other = other
        let source = Everywhere<Int>([set, other].compactMap(\.self))
        registration = kind.add(to: source) { [calls] _ in calls.value += 1 }
    }

    func remove() { if registration.token.remove() { removals.value += 1 } }
}
