import Dispatch
import Testing

@testable import ObserverSet

/// The value of `starting(with:)`, while it is pending: it belongs to the registration in the set, whatever is between them.
@Suite("A pending first value", .lifetimesChecked, .againstHanging)
@MainActor struct FirstValueTests {
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "queue")
}

extension FirstValueTests {
    enum Chain: CaseIterable, Sendable {
        case mapThenStarting, startingThenMap, onceThenStarting, startingThenOnce, twiceOnceThenStarting,
            mapOfOnceThenStarting
        case mergeThenStarting, startingThenMerge, groupThenStarting

        func source(_ set: ObserverSet<Int>, _ other: ObserverSet<Int>) -> any NotificationSource<Int> {
            switch self {
            case .mapThenStarting: set.map { $0 }.starting(with: 1)
            case .startingThenMap: set.starting(with: 1).map { $0 }
            case .onceThenStarting: set.once.starting(with: 1)
            case .startingThenOnce: set.starting(with: 1).once
            case .twiceOnceThenStarting: set.once.once.starting(with: 1)
            case .mapOfOnceThenStarting: set.once.map { $0 }.filter { $0 > 0 }.starting(with: 1)
            case .mergeThenStarting: set.merge(with: other).starting(with: 1)
            case .startingThenMerge: set.starting(with: 1).merge(with: other)
            case .groupThenStarting: ObserverGroup(set, other).starting(with: ()).map { 1 }
            }
        }
    }

    enum End: CaseIterable, Sendable {
        case token, all, owner
    }

    /// Adds an observer on a queue that is suspended, and one that awaits on the main actor, which the test occupies.
    private func add(to source: any NotificationSource<Int>, _ owner: Tracked) -> [ObserverToken] {
        queue.suspend()
        return [
            source.addNonisolated(on: queue, owner) { [log] _, value in log.append(value) },
            source.addAsync(owner) { @MainActor [log] _, value in log.append(value) },
        ]
    }

    @Test("What ends the registration drops it", arguments: Chain.allCases, End.allCases)
    func dropped(_ chain: Chain, _ end: End) async {
        let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
        let owner = Tracked()
        let tokens = add(to: chain.source(set, other), owner)
        expect(tokens.map(\.pendingCount), equals: [1, 1], "\(chain)")

        switch end {
        case .token: expect(tokens.map { $0.remove() }, equals: [true, true])
        case .all: for set in [set, other] { set.removeAll() }
        case .owner: for set in [set, other] { set.removeAll(ownedBy: owner) }
        }

        expect(tokens.map(\.pendingCount), equals: [0, 0])
        queue.resume()
        for token in tokens { await token.removeAndWait() }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        expect(log.entries, equals: [], "\(chain), \(end)")
    }

    @Test("The set's release does not drop it, as it drops no enqueued value", arguments: Chain.allCases)
    func delivered(_ chain: Chain) async {
        let owner = Tracked()
        let tokens: [ObserverToken]
        do {
            let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
            tokens = add(to: chain.source(set, other), owner)
        }

        queue.resume()
        await eventually { log.entries.count == 2 }
        for token in tokens { await token.removeAndWait() }
        expect(log.entries, equals: [1, 1], "\(chain)")
    }

    /// Scenario 60: a set that goes before the first value of an observer behind other sources has been delivered.
    @Test("After the set's release, the token still counts it, and drops it", arguments: Chain.allCases)
    func droppedAfterTheRelease(_ chain: Chain) async {
        let owner = Tracked()
        let tokens: [ObserverToken]
        do {
            let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
            tokens = add(to: chain.source(set, other), owner)
        }
        expect(tokens.map(\.pendingCount), equals: [1, 1], "\(chain)")

        expect(tokens.map { $0.remove() }, equals: [false, false])

        expect(tokens.map(\.pendingCount), equals: [0, 0])
        queue.resume()
        for token in tokens { await token.removeAndWait() }
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        expect(log.entries, equals: [], "\(chain)")
    }

    @Test("After the set's release, the token still cancels the call with it", arguments: Chain.allCases)
    func cancelledAfterTheRelease(_ chain: Chain) async {
        let isCalled = Signal()
        let token: ObserverToken
        do {
            let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
            token = chain.source(set, other).addAsync { [log] _ in
                isCalled.set()
                if chain != .startingThenOnce { await cancellation() }
                log.append(Task.isCancelled ? 1 : 0)
            }
            await eventually { isCalled.isSet }
        }

        await token.removeAndWait()

        // The only call of an observer that is called once is never cancelled.
        expect(log.entries, equals: [chain == .startingThenOnce ? 0 : 1], "\(chain)")
    }

