import Testing

@testable import ObserverSet

/// How long an actor lives whose observer awaits, and how urgently it is called.
@Suite("Actors whose observers await", .lifetimesChecked, .againstHanging)
struct AwaitingActorLifeTests {
    /// Shows the newest value, slowly.
    private actor Gauge {
        private let life = Tracked()

        func observe(_ set: ObserverSet<Int>, _ buffering: Buffering) {
            set.addAsync(self, buffering: buffering) { (_: isolated Gauge, _) in await Task.yield() }
        }
    }

    @Test(
        "An actor with bounded buffering goes when its last reference goes, however fast values come",
        arguments: [Buffering.newest(1), .newest(100), .oldest(1), .latest])
    func throttledActorsGo(buffering: Buffering) async {
        let set = ObserverSet<Int>()
        let isOver = Signal()
        async let producing: Void = onThread {
            var value = 0
            while !isOver.isSet {
                set.notify(value)
                value += 1
            }
        }
        for _ in 0..<50 {
            var gauge: Gauge? = Gauge()
            weak let weakGauge = gauge
            await gauge?.observe(set, buffering)
            await Task.yield()
            gauge = nil
            // The call that is under way still holds it.
            await eventually { weakGauge == nil }
        }
        isOver.set()
        await producing
        await set.settled()
    }

    @Test("What waits for an actor with bounded buffering goes with it, and counts neither as dropped nor as waiting")
    func whatWaitsGoes() async {
        let set = ObserverSet<Int>()
        let isCalled = Signal()
        let mayEnd = Signal()
        let token = Shared<ObserverToken?>(nil)
        actor Slow {
            func observe(_ set: ObserverSet<Int>, _ isCalled: Signal, _ mayEnd: Signal) -> ObserverToken {
                set.addAsync(self, buffering: .newest(3)) { (_: isolated Slow, _) in
                    isCalled.set()
                    mayEnd.wait()
                }
            }
        }
        do {
            let slow = Slow()
            token.value = await slow.observe(set, isCalled, mayEnd)
        }
        // The actor is gone before anything is notified.
        for value in 0..<10 { set.notify(value) }
        await set.settled()

        #expect(!isCalled.isSet)
        #expect(token.value?.waitingCount == 0 && token.value?.droppedCount == 0)
        mayEnd.set()
    }

    @Test("An actor with unbounded buffering receives all that was notified to it")
    func unboundedIsHeld() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        do {
            let keeper = Keeper()
            set.addAsync(keeper) { (_: isolated Keeper, value) in
                await Task.yield()
                log.append(value)
            }
            for value in 0..<100 { set.notify(value) }
        }
        await set.settled()

        expect(log.entries, equals: Array(0..<100))
    }

    @Test("A caller of settled() raises the calls that it waits for to its own priority")
    func priority() async {
        let set = ObserverSet<Int>()
        let priorities = Log<TaskPriority>()
        let door = Door()
        _ = set.addAsync { _ in
            priorities.append(Task.currentPriority)
            await door.pass()
        }
        await Task.detached(priority: .background) { for value in 0..<3 { set.notify(value) } }.value
        await eventually { door.waiting == 1 }
        let wait = await Task.detached(priority: .high) { set.beginSettledWait() }.value
        door.open()
        await wait.wait()

        expect(priorities.entries.map { $0 >= .high }, equals: [false, true, true])
    }
}
