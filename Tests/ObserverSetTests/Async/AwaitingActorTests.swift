import ObserverSet
import Testing

/// Where observers that await run, if an actor's instance adds or owns them.
@Suite("Observers that await, on an actor's instance", .lifetimesChecked, .againstHanging)
struct AwaitingActorTests {}

extension AwaitingActorTests {
    /// How an actor adds an observer for itself.
    private enum Way: CaseIterable { case applied, appliedAwaiting, closure, owner }

    /// Adds itself, and checks where it is called.
    private actor Station {
        private(set) var heard: [String] = []
        private let life = Tracked()

        private func hear(_ value: String) {
            preconditionIsolated()
            heard.append(value)
        }

        private func hearSlowly(_ value: String) async {
            preconditionIsolated()
            await Task.yield()
            heard.append(value)
        }

        func add(_ way: Way, to set: ObserverSet<String>) {
            switch way {
            case .applied: _ = set.addAsync(hear)
            case .appliedAwaiting: _ = set.addAsync(hearSlowly)
            case .closure:
                _ = set.addAsync { [weak self] value in
                    await Task.yield()
                    await self?.hear(value)
                }
            case .owner:
                set.addAsync(self) { station, value in
                    await Task.yield()
                    station.hear(value)
                }
            }
        }
    }

    @Test("A long delivery on the main actor yields about every thousand calls, and not after each call")
    @MainActor func givesWay() async {
        let set = ObserverSet<Int>()
        var received = 0
        _ = set.addAsync { _ in received += 1 }
        for value in 0..<10_000 { set.notify(value) }

        // How many calls had been made each time that other work ran on the actor, which always has some to do.
        var turns: Set<Int> = []
        func work() {
            turns.insert(received)
            if received < 10_000 { Task { work() } }
        }
        work()
        await set.settled()

        expect(received, equals: 10_000)
        #expect((10...1_000).contains(turns.count))
    }

    @Test("An observer that an actor adds, also as an applied method, runs on the actor", arguments: Way.allCases)
    private func onTheActor(_ way: Way) async {
        let set = ObserverSet<String>()
        let station = Station()
        await station.add(way, to: set)

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
            await station.add(way, to: set)
            set.notify("one")
            await set.settled()
        }
        // The task that has called it may not have ended yet: until then it holds the actor that it runs on.
        await eventually { Lifetimes.current.count == 0 }
        expect(Lifetimes.current.count, equals: 0)

        set.notify("two")
        await set.settled()
        expect(set.isEmpty || way == .closure)
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
            // On this thread: the observers of all cases may keep every thread of the pool until then.
            haveBeenSent.set()
        }
        await set.settled()

        expect(heard.entries, equals: (buffering == .unbounded ? ["one", "two"] : ["one"]))
        expect(owner.value == nil)
    }

    /// The thread whose value has a task sent to the actor need not hold the actor; the other one relies on that task.
    @Test("An actor receives what a thread that holds it notifies, whichever comes first", arguments: [false, true])
    func heldByOneThread(isAwaited: Bool) async {
        for _ in 0..<many(20_000, long: 200_000) {
            let set = ObserverSet<String>()
            let heard = Log<String>()
            let owner = Shared<Reporter?>(Reporter(heard))
            addReporter(owner.value!, to: set, isAwaited: isAwaited)

            await onThreads(2) { thread in
                set.notify("\(thread)")
                if thread == 1 { _ = owner.exchange(nil) }
            }
            await set.settled()

            #expect(heard.entries.contains("1"))
        }
    }

    /// A task that is more urgent has a drain of its own sent to the actor, on which the drain before it relies.
    ///
    /// A store whose last reference goes right after a thousand rows were notified to it must write them all.
    @Test("An actor that is let go receives what waits for it, whoever waits for that", arguments: [false, true])
    func heldByNobody(isAwaited: Bool) async {
        for _ in 0..<many(400, long: 20_000) {
            let set = ObserverSet<String>()
            let heard = Log<String>()
            let owner = Shared<Reporter?>(Reporter(heard))
            addReporter(owner.value!, to: set, isAwaited: isAwaited)

            await onThread {
                // More than one turn.
                for number in 0..<1_010 { set.notify("\(number)") }
                _ = owner.exchange(nil)
            }
            await withTaskGroup { group in
                for priority in [TaskPriority.high, .userInitiated, .low] {
                    group.addTask(priority: priority) { await set.settled() }
                }
            }

            expect(heard.entries, equals: (0..<1_010).map { "\($0)" })
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
}

/// Says elsewhere what it hears, since it may be gone by then.
private actor Reporter {
    private let heard: Log<String>

    init(_ heard: Log<String>) { self.heard = heard }

    func hear(_ value: String) { heard.append(value) }
}

private func addReporter(_ reporter: Reporter, to set: ObserverSet<String>, isAwaited: Bool) {
    if isAwaited {
        set.addAsync(reporter) { (reporter: isolated Reporter, value) in reporter.hear(value) }
    } else {
        set.add(reporter) { (reporter: isolated Reporter, value) in reporter.hear(value) }
    }
}

/// Shows the newest value, slowly.
private actor Gauge {
    private let life = Tracked()

    func observe(_ set: ObserverSet<Int>, _ buffering: Buffering) {
        set.addAsync(self, buffering: buffering) { (_: isolated Gauge, _) in await Task.yield() }
    }
}
