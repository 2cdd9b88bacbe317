import Dispatch
import ObserverSet
import Testing

/// Observers that are called at most once, whatever the notifying and removing threads do.
@Suite("Observers that are called once", .lifetimesChecked, .againstHanging)
struct OnceTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("A one-time observer is called by the first notification, and then not again")
    func once() {
        let token = set.once.add { [log] in log.append("once \($0)") }
        _ = set.add { [log] in log.append("always \($0)") }
        #expect(token.isActive)
        expect(set.count, equals: 2)

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["once 1", "always 1", "always 2"])
        #expect(!token.isActive)
        #expect(!token.remove())
        expect(set.count, equals: 1)
    }

    @Test(
        "Behind a source that is itself called once, an observer is called once, wherever it runs",
        arguments: ObserverKind.lasting)
    func onceBehindOnce(_ kind: ObserverKind) async {
        await onceBehindOnce(kind, set.once.once)
        await onceBehindOnce(kind, set.once.once.once)
        await onceBehindOnce(kind, set.once.map { $0 }.once)
    }

    private func onceBehindOnce(_ kind: ObserverKind, _ source: some NotificationSource<Int>) async {
        let calls = Log<Int>()
        let registration = kind.add(to: source) { calls.append($0) }
        #expect(registration.token.isActive)

        set.notify(1)
        set.notify(2)
        await set.settled()

        expect(calls.entries, equals: [1])
        #expect(!registration.token.isActive)
        #expect(!registration.token.remove())
        #expect(set.isEmpty)
        registration.end()

        let removed = kind.add(to: source) { calls.append($0) }
        #expect(removed.token.remove())
        set.notify(3)
        await set.settled()
        expect(calls.entries, equals: [1])
        removed.end()
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

    @Test("A one-time observer's token describes the registration, and after the call says that it is inactive")
    func descriptions() {
        let line = #line + 1
        let token = set.once.add { _ in }
        #expect(token.description.contains("ObserverSetTests/OnceTests.swift:\(line)"))

        set.notify(1)

        #expect(token.description.hasSuffix(", inactive)"))
    }

    @Test(
        "A value waiting for a one-time observer is delivered after the set's death, even if `remove` is called")
    func setDies() async {
        let listener = IsolatedListener()
        await listener.outliveASet(log)

        await eventually { log.count == 1 }

        expect(log.entries, equals: ["1"])
    }

    @Test("A one-time observer that is an owner's method is called once, whatever its parameters")
    func methods() {
        final class Window: Sendable {
            let log: Log<String>
            init(_ log: Log<String>) { self.log = log }
            func clear() { log.append("clear") }
            func show(_ value: Int) { log.append("show \(value)") }
            func move(_ from: Int, _ to: Int) { log.append("move \(from) to \(to)") }
        }
        let cleared = ObserverSet<Void>()
        let moved = ObserverSet<(Int, Int)>()
        let window = Window(log)
        cleared.once.add(method: Window.clear, of: window)
        set.once.add(method: Window.show, of: window)
        moved.once.add(method: Window.move, of: window)

        for _ in 0..<2 {
            cleared.notify()
            set.notify(1)
            moved.notify(2, 3)
        }

        expect(log.entries, equals: ["clear", "show 1", "move 2 to 3"])
        #expect(cleared.isEmpty && set.isEmpty && moved.isEmpty)
        withExtendedLifetime(window) {}
    }

    @Test("Behind `once`, every form adds an observer that is called once, wherever it runs")
    func everyForm() async {
        let keeper = Keeper()
        let queue = DispatchQueue(label: "once")
        let tokens = [
            set.once.add { [log] in log.append("closure \($0)") },
            set.once.add { @MainActor [log] in log.append("main \($0)") },
            set.once.add(log) { log, value in log.append("owner \(value)") },
            set.once.add(log) { @MainActor log, value in log.append("main owner \(value)") },
            set.once.add(keeper) { [log] (_: isolated Keeper, value) in log.append("actor \(value)") },
            set.once.addNonisolated { [log] in log.append("nonisolated \($0)") },
            set.once.addNonisolated(log) { log, value in log.append("nonisolated owner \(value)") },
            set.once.addNonisolated(on: queue) { [log] in log.append("queue \($0)") },
            set.once.addNonisolated(on: queue, log) { log, value in log.append("queue owner \(value)") },
            set.once.addAsync { [log] value in
                await Task.yield()
                log.append("awaited \(value)")
            },
            set.once.addAsync(log) { log, value in
                await Task.yield()
                log.append("awaited owner \(value)")
            },
            set.once.addAsync(keeper) { [log] (_: isolated Keeper, value) in
                await Task.yield()
                log.append("awaited actor \(value)")
            },
        ]
        expect(set.count, equals: 12)

        for value in 1...3 { set.notify(value) }
        await set.settled()
        await eventually { log.count == 12 }

        let expected = [
            "actor 1", "awaited 1", "awaited actor 1", "awaited owner 1", "closure 1", "main 1", "main owner 1",
            "nonisolated 1", "nonisolated owner 1", "owner 1", "queue 1", "queue owner 1",
        ]
        expect(log.entries.sorted(), equals: expected)
        #expect(set.isEmpty)
        let left = tokens.count { $0.isActive || $0.remove() }
        expect(left, equals: 0)
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

    @Test("`settled()` of a source for one call waits for its observers")
    func settled() async {
        let once = set.once
        _ = once.addAsync { [log] value in
            await Task.yield()
            log.append("\(value)")
        }
        set.notify(1)

        await once.settled()

        expect(log.entries, equals: ["1"])
    }

    @Test("A one-time observer that awaits is not cancelled by its own end")
    func awaitedIsNotCancelled() async {
        let isCancelled = Log<Bool>()
        _ = set.once.addAsync { _ in
            await Task.yield()
            isCancelled.append(Task.isCancelled)
        }

        set.notify(1)
        set.notify(2)
        await eventually { isCancelled.count > 0 }
        await set.settled()

        expect(isCancelled.entries, equals: [false])
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
        Everywhere(sets: [set, set]).once.add(keeper) { [log] (_: isolated Keeper, value) in
            log.append("group \(value)")
        }
        EverywhereOnce(set: set).add(keeper) { [log] (_: isolated Keeper, value) in
            log.append("members \(value)")
        }
        set.notify(1)
        set.notify(2)
        await set.settled()
        expect(log.entries, equals: ["group 1", "members 1", "members 1"])
        #expect(set.isEmpty)
    }

    @Test("A one-time observer whose owner is dead when it is registered is never called", arguments: [false, true])
    func deadWhenRegistered(isIsolated: Bool) {
        let late = LateSource()
        do {
            let owner = Log<Int>()
            if isIsolated {
                late.once.add(owner) { @MainActor owner, value in owner.append(value) }
            } else {
                late.once.addNonisolated(owner) { owner, value in owner.append(value) }
            }
        }
        late.register(with: set)
        set.notify(1)
        #expect(set.isEmpty)
    }

    @Test("Several one-time observers are each called once, in order")
    func several() {
        for index in 0..<5 { _ = set.once.add { [log] in log.append("\(index) \($0)") } }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: (0..<5).map { "\($0) 1" })
        #expect(set.isEmpty)
    }

    // MARK: Owners

    @Test("A one-time observer with an owner is called once, and is passed the owner")
    func owner() {
        let owner = Tracked(7)
        let token = set.once.add(owner) { [log] owner, value in log.append("\(owner.value) \(value)") }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["7 1"])
        #expect(!token.isActive)
        expect(Lifetimes.current.count, equals: 1)
    }

    @Test("`removeAll(ownedBy:)` removes an owner's one-time observers before they are called")
    func removedByOwner() {
        let owner = Tracked()
        set.once.add(owner) { [log] _, _ in log.append("called") }

        expect(set.removeAll(ownedBy: owner), equals: 1)
        set.notify(1)

        expect(log.entries, equals: [])
    }

    // MARK: Nesting

    @Test("A one-time observer is called by a notification nested in an earlier observer's call, not by the outer one")
    func nestedBefore() {
        _ = set.add { [log, weak set] value in
            log.append("first \(value)")
            if value == 1 { set?.notify(2) }
        }
        _ = set.once.add { [log] in log.append("once \($0)") }

        set.notify(1)

        expect(log.entries, equals: ["first 1", "first 2", "once 2"])
    }

    // MARK: Actors

    @Test("A one-time observer that an actor adds for itself is called once, in the actor's isolation")
    func actor() async {
        let actor = Listener()
        await actor.observeOnce(set)

        await onThread { [set] in
            for value in 1...100 { set.notify(value) }
        }
        await set.settled()

        expect(await actor.values, equals: [1])
        #expect(set.isEmpty)
    }

    // MARK: Threads

    @Test("A one-time observer is called by exactly one of many threads' notifications")
    func manyThreads() async {
        let owner = Tracked()
        for _ in 0..<100 {
            let set = ObserverSet<Int>()
            let calls = Log<Int>()
            let tokens = [
                set.once.add { calls.append($0) },
                set.once.add(owner) { _, value in calls.append(value) },
            ]

            await onThreads(8) { thread in set.notify(thread) }

            expect(calls.count, equals: 2)
            #expect(tokens.allSatisfy { !$0.isActive })
            #expect(set.isEmpty)
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

        #expect(rounds.allSatisfy { $0.calls.value <= 1 })
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
        let source = Everywhere(sets: [set, other].compactMap(\.self))
        registration.value = kind.add(to: source) { [calls] _ in calls.value += 1 }
    }

    func remove() {
        if registration.value?.token.remove() == true { removals.value += 1 }
    }
}

