import Dispatch
import ObserverSet
import Testing

/// Observers that are called at most once, whatever the threads do.
@Suite("Observers that are called once", .lifetimesChecked, .againstHanging)
struct AddOnceTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("It is called by the first notification, and then no more")
    func once() {
        let token = set.addOnce { [log] in log.append("once \($0)") }
        set.add { [log] in log.append("always \($0)") }
        #expect(token.isActive)
        #expect(set.count == 2)

        set.notify(1)
        set.notify(2)

        #expect(log.entries == ["once 1", "always 1", "always 2"])
        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(set.count == 1)
    }

    @Test("Inside its call it is no longer counted, and its token is inactive")
    func removedBeforeItsCall() {
        let token = Shared<ObserverToken?>(nil)
        token.value = set.addOnce { [log, set] _ in
            log.append("\(set.count) \(token.value?.isActive ?? true) \(token.value?.remove() ?? true)")
        }

        set.notify(1)

        #expect(log.entries == ["0 false false"])
    }

    @Test("Its captures live until its call has ended, and no longer")
    func captures() {
        set.addOnce { [log, capture = Tracked(5)] value in
            log.append("\(capture.value + value) \(capture.isIntact)")
        }
        #expect(Lifetimes.current.count == 1)

        set.notify(1)

        #expect(log.entries == ["6 true"])
        #expect(Lifetimes.current.count == 0)
    }

    @Test("Several are each called once, in order")
    func several() {
        for index in 0..<5 { set.addOnce { [log] in log.append("\(index) \($0)") } }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == (0..<5).map { "\($0) 1" })
        #expect(set.isEmpty)
    }

    @Test("Removed before, it is never called, and its captures go at once")
    func removedBefore() {
        let token = set.addOnce { [log, capture = Tracked()] _ in log.append("\(capture.value)") }

        #expect(token.remove())
        #expect(Lifetimes.current.count == 0)
        set.notify(1)

        #expect(log.entries == [])
        #expect(!token.remove())
    }

    @Test("Removed by an earlier observer of the same notification, it is not called")
    func removedByAnother() {
        let token = Shared<ObserverToken?>(nil)
        set.add { [log] _ in log.append("\(token.value?.remove() ?? false)") }
        token.value = set.addOnce { [log] _ in log.append("called") }

        set.notify(1)

        #expect(log.entries == ["true"])
    }

    @Test("It dies with its set, uncalled")
    func diesWithItsSet() {
        var set: ObserverSet<Int>? = ObserverSet()
        let token = set!.addOnce { [log, capture = Tracked()] _ in log.append("\(capture.value)") }

        set = nil

        #expect(set == nil)
        #expect(!token.isActive && !token.remove())
        #expect(Lifetimes.current.count == 0)
        #expect(log.entries == [])
    }

    // MARK: Owners

    @Test("A value that waits for its actor is delivered, though the set has died")
    @MainActor func deliveredAfterTheSetsDeath() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let calls = Shared(0)
        let token = set?.addOnce { value in calls.value += value }

        await onThread { [set = set!] in
            set.notify(1)
            set.notify(2)
        }
        set = nil
        #expect(token?.isActive == false)
        await eventually { calls.value > 0 }

        #expect(calls.value == 1)
        #expect(token?.remove() == false)
    }

    @Test("With an owner, it is passed the owner, once")
    func owner() {
        let owner = Tracked(7)
        let token = set.addOnce(owner) { [log] owner, value in log.append("\(owner.value) \(value)") }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == ["7 1"])
        #expect(!token.isActive)
        #expect(Lifetimes.current.count == 1)
    }

    @Test("With a dead owner it is not called, and is gone")
    func deadOwner() {
        var owner: Tracked? = Tracked()
        let token = set.addOnce(owner!) { [log, capture = Tracked()] _, _ in log.append("\(capture.value)") }

        owner = nil
        #expect(owner == nil)
        #expect(!token.isActive)
        set.notify(1)

        #expect(log.entries == [])
        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
    }

    @Test("An owner's are removed by its name before they are called")
    func removedByOwner() {
        let owner = Tracked()
        set.addOnce(owner) { [log] _, _ in log.append("called") }

        #expect(set.removeAll(ownedBy: owner) == 1)
        set.notify(1)

        #expect(log.entries == [])
    }

    // MARK: Nesting

    @Test("A notification nested in its call does not call it again")
    func nested() {
        set.addOnce { [log, weak set] value in
            log.append("once \(value)")
            set?.notify(value + 1)
        }
        set.add { [log] in log.append("always \($0)") }

        set.notify(1)

        #expect(log.entries == ["once 1", "always 2", "always 1"])
    }

    @Test("A notification nested in an earlier observer's call calls it, the outer one does not")
    func nestedBefore() {
        set.add { [log, weak set] value in
            log.append("first \(value)")
            if value == 1 { set?.notify(2) }
        }
        set.addOnce { [log] in log.append("once \($0)") }

        set.notify(1)

        #expect(log.entries == ["first 1", "first 2", "once 2"])
    }

    @Test("One that adds another in its call is followed by it at the next notification")
    func chained() {
        set.addOnce { [log, weak set] value in
            log.append("first \(value)")
            set?.addOnce { [log] in log.append("second \($0)") }
        }

        for value in 1...3 { set.notify(value) }

        #expect(log.entries == ["first 1", "second 2"])
        #expect(set.isEmpty)
    }

    // MARK: Actors

    @Test("On the main actor it is called in place, once")
    @MainActor
    func mainActorInPlace() {
        set.addOnce { [log] value in
            MainActor.assertIsolated()
            log.append("\(value)")
        }

        set.notify(1)
        #expect(log.entries == ["1"])
        set.notify(2)

        #expect(log.entries == ["1"])
        #expect(set.isEmpty)
    }

    @Test(
        "Notified from elsewhere again and again, it is called on the main actor with the first value")
    @MainActor
    func mainActorFromElsewhere() async {
        let token = set.addOnce { [log] value in
            MainActor.assertIsolated()
            log.append("\(value)")
        }

        join { [set] in
            for value in 1...100 { set.notify(value) }
        }
        #expect(log.entries == [])
        #expect(token.isActive, "not called yet")
        await set.settled()

        #expect(log.entries == ["1"])
        #expect(!token.isActive)
    }

    @Test("Removed on its actor while a value waits, it is not called, and its captures go")
    @MainActor
    func removedWhileAValueWaits() async {
        let token = set.addOnce { [log, capture = Tracked()] value in log.append("\(value + capture.value)") }

        join { [set] in set.notify(1) }
        #expect(token.remove())
        await set.settled()

        #expect(log.entries == [])
    }

    @Test("An actor that adds one for itself is called in its isolation, once")
    func actor() async {
        let actor = Listener()
        await actor.observeOnce(set)

        await onThread { [set] in
            for value in 1...100 { set.notify(value) }
        }
        await set.settled()

        #expect(await actor.values == [1])
        #expect(set.isEmpty)
    }

    // MARK: Threads

    @Test("Of many threads' notifications, exactly one calls it")
    func manyThreads() async {
        let owner = Tracked()
        for _ in 0..<100 {
            let set = ObserverSet<Int>()
            let calls = Log<Int>()
            let tokens = [
                set.addOnce { calls.append($0) },
                set.addOnce(owner) { _, value in calls.append(value) },
            ]

            await onThreads(8) { thread in set.notify(thread) }

            #expect(calls.count == 2)
            #expect(tokens.allSatisfy { !$0.isActive })
            #expect(set.isEmpty)
        }
    }

    @Test("Either it is called or one removal says that it removed it, never both")
    func calledOrRemoved() async {
        let rounds = (0..<2_000).map { _ in OnceRound() }

        await race(times: rounds.count) { round in
            rounds[round].set.notify(1)
        } _: { round in
            rounds[round].remove()
        }

        #expect(rounds.allSatisfy { $0.calls.value + $0.removals.value == 1 })
        #expect(rounds.allSatisfy { $0.set.isEmpty })
    }

    @Test("Registered in two places, it is called or removed, never both")
    func calledOrRemovedInTwoPlaces() async {
        let rounds = (0..<2_000).map { _ in OnceRound(other: ObserverSet()) }

        await race(times: rounds.count) { round in
            rounds[round].set.notify(1)
        } _: { round in
            rounds[round].remove()
        }

        #expect(rounds.allSatisfy { $0.calls.value + $0.removals.value == 1 })
        #expect(rounds.allSatisfy { $0.set.isEmpty && $0.other?.isEmpty == true })
    }

    @Test(
        "Notified while it is being added, it is called at most once, and its token tells whether it was")
    func notifiedWhileAdded() async {
        let rounds = (0..<2_000).map { _ in OnceRound(isEmpty: true) }

        await race(times: rounds.count) { round in
            for _ in 0..<3 { rounds[round].set.notify(1) }
        } _: { round in
            rounds[round].add()
        }

        #expect(rounds.allSatisfy { $0.calls.value <= 1 })
        #expect(rounds.allSatisfy { $0.isActive == ($0.calls.value == 0) })
        #expect(rounds.allSatisfy { $0.set.count == 1 - $0.calls.value })
        // Those that were missed are called by the next notification, the others are not.
        for round in rounds { round.set.notify(2) }
        #expect(rounds.allSatisfy { $0.calls.value == 1 && $0.set.isEmpty })
    }
}

/// A set with one observer that is called once, and what became of it.
private final class OnceRound: Sendable {
    let set = ObserverSet<Int>()
    let calls = Shared(0)
    let removals = Shared(0)
    /// Where the observer is registered too.
    let other: ObserverSet<Int>?
    private let token = Shared<ObserverToken?>(nil)

    init(isEmpty: Bool = false, other: ObserverSet<Int>? = nil) {
        self.other = other
        if !isEmpty { add() }
    }

    var isActive: Bool { token.value?.isActive ?? false }

    func add() {
        token.value = Everywhere(sets: [set, other].compactMap(\.self)).addOnce { [calls] _ in calls.value += 1 }
    }

    func remove() {
        if token.value?.remove() == true { removals.value += 1 }
    }
}

/// A source that registers an observer in each of several sets.
private struct Everywhere: NotificationSource {
    let sets: [ObserverSet<Int>]

    func register(_ observer: Observer<Int>) -> ObserverToken {
        ObserverToken(sets.map { $0.register(observer) })
    }
}

/// An actor that adds an observer of its own.
private actor Listener {
    var values: [Int] = []

    func observeOnce(_ set: ObserverSet<Int>) {
        set.addOnce { value in self.values.append(value) }
    }
}
