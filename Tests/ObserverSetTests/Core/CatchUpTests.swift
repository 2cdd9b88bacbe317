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
}

extension CatchUpTests {
    @Test("What waits for others is delivered meanwhile, what comes for the observer in the call comes behind the call")
    func othersAreServed() async {
        let wait = Shared<SettledWait?>(nil)
        add("A", to: first) { [log, weak first] actor, value in
            guard value == 1 else { return }
            join { [first] in first?.notify(3) }
            wait.value = first?.beginSettledWait()
            actor.runLoop()
            // Who waits for the call, since before the loop or since now, goes on when it has ended.
            let waits = [wait.value, first?.beginSettledWait()]
            log.append("loop ended, over: \(waits.map { $0?.isOver == true })")
        }
        add("B", to: second)
        second.once.add(actor) { [log] (_: isolated LoopActor, value) in log.append("once \(value)") }

        await catchUpWithFirst { [log] in log.append("notified") }
        await wait.value?.wait()

        expect(
            log.entries, equals: ["A1", "B1", "once 1", "loop ended, over: [false, false]", "A2", "notified", "A3"])
    }

    @Test("What comes while a value is released comes behind the values that wait", arguments: [false, true])
    func valuesNotify(inAnEventLoop: Bool) async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        set.add(actor) { [log] (_: isolated LoopActor, value) in log.append("\(value.value)") }
        await actor.perform { [actor] _ in
            join {
                set.notify(
                    Tracked(1, in: lifetimes) { [weak set] in
                        let notify: @Sendable () -> Void = { [set] in set?.notify(Tracked(4, in: lifetimes)) }
                        guard inAnEventLoop else { return notify() }
                        join(notify)
                        actor.runLoop()
                    })
                set.notify(Tracked(2, in: lifetimes))
            }
            set.notify(Tracked(3, in: lifetimes))
        }
        await set.settled()

        expect(log.entries, equals: ["1", "2", "3", "4"])
    }

    @Test("An observer is caught up with if what waits for it is among the latest thousand", arguments: [998, 1_000])
    func farBehind(others: Int) async {
        first.add(actor) { [log] (_: isolated LoopActor, value) in log.append("A\(value)") }
        second.add(actor) { (_: isolated LoopActor, _) in }
        await actor.perform { [first, second, log] _ in
            join {
                first.notify(1)
                for value in 0..<others { second.notify(value) }
                // A caller who waits has a place among them.
                _ = second.beginSettledWait()
            }
            first.notify(2)
            expect(log.entries, equals: others < 1_000 ? ["A1", "A2"] : [])
        }
        await first.settled()

        expect(log.entries, equals: ["A1", "A2"])
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

    @Test("An observer that is removed, or whose owner dies, while what waits for it is delivered is not called again")
    func ended() async {
        let token = Shared<ObserverToken?>(nil)
        let owner = Shared<Tracked?>(Tracked())
        token.value = add("A", to: first) { _, value in
            if value == 2 { token.value?.remove() }
        }
        await actor.perform { [first, log] actor in
            first.add(owner.value!) { _, value in
                actor.preconditionIsolated()
                log.append("B\(value)")
                owner.value = nil
            }
            join { [first] in for value in 1...3 { first.notify(value) } }

            first.notify(4)

            // The dead owner's entry goes at the end of the notification.
            expect(first.registry!.registered, equals: 0)
        }
        await first.settled()

        expect(log.entries, equals: ["A1", "A2", "B1"])
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
