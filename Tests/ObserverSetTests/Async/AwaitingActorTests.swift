import ObserverSet
import Testing

/// Where observers that await run, if an actor's instance adds or owns them.
@Suite("Observers that await, on an actor's instance", .lifetimesChecked, .againstHanging)
struct AwaitingActorTests {
    /// Adds itself in every way, and checks where it is called.
    private actor Station {
        private(set) var heard: [String] = []
        private let life = Tracked()

        func hear(_ value: String) {
            preconditionIsolated()
            heard.append(value)
        }

        func hearSlowly(_ value: String) async {
            preconditionIsolated()
            await Task.yield()
            heard.append(value)
        }

        func addApplied(to set: ObserverSet<String>) { _ = set.addAsync(hear) }
        func addAppliedAwaiting(to set: ObserverSet<String>) { _ = set.addAsync(hearSlowly) }

        func addClosure(to set: ObserverSet<String>) {
            _ = set.addAsync { [weak self] value in
                await Task.yield()
                await self?.hear(value)
            }
        }

        func addWithOwner(to set: ObserverSet<String>) {
            set.addAsync(self) { station, value in
                await Task.yield()
                station.hear(value)
            }
        }

        func removeOnActor(_ token: ObserverToken) -> Int {
            token.remove()
            return heard.count
        }
    }

    @Test("A long delivery on the main actor yields about every thousand calls, and not after each call")
    @MainActor func givesWay() async {
        let set = ObserverSet<Int>()
        var received = 0
        _ = set.addAsync { _ in received += 1 }
        for value in 0..<20_000 { set.notify(value) }

        // How many calls had been made each time that other work ran on the actor, which always has some to do.
        var turns: Set<Int> = []
        func work() {
            turns.insert(received)
            if received < 20_000 { Task { work() } }
        }
        work()
        await set.settled()

        expect(received, equals: 20_000)
        #expect((20...2_000).contains(turns.count))
    }

    private enum Way: CaseIterable {
        case applied, appliedAwaiting, closure, owner

        func add(_ station: Station, to set: ObserverSet<String>) async {
            switch self {
            case .applied: await station.addApplied(to: set)
            case .appliedAwaiting: await station.addAppliedAwaiting(to: set)
            case .closure: await station.addClosure(to: set)
            case .owner: await station.addWithOwner(to: set)
            }
        }
    }

    @Test(
        "An observer that an actor adds, also as an applied method, runs on the actor, whichever thread notifies",
        arguments: Way.allCases)
    private func onTheActor(_ way: Way) async {
        let set = ObserverSet<String>()
        let station = Station()
        await way.add(station, to: set)

        await onThread { for number in 0..<100 { set.notify("\(number)") } }
        await set.settled()

        expect(await station.heard, equals: (0..<100).map { "\($0)" })
        set.removeAll()
    }

    @Test(
        "Neither the set nor a waiting value keeps alive an actor that observes with a closure or as the owner",
        arguments: [Way.closure, .owner])
    private func notKept(_ way: Way) async {
        let set = ObserverSet<String>()
        do {
            let station = Station()
            await way.add(station, to: set)
            set.notify("one")
            await set.settled()
        }
        // The task that has called it may not have ended yet: until then it holds the actor that it runs on.
        await eventually { Lifetimes.current.count == 0 }
        expect(Lifetimes.current.count, equals: 0)

        set.notify("two")
        await set.settled()
        #expect(set.isEmpty || way == .closure)
    }

    @Test(
        "An actor that its own call lets go receives what waits, unless the number of values is limited",
        arguments: [.unbounded, .newest(10), .oldest(10)] as [Buffering])
    func heldWhileValuesWait(_ buffering: Buffering) async {
        let set = ObserverSet<String>()
        let heard = Log<String>()
        let owner = Shared<Reporter?>(Reporter(heard))
        let haveBeenSent = Signal()
        set.addAsync(owner.value!, buffering: buffering) { (reporter: isolated Reporter, value) in
            haveBeenSent.wait()
            reporter.hear(value)
            _ = owner.exchange(nil)
        }

        await onThread {
            set.notify("one")
            set.notify("two")
        }
        haveBeenSent.set()
        await set.settled()

        expect(heard.entries, equals: (buffering == .unbounded ? ["one", "two"] : ["one"]))
        #expect(owner.value == nil)
    }

    /// The thread whose value has a task sent to the actor need not hold the actor; the other one relies on that task.
    @Test(
        "An actor receives what a thread that holds it notifies, whichever thread comes first",
        arguments: [false, true])
    func heldByOneThread(isAwaited: Bool) async {
        for _ in 0..<many(20_000, long: 200_000) {
            let set = ObserverSet<String>()
            let heard = Log<String>()
            let owner = Shared<Reporter?>(Reporter(heard))
            if isAwaited {
                set.addAsync(owner.value!) { (reporter: isolated Reporter, value) in reporter.hear(value) }
            } else {
                set.add(owner.value!) { (reporter: isolated Reporter, value) in reporter.hear(value) }
            }

            await onThreads(2) { thread in
                set.notify("\(thread)")
                if thread == 1 { _ = owner.exchange(nil) }
            }
            await set.settled()

            #expect(heard.entries.contains("1"))
        }
    }

    /// A task that is more urgent has a drain of its own sent to the actor, on which the drain before it relies.
    @Test("An actor that is let go receives what waits for it, whoever waits for that")
    func heldByNobody() async {
        for _ in 0..<many(400, long: 20_000) {
            let set = ObserverSet<String>()
            let heard = Log<String>()
            let owner = Shared<Reporter?>(Reporter(heard))
            set.add(owner.value!) { (reporter: isolated Reporter, value) in reporter.hear(value) }

            await onThread {
                // More than one turn.
                for _ in 0..<1_010 { set.notify("") }
                _ = owner.exchange(nil)
            }
            await withTaskGroup { group in
                for priority in [TaskPriority.high, .userInitiated, .low] {
                    group.addTask(priority: priority) { await set.settled() }
                }
            }

            expect(heard.entries.count, equals: 1_010)
        }
    }

    @Test("An observer removed on the actor that owns it is not called again, even with values already on their way")
    func removedOnTheActor() async {
        for _ in 0..<many(200, long: 20_000) {
            let set = ObserverSet<String>()
            let station = Station()
            let token = set.addAsync(station) { (station: isolated Station, value) in station.hear(value) }

            await onThread { set.notify("one") }
            let count = await station.removeOnActor(token)
            await set.settled()
            for _ in 0..<20 { await Task.yield() }

            expect(await station.heard.count, equals: count)
        }
    }
}

/// Says elsewhere what it hears, since it may be gone by then.
private actor Reporter {
    private let heard: Log<String>

    init(_ heard: Log<String>) {
        self.heard = heard
    }

    func hear(_ value: String) { heard.append(value) }
}
