import Synchronization
import Testing

@testable import ObserverSet

@Suite("A set that reports whether it is observed", .lifetimesChecked, .againstHanging)
struct DemandTests {
    private let log = Log<Bool>()
}

extension DemandTests {
    private func makeSet() -> ObserverSet<Int> { ObserverSet { [log] in log.append($0) } }

    @Test("The first observer starts the producer and removing the last one stops it, before either call returns")
    func firstAndLast() {
        let (set, owner) = (makeSet(), Tracked())
        expect(log.entries, equals: [])

        let first = set.add { _ in }
        expect(log.entries, equals: [true])
        let second = set.add { _ in }
        first.remove()
        expect(log.entries, equals: [true])
        second.remove()
        expect(log.entries, equals: [true, false])

        for removeAll in [{ set.removeAll() }, { _ = set.removeAll(ownedBy: owner) }] {
            log.removeAll()
            for _ in 0..<2 { set.addNonisolated(owner) { _, _ in } }
            expect(log.entries, equals: [true])
            removeAll()
            expect(log.entries, equals: [true, false])
        }
    }

    @Test("The death of an observed set stops the producer, and releases its function", arguments: [false, true])
    func death(holdsToken: Bool) {
        let lifetimes = Lifetimes.current
        // One that was never observed reports nothing.
        do { #expect(makeSet().isEmpty) }
        var set: ObserverSet<Int>? = ObserverSet { [log, capture = Tracked()] isObserved in
            #expect(capture.isIntact)
            log.append(isObserved)
        }
        var token = set?.add { _ in }
        // Otherwise only the set keeps the registry alive from here on.
        if !holdsToken { token = nil }

        set = nil

        expect(log.entries, equals: [true, false])
        expect(lifetimes.count, equals: 0)
        #expect(token?.remove() != true && token?.isActive != true)
    }

    @Test("The producer's function may add, remove and notify; its calls do not nest, and the last one is true")
    func reentrant() {
        let set = Shared<ObserverSet<Int>?>(nil)
        let isInside = Shared(false)
        let token = Shared<ObserverToken?>(nil)
        let calls = Counter()
        let observer: @Sendable (Int) -> Void = { _ in calls.increment() }
        set.value = ObserverSet { [log] isObserved in
            #expect(!isInside.exchange(true))
            log.append(isObserved)
            // The observer whose addition has started it is called.
            if isObserved { set.value?.notify(7) }
            if log.entries.count == 1 { token.value?.remove() }
            if log.entries.count == 2 { token.value = set.value?.add(observer) }
            isInside.value = false
        }

        token.value = set.value?.add(observer)
        // The token had not been returned yet during the function's first call.
        token.value?.remove()

        expect(log.entries, equals: [true, false, true])
        expect(calls.value, equals: 2)
        set.value?.removeAll()
        expect(log.entries, equals: [true, false, true, false])
        set.value = nil
    }

    @Test(
        "When threads add and remove, or owners die, the producer's calls alternate, never overlap, and end rightly",
        arguments: [false, true])
    func threads(ownersDie: Bool) async {
        for _ in 0..<many(20, long: 2_000) {
            let probe = Probe()
            let set = ObserverSet<Int> { probe.call($0) }

            await onThreads(4) { index in
                for round in 0..<100 {
                    if ownersDie { set.addNonisolated(Shared(round)) { _, _ in } }
                    let token = !ownersDie || round % 4 == index ? set.addNonisolated { _ in } : nil
                    if ownersDie || round % 3 == index % 3 { set.notify(round) }
                    token?.remove()
                }
            }
            set.notify(0)

            expect(probe.mistakes.value, equals: 0)
            #expect(!probe.isObserved)
            expect(set.registry?.registered, equals: 0)
            let last = set.add { _ in }
            #expect(probe.isObserved)
            last.remove()
        }
    }
}

/// Counts calls that overlap, and calls that repeat the previous value.
private final class Probe: Sendable {
    private let last = Atomic<Bool>(false)
    let mistakes = Counter()
    private let isInside = Atomic<Bool>(false)

    var isObserved: Bool { last.load(ordering: .relaxed) }

    func call(_ value: Bool) {
        if isInside.exchange(true, ordering: .relaxed) { mistakes.increment() }
        if last.exchange(value, ordering: .relaxed) == value { mistakes.increment() }
        isInside.store(false, ordering: .relaxed)
    }
}