/// A source that registers an observer in each of several sets.
private struct Everywhere: NotificationSource {
    let sets: [ObserverSet<Int>]

    func register(_ observer: Observer<Int>) -> ObserverToken {
        ObserverToken(sets.map { $0.register(observer) })
    }

    func settled() async {
        for set in sets { await set.settled() }
    }
}

/// A source that registers its observers twice with a set, for one call each.
private struct EverywhereOnce: NotificationSource {
    let set: ObserverSet<Int>

    func register(_ observer: Observer<Int>) -> ObserverToken {
        ObserverToken([set.once.register(observer), set.once.register(observer)])
    }

    func settled() async { await set.settled() }
}

/// A source that registers its observers later.
private final class LateSource: NotificationSource {
    private let observers = Guarded<[Observer<Int>]>([])

    func register(_ observer: Observer<Int>) -> ObserverToken {
        observers.withLock { $0.append(observer) }
        return ObserverToken([])
    }

    func register(with set: ObserverSet<Int>) {
        for observer in observers.withLock({ $0 }) { set.register(observer) }
    }

    func settled() async {}
}

/// An actor that adds an observer for itself.
private actor Listener {
    var values: [Int] = []

    func observeOnce(_ set: ObserverSet<Int>) {
        _ = set.once.add { value in self.values.append(value) }
    }
}

private actor IsolatedListener {
    /// Releases a set while a value waits for this actor.
    func outliveASet(_ log: Log<String>) {
        let token: ObserverToken
        do {
            let set = ObserverSet<Int>()
            token = set.once.add(self) { (_: isolated IsolatedListener, value) in log.append("\(value)") }
            join { set.notify(1) }
        }
        #expect(!token.isActive)
        #expect(!token.remove())
        expect(log.count, equals: 0)
    }
}