    @Test("If the source registers nothing, the token ends what is pending for the observer", arguments: [true, false])
    func registeredNowhere(isAwaited: Bool) async {
        let kept = KeptObserver<Int>()
        let source = kept.starting(with: 1)
        queue.suspend()
        let token =
            isAwaited
            ? source.addAsync { @MainActor [log] value in log.append(value) }
            : source.addNonisolated(on: queue) { [log] value in log.append(value) }
        expect(token.isActive == false && token.pendingCount == 1)
        #expect(!ObserverToken([token]).remove(), "there is no registration")
        queue.resume()
        await token.removeAndWait()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        await source.settled()

        expect(log.entries, equals: [])
        kept.observer.value = nil
    }

    @Test("If the source registers nothing, the token ends a second first value, too, when the first has been received")
    func registeredNowhereTwice() async {
        let kept = KeptObserver<Int>()
        let source = kept.starting(with: 1).map { $0 }.starting(with: 2)
        let token = source.addNonisolated(on: queue) { [log, queue] value in
            log.append(value)
            if value == 1 { queue.suspend() }
        }
        await eventually { log.count == 1 && token.pendingCount < 2 }
        expect(token.pendingCount, equals: 1)

        token.remove()

        queue.resume()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        expect(log.entries, equals: [1])
        kept.observer.value = nil
    }

    @Test("For an observer that is registered elsewhere, too, the value belongs to the registration behind its source")
    func registeredTwice() async {
        let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
        queue.suspend()
        let token = set.merge(with: other.starting(with: 1)).addNonisolated(on: queue) { [log] in log.append($0) }
        set.notify(2)
        expect(token.pendingCount, equals: 2)
        other.removeAll()
        expect(token.pendingCount, equals: 1)
        queue.resume()
        await set.settled()

        expect(log.entries, equals: [2])
        #expect(token.remove())
    }

    @Test(
        "An observer that ends itself in its first call does not receive another first value",
        arguments: [false, true], 0..<3)
    func endedByAnother(isIsolated: Bool, chain: Int) {
        let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
        let first = set.starting(with: 1)
        let chains: [any NotificationSource<Int>] = [first, first.once, other.merge(with: first)]
        let source: any NotificationSource<Int> = chains[chain].starting(with: 2)
        let call = { @Sendable [log] (value: Int) in
            log.append(value)
            for set in [set, other] { set.removeAll() }
        }
        let token = isIsolated ? source.add { @MainActor in call($0) } : source.addNonisolated(call)

        expect(log.entries, equals: [1])
        #expect(!token.isActive)
    }

    @Test("Sources that are made of others say so")
    func descriptions() async {
        let set = ObserverSet<Int>()
        let sources: [any NotificationSource<Int>] = [set.map { $0 }, set.once, set.starting(with: 1)]
        for source in sources {
            await source.settled()
            expect(String(reflecting: source), equals: "adapted from \(String(reflecting: set))")
        }
    }
}

extension FirstValueTests {
    @Test(
        "A token drops a first value that was enqueued after the set's end, which came between the two",
        arguments: [0, 1])
    func enqueuedAfterTheEnd(pendingBefore: Int) {
        let set = Shared<ObserverSet<Int>?>(ObserverSet())
        let source = set.value!.starting(with: 1)
        queue.suspend()
        let token = source.map { [set] number in
            guard number == 1 else { return number }
            for _ in 0..<pendingBefore { set.value?.notify(2) }
            set.value = nil
            return number
        }
        .addNonisolated(on: queue) { [log] number in log.append(number) }

        expect(token.pendingCount, equals: 1 + pendingBefore)
        token.remove()
        expect(token.pendingCount, equals: 0)
        queue.resume()
        queue.sync {}
        expect(log.entries, equals: [])
    }
}

extension FirstValueTests {
    @Test("A token of several registrations drops a first value that was enqueued after the end of the first set")
    func enqueuedAfterTheEndOfOne() {
        let first = Shared<ObserverSet<Int>?>(ObserverSet())
        // This set's producer is told while the observer is being registered.
        let second = ObserverSet<Int> { [first] _ in first.value = nil }
        let source = first.value!.merge(with: second).starting(with: 1)
        queue.suspend()
        let token = source.addNonisolated(on: queue) { [log] number in log.append(number) }

        expect(token.pendingCount, equals: 1)
        token.remove()
        expect(token.pendingCount, equals: 0)
        queue.resume()
        queue.sync {}
        expect(log.entries, equals: [])
    }
}
