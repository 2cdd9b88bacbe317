import Synchronization
import Testing

@testable import ObserverSet

@Suite("A set that reports whether it is observed", .lifetimesChecked, .againstHanging)
struct DemandTests {
    private let log = Log<Bool>()

    private func makeSet() -> ObserverSet<Int> {
        ObserverSet { [log] in log.append($0) }
    }

    @Test("The first observer starts the producer and removing the last one stops it, before either call returns")
    func firstAndLast() {
        let set = makeSet()
        expect(log.entries, equals: [])

        let first = set.add { _ in }
        expect(log.entries, equals: [true])
        let second = set.add { _ in }
        first.remove()
        expect(log.entries, equals: [true])
        second.remove()
        expect(log.entries, equals: [true, false])

        _ = set.add { _ in }
        expect(log.entries, equals: [true, false, true])
        set.removeAll()
        expect(log.entries, equals: [true, false, true, false])
    }

    @Test(
        "An observer of any kind starts the producer, and its removal stops the producer",
        arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) {
        let set = makeSet()

        let registration = kind.add(to: set) { _ in }
        expect(log.entries, equals: [true])
        registration.token.remove()

        expect(log.entries, equals: [true, false])
        registration.end()
    }

    @Test("A one-time observer stops the producer just before its call", arguments: ObserverKind.lasting)
    func once(_ kind: ObserverKind) async {
        let set = makeSet()
        let registration = kind.add(to: set.once) { [log] (_: Int) in expect(log.entries, equals: [true, false]) }

        set.notify(1)
        await set.settled()

        expect(log.entries, equals: [true, false])
        registration.end()
    }

    @Test("The first notification after the last owner's death stops the producer")
    func deadOwner() {
        let set = makeSet()
        var owner: Tracked? = Tracked()
        set.addNonisolated(owner!) { _, _ in }

        owner = nil
        set.notify(1)

        expect(log.entries, equals: [true, false])
    }

    @Test("`removeAll(ownedBy:)` stops the producer")
    func ownedBy() {
        let set = makeSet()
        let owner = Tracked()
        set.addNonisolated(owner) { _, _ in }
        set.addNonisolated(owner) { _, _ in }

        set.removeAll(ownedBy: owner)

        expect(log.entries, equals: [true, false])
    }

    @Test("The death of an observed set stops the producer, whether a token is held or not", arguments: [false, true])
    func death(holdsToken: Bool) {
        var set: ObserverSet<Int>? = makeSet()
        let token = set!.add { _ in }

        if holdsToken {
            set = nil
            expect(log.entries, equals: [true, false])
            #expect(!token.remove())
        } else {
            // Only the set keeps the registry alive from here on.
            _ = consume token
            set = nil
            expect(log.entries, equals: [true, false])
        }
    }

    @Test("The death of a set that was never observed does not call the producer's function")
    func deathUnobserved() {
        var set: ObserverSet<Int>? = makeSet()
        expect(set?.isEmpty, equals: true)
        set = nil
        expect(log.entries, equals: [])
    }

    @Test("The captures of the producer's function are released with the set, even if a token is still held")
    func tokenOutlivesTheSet() {
        let lifetimes = Lifetimes.current
        var set: ObserverSet<Int>? = ObserverSet { [log, capture = Tracked()] isObserved in
            #expect(capture.isIntact)
            log.append(isObserved)
        }
        let token = set?.add { _ in }

        set = nil

        expect(log.entries, equals: [true, false])
        expect(lifetimes.count, equals: 0)
        expect(token?.isActive, equals: false)
    }

    @Test("The producer's function may add and remove; its calls do not nest, and the last one reports the true state")
    func reentrant() {
        let set = Shared<ObserverSet<Int>?>(nil)
        let isInside = Shared(false)
        let token = Shared<ObserverToken?>(nil)
        set.value = ObserverSet { [log] isObserved in
            #expect(!isInside.exchange(true))
            log.append(isObserved)
            if log.entries.count == 1 { token.value?.remove() }
            if log.entries.count == 2 { token.value = set.value?.add { _ in } }
            isInside.value = false
        }

        token.value = set.value?.add { _ in }
        // The token had not been returned yet during the function's first call.
        token.value?.remove()

        expect(log.entries, equals: [true, false, true])
        set.value?.removeAll()
        expect(log.entries, equals: [true, false, true, false])
        set.value = nil
    }

    @Test("The producer's function may notify the observer whose addition has started it")
    func notifies() {
        let calls = Counter()
        let set = Shared<ObserverSet<Int>?>(nil)
        set.value = ObserverSet { isObserved in
            if isObserved { set.value?.notify(7) }
        }

        _ = set.value?.add { _ in calls.increment() }

        expect(calls.value, equals: 1)
        set.value = nil
    }

    @Test("A token that outlives the set does not keep the captures of the producer's function")
    func captures() {
        var set: ObserverSet<Int>? = ObserverSet { [capture = Tracked()] _ in _ = capture }
        let token = set?.add { _ in }
        set = nil
        expect(token?.isActive, equals: false)
    }

    @Test("When threads add and remove, the producer's calls alternate, never overlap, and end with the true state")
    func threads() async {
        for _ in 0..<many(20, long: 2_000) {
            let probe = Probe()
            let set = ObserverSet<Int> { probe.call($0) }

            await onThreads(4) { index in
                for round in 0..<100 {
                    let token = set.addNonisolated { _ in }
                    if round % 3 == index % 3 { set.notify(round) }
                    token.remove()
                }
            }
            expect(probe.overlaps.value, equals: 0)
            expect(probe.repetitions.value, equals: 0)
            #expect(!probe.isObserved)

            let last = set.add { _ in }
            #expect(probe.isObserved)
            last.remove()
        }
    }

    @Test("When owners die and notifications remove their entries, the producer's calls alternate and never overlap")
    func threadsWithDeadOwners() async {
        for _ in 0..<many(20, long: 2_000) {
            let probe = Probe()
            let set = ObserverSet<Int> { probe.call($0) }

            await onThreads(4) { index in
                for round in 0..<100 {
                    set.addNonisolated(Shared(round)) { _, _ in }
                    if round % 4 == index { set.addNonisolated { _ in }.remove() }
                    set.notify(round)
                }
            }
            set.notify(0)

            expect(probe.overlaps.value, equals: 0)
            expect(probe.repetitions.value, equals: 0)
            #expect(!probe.isObserved)
            expect(set.registry?.living, equals: 0)
        }
    }

    @Test("The producer is called before `add` returns if nobody else changes the set, also on another thread")
    func otherThread() async {
        let set = makeSet()
        await onThread { [log] in
            let token = set.add { _ in }
            expect(log.entries, equals: [true])
            token.remove()
            expect(log.entries, equals: [true, false])
        }
    }
}

/// Counts calls that overlap, and calls that repeat the previous value.
private final class Probe: Sendable {
    private let last = Atomic<Bool>(false)
    let overlaps = Counter()
    let repetitions = Counter()
    private let isInside = Atomic<Bool>(false)

    var isObserved: Bool { last.load(ordering: .relaxed) }

    func call(_ value: Bool) {
        if isInside.exchange(true, ordering: .relaxed) { overlaps.increment() }
        if last.exchange(value, ordering: .relaxed) == value { repetitions.increment() }
        isInside.store(false, ordering: .relaxed)
    }
}
