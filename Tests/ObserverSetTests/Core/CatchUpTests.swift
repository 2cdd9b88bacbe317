import Testing

@testable import ObserverSet

/// What waits for an observer is delivered ahead of the rest when code on its actor notifies.
///
/// If one of these calls runs an event loop, the actor's other observers are delivered to meanwhile.
@Suite("A catch-up whose calls run an event loop", .lifetimesChecked, .againstHanging)
struct CatchUpTests {
    private let first = ObserverSet<Int>()
    private let second = ObserverSet<Int>()
    private let actor = LoopActor()
    private let log = Log<String>()

    @Test("What waits for other observers is delivered meanwhile")
    func othersAreServed() async {
        add("A", to: first) { [log] actor, value in
            guard value == 1 else { return }
            actor.runLoop()
            log.append("loop ended")
        }
        add("B", to: second)

        await catchUpWithFirst { [log] in log.append("notified") }

        expect(log.entries, equals: ["A1", "B1", "loop ended", "A2", "notified"])
    }

    @Test("What waits for an observer that is called once is delivered meanwhile, too")
    func onceIsServed() async {
        add("A", to: first) { actor, value in
            if value == 1 { actor.runLoop() }
        }
        second.once.add(actor) { [log] (_: isolated LoopActor, value) in log.append("B\(value)") }

        await catchUpWithFirst()

        expect(log.entries, equals: ["A1", "B1", "A2"])
    }

    @Test("A value for the observer that is in the call is not delivered inside it, and comes behind those before it")
    func ownValuesWait() async {
        add("A", to: first) { [weak first] actor, value in
            guard value == 1 else { return }
            join { [first] in first?.notify(3) }
            actor.runLoop()
        }
        add("B", to: second)

        await catchUpWithFirst()
        await first.settled()

        expect(log.entries, equals: ["A1", "B1", "A2", "A3"])
    }

    @Test("What the deinit of a value notifies comes behind the values that wait") @MainActor
    func valuesNotify() async {
        let set = ObserverSet<NotifyingValue>()
        let log = Log<Int>()
        _ = set.add { value in log.append(value.number) }
        join {
            set.notify(NotifyingValue(1) { [weak set] in set?.notify(NotifyingValue(4) {}) })
            set.notify(NotifyingValue(2) {})
        }
        set.notify(NotifyingValue(3) {})
        await set.settled()

        expect(log.entries, equals: [1, 2, 3, 4])
    }

    @Test("A caller of settled() goes on when the call has ended")
    func settledWaitsForTheCall() async {
        let wait = Shared<SettledWait?>(nil)
        let isOver = Shared<Bool?>(nil)
        add("A", to: first) { [weak first] actor, value in
            guard value == 1 else { return }
            wait.value = first?.beginSettledWait()
            actor.runLoop()
            isOver.value = wait.value?.isOver
        }
        add("B", to: second)

        await catchUpWithFirst()
        await wait.value?.wait()

        expect(isOver.value, equals: false)
        expect(log.entries, equals: ["A1", "B1", "A2"])
    }

    @Test("What a drain inside a nested catch-up has passed over comes before what is notified next")
    func nested() async {
        add("A", to: first) { [second] _, value in
            guard value == 1 else { return }
            second.notify(2)
            second.notify(3)
        }
        add("B", to: second) { [weak second] actor, value in
            guard value == 1 else { return }
            join { [second] in second?.notify(10) }
            actor.runLoop()
        }

        await catchUpWithFirst()
        await second.settled()

        expect(log.entries, equals: ["A1", "B1", "B2", "B10", "B3", "A2"])
    }

    @Test("An observer that is removed while what waits for it is delivered is not called again")
    func removed() async {
        let token = Shared<ObserverToken?>(nil)
        token.value = add("A", to: first) { _, value in
            if value == 2 { token.value?.remove() }
        }

        await actor.perform { [first] _ in
            join { [first] in for value in 1...3 { first.notify(value) } }
            first.notify(4)
        }
        await first.settled()

        expect(log.entries, equals: ["A1", "A2"])
    }

    @Test("An observer whose owner dies while what waits for it is delivered is removed at the end of the notification")
    func ownerDies() async {
        let owner = Shared<Tracked?>(Tracked())
        await actor.perform { [first, log] actor in
            first.add(owner.value!) { _, value in
                actor.preconditionIsolated()
                log.append("A\(value)")
                owner.value = nil
            }
            join { [first] in for value in 1...2 { first.notify(value) } }

            first.notify(3)

            expect(first.registry!.living, equals: 0)
        }

        expect(log.entries, equals: ["A1"])
    }

    @Test("Values that other threads post while an observer is caught up with keep the order of their threads")
    func posters() async {
        let calls = Log<[Int]>()
        let set = ObserverSet<[Int]>()
        set.add(actor) { (_: isolated LoopActor, value) in calls.append(value) }
        let rounds = many(20_000)

        async let posted: Void = onThreads(3) { thread in
            for number in 0..<rounds { set.notify([thread, number]) }
        }
        for number in 0..<rounds { await actor.perform { _ in set.notify([3, number]) } }
        await posted
        await set.settled()

        for thread in 0...3 {
            expect(calls.entries.filter { $0[0] == thread }.map { $0[1] }, equals: Array(0..<rounds))
        }
    }

    /// While the actor is busy, a value comes for each set's observer; then code on the actor notifies the first set.
    private func catchUpWithFirst(_ after: @Sendable () -> Void = {}) async {
        await actor.perform { [first, second] _ in
            join { [first, second] in
                first.notify(1)
                second.notify(1)
            }
            first.notify(2)
            after()
        }
    }

    @discardableResult
    private func add(
        _ name: String, to set: ObserverSet<Int>,
        _ body: @escaping @Sendable (isolated LoopActor, Int) -> Void = { _, _ in }
    ) -> ObserverToken {
        set.add(actor) { [log] (actor: isolated LoopActor, value) in
            log.append("\(name)\(value)")
            body(actor, value)
        }
    }
}

private final class NotifyingValue: Sendable {
    let number: Int
    private let notify: @Sendable () -> Void

    init(_ number: Int, _ notify: @escaping @Sendable () -> Void) {
        self.number = number
        self.notify = notify
    }

    deinit { notify() }
}
