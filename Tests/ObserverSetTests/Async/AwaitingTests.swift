import ObserverSet
import Testing

/// `addAsync`: the next call begins when the previous one has returned.
@Suite("Observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    // MARK: One at a time, in order

    @Test("An observer is called with each value, in order", arguments: AwaitingForm.allCases)
    func eachValue(_ form: AwaitingForm) async {
        let received = Log<Int>()
        let registration = form.add(to: set) { value in
            for _ in 0..<value % 3 { await Task.yield() }
            received.append(value)
        }

        for value in 0..<300 { set.notify(value) }
        await set.settled()

        expect(received.entries, equals: Array(0..<300))
        registration.end()
    }

    @Test("The next call begins when the one before has returned", arguments: AwaitingForm.allCases)
    func oneAtATime(_ form: AwaitingForm) async {
        let door = Door()
        let registration = form.add(to: set) { [log] value in
            log.append("in \(value)")
            await door.pass()
            log.append("out \(value)")
        }

        for value in 1...3 { set.notify(value) }
        for value in 1...3 {
            await eventually { door.waiting == 1 }
            // If calls overlapped, others would very likely have begun by now.
            for _ in 0..<50 { await Task.yield() }
            expect(log.count, equals: 2 * value - 1)
            door.letOnOne()
        }
        await set.settled()

        expect(log.entries, equals: ["in 1", "out 1", "in 2", "out 2", "in 3", "out 3"])
        registration.end()
    }

    @Test("An actor that suspends in its observer runs other work, but not the observer's next call")
    func actorIsNotReEntered() async {
        let door = Door()
        let desk = Desk(door, log)
        set.addAsync(desk) { (desk: isolated Desk, value) in await desk.work(on: value) }

        set.notify(1)
        set.notify(2)
        await eventually { door.waiting == 1 }
        await desk.visit()
        door.letOnOne()
        await eventually { door.waiting == 1 }
        await desk.visit()
        door.letOnOne()
        await set.settled()

        expect(log.entries, equals: ["begins 1", "visit", "ends 1", "begins 2", "visit", "ends 2"])
    }

    @Test(
        "Values from each thread arrive in that thread's order, whatever other threads do",
        arguments: AwaitingForm.allCases)
    func orderOfEachThread(_ form: AwaitingForm) async {
        let received = Log<Int>()
        let registration = form.add(to: set) { value in
            if value % 7 == 0 { await Task.yield() }
            received.append(value)
        }

        await onThreads(4) { [set] thread in
            for number in 0..<200 { set.notify(1_000 * thread + number) }
        }
        await set.settled()

        for thread in 0..<4 {
            expect(received.entries.filter { $0 / 1_000 == thread }, equals: (0..<200).map { 1_000 * thread + $0 })
        }
        expect(received.count, equals: 800)
        registration.end()
    }

    @Test("An observer that does not return delays no other observer", arguments: AwaitingForm.allCases)
    func independent(_ form: AwaitingForm) async {
        let door = Door()
        let received = Log<Int>()
        let slow = form.add(to: set) { _ in await door.pass() }
        let fast = form.add(to: set) { received.append($0) }

        for value in 0..<100 { set.notify(value) }
        await eventually { received.count == 100 && door.waiting == 1 }

        expect(received.entries, equals: Array(0..<100))
        expect(door.waiting, equals: 1)
        slow.token.remove()
        door.open()
        slow.end()
        fast.end()
    }

    @Test("Notifying never waits for an observer that awaits, not even on the observer's own actor")
    @MainActor func neverInPlace() async {
        _ = set.addAsync { @MainActor [log] value in log.append("\(value)") }

        set.notify(1)
        set.notify(2)
        expect(log.entries, equals: [])
        await set.settled()

        expect(log.entries, equals: ["1", "2"])
    }

    @Test(
        "A value that an observer itself notifies is delivered after the values that already wait",
        arguments: AwaitingForm.allCases)
    func notifiedInside(_ form: AwaitingForm) async {
        let door = Door()
        let registration = form.add(to: set) { [set, log] value in
            log.append("in \(value)")
            await door.pass()
            if value < 3 { set.notify(value + 2) }
            await Task.yield()
            log.append("out \(value)")
        }

        set.notify(1)
        set.notify(2)
        door.open()
        await eventually { log.count == 8 }

        expect(log.entries, equals: (1...4).flatMap { ["in \($0)", "out \($0)"] })
        registration.end()
        // The observer has captured the set; this breaks the cycle.
        set.removeAll()
    }

    // MARK: Where

    @Test("An observer runs on its own actor, also after it has suspended")
    func ownActor() async {
        _ = set.addAsync { @MainActor [log] _ in
            MainActor.assertIsolated()
            await Task.yield()
            MainActor.assertIsolated()
            log.append("main actor")
        }
        _ = set.addAsync { @Elsewhere [log] _ in
            Elsewhere.assertIsolated()
            await Task.yield()
            Elsewhere.assertIsolated()
            log.append("global actor")
        }
        let keeper = Keeper()
        set.addAsync(keeper) { [log] (keeper: isolated Keeper, _) in
            keeper.assertIsolated()
            await Task.yield()
            keeper.assertIsolated()
            log.append("actor")
        }
        let listener = PlainListener<Int> { _ in }
        set.addAsync(listener) { @MainActor [log] _, _ in
            MainActor.assertIsolated()
            log.append("owner")
        }
        await Desk(Door(), log).observe(set)

        await onThread { [set] in set.notify(1) }
        await set.settled()

        expect(Set(log.entries), equals: ["main actor", "global actor", "actor", "owner", "desk"])
        withExtendedLifetime((keeper, listener)) {}
    }

    @Test("A call has the highest priority of what waits, and the order is kept")
    func priority() async {
        let door = Door()
        let received = Log<TaskPriority>()
        _ = set.addAsync { _ in
            received.append(Task.currentPriority)
            await door.pass()
        }
        let priorities: [TaskPriority] = [.high, .low, .low, .high, .background, .medium, .low, .background]

        for priority in priorities {
            let isDone = Signal()
            // The task is not awaited, since its priority would then become that of the awaiting task.
            Task.detached(priority: priority) { [set] in
                set.notify(1)
                isDone.set()
            }
            await eventually { isDone.isSet }
        }
        door.open()
        await eventually { received.count == priorities.count }

        // A thread outside tasks has none.
        await onThread { [set] in set.notify(1) }
        await eventually { received.count == priorities.count + 1 }

        expect(received.entries, equals: [.high, .high, .high, .high, .medium, .medium, .low, .background, .medium])
    }

    @Test("Values that are notified with alternating priorities are delivered in order")
    func alternatingPriorities() async {
        let received = Log<Int>()
        _ = set.addAsync { value in
            if value % 5 == 0 { await Task.yield() }
            received.append(value)
        }

        let count = Counter()
        for value in 0..<200 {
            Task.detached(priority: value % 2 == 0 ? .high : .low) { [set] in
                set.notify(value)
                count.increment()
            }
            await eventually { count.value == value + 1 }
        }
        await set.settled()

        expect(received.entries, equals: Array(0..<200))
    }

    @Test("A call has no task-local values of a notifier, whoever started the delivery", arguments: [false, true])
    func taskLocalValues(_ isAwaited: Bool) async {
        let keeper = Keeper()
        if isAwaited {
            set.addAsync(keeper) { [log] (_: isolated Keeper, value) in log.append("\(value) \(Mood.current)") }
        } else {
            set.add(keeper) { [log] (_: isolated Keeper, value) in log.append("\(value) \(Mood.current)") }
        }

        for round in 0..<50 {
            Mood.$current.withValue("glad") { set.notify(2 * round) }
            Mood.$current.withValue("sad") { set.notify(2 * round + 1) }
            if round % 2 == 0 { await set.settled() }
        }
        await set.settled()

        expect(log.entries, equals: (0..<100).map { "\($0) none" })
    }

    // MARK: Parameters and closures

    @Test("On a source of `Void`, a closure with an owner receives only the owner")
    func void() async {
        let set = ObserverSet<Void>()
        let listener = PlainListener<Int> { [log] in log.append("owner \($0)") }
        let desk = Desk(Door(), log)
        _ = set.addAsync { [log] in
            await Task.yield()
            log.append("closure")
        }
        set.addAsync(listener) { listener in
            await Task.yield()
            listener.hear(1)
        }
        set.addAsync(desk) { desk in desk.note("actor") }

        set.notify()
        await set.settled()

        expect(Set(log.entries), equals: ["closure", "owner 1", "actor"])
    }

    @Test("A tuple is passed as a whole, with its labels, or in parts")
    func tuples() async {
        let items = ObserverSet<(name: String, index: Int)>()
        let pairs = ObserverSet<(Int, Int)>()
        let listener = PlainListener<Int> { _ in }
        _ = items.addAsync { [log] item in log.append("\(item.name) at \(item.index)") }
        _ = items.addAsync { [log] name, index in log.append("\(index): \(name)") }
        items.addAsync(listener) { [log] _, item in log.append("owner: \(item.name)") }
        _ = pairs.addAsync { [log] pair in log.append("\(pair.0), \(pair.1)") }
        _ = pairs.addAsync { [log] first, second in log.append("\(first) + \(second)") }

        items.notify((name: "So What", index: 0))
        pairs.notify(1, 2)
        await items.settled()
        await pairs.settled()

        expect(
            Set(log.entries), equals: ["So What at 0", "0: So What", "owner: So What", "1, 2", "1 + 2"])
        withExtendedLifetime(listener) {}
    }

    @Test("A closure may have several statements, conditions, loops and early returns")
    func statements() async {
        let listener = PlainListener<Int> { _ in }
        _ = set.addAsync { [log] value in
            guard value > 0 else { return }
            let text = "closure"
            for number in 0..<value {
                await Task.yield()
                if number % 2 == 1 { log.append(text) }
            }
        }
        set.addAsync(listener) { [log] listener, value in
            guard value > 0 else { return }
            let text = "owner"
            for number in 0..<value {
                await Task.yield()
                if number % 2 == 1 { log.append(text) }
            }
            listener.hear(value)
        }
        let desk = Desk(Door(), log)
        set.addAsync(desk) { desk, value in
            guard value > 0 else { return }
            let text = "actor"
            for number in 0..<value {
                await Task.yield()
                if number % 2 == 1 { desk.note(text) }
            }
        }

        for value in 0...2 { set.notify(value) }
        await set.settled()

        expect(log.entries.sorted(), equals: ["actor", "closure", "owner"])
    }

    @Test(
        "A mapped source delivers the transformed values, and skips those for which the transform returns nil",
        arguments: AwaitingForm.allCases)
    func mapped(_ form: AwaitingForm) async {
        let registration = form.add(to: set.compactMap { $0 % 2 == 0 ? "\($0)" : nil }) { [log] text in
            await Task.yield()
            log.append(text)
        }

        for value in 1...6 { set.notify(value) }
        await set.settled()

        expect(log.entries, equals: ["2", "4", "6"])
        #expect(registration.token.remove())
        set.notify(8)
        await set.settled()
        expect(log.count, equals: 3)
        registration.end()
    }

    // MARK: Descriptions

    @Test("A description shows an observer's actor, whether a call is in progress, and the waiting and dropped values")
    func descriptions() async {
        let door = Door()
        let keeper = Keeper()
        let listener = PlainListener<Int> { _ in }
        let closure = set.addAsync(buffering: .newest(1)) { _ in await door.pass() }
        let main = set.addAsync { @MainActor _ in }
        let owner = set.addAsync(listener) { _, _ in }
        let actor = set.addAsync(keeper) { (_: isolated Keeper, _) in }
        #expect(closure.description.contains("closure, on no actor, awaited, registered"))
        #expect(main.description.contains("closure, on MainActor, awaited, registered"))
        #expect(owner.description.contains("PlainListener<Int>, on no actor, awaited, registered"))
        #expect(actor.description.contains("Keeper, on Keeper, awaited, registered"))

        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 1...3 { set.notify(value) }

        let place = "on no actor, awaited, in a call, 1 waiting, 2 dropped, registered"
        #expect(closure.description.contains("closure, \(place)"))
        #expect(set.debugDescription.contains(place))
        #expect(!main.description.contains("dropped"))
        door.open()
        await set.settled()
        withExtendedLifetime((keeper, listener)) {}
    }
}

private enum Mood {
    @TaskLocal static var current = "none"
}

/// An actor whose work suspends in the middle.
private actor Desk {
    private let door: Door
    private let log: Log<String>
    private var isWorking = false

    init(_ door: Door, _ log: Log<String>) {
        self.door = door
        self.log = log
    }

    func work(on value: Int) async {
        #expect(!isWorking)
        isWorking = true
        log.append("begins \(value)")
        await door.pass()
        log.append("ends \(value)")
        isWorking = false
    }

    func visit() { note("visit") }

    func note(_ text: String) { log.append(text) }

    /// Adds an observer that takes over this actor's isolation.
    func observe(_ set: ObserverSet<Int>) {
        _ = set.addAsync { _ in
            self.assertIsolated()
            await Task.yield()
            self.note("desk")
        }
    }
}
