import ObserverSet
import Testing

/// `addAsync`: the next call begins when the previous one has returned.
@Suite("Observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension AwaitingTests {
    // MARK: One at a time, in order

    @Test(
        "The next call begins when the one before has returned; a value that a call notifies comes behind those that wait",
        arguments: AwaitingForm.allCases)
    func oneAtATime(_ form: AwaitingForm) async {
        let door = Door()
        let registration = form.add(to: set) { [set, log] value in
            log.append("in \(value)")
            await door.pass()
            if value < 3 { set.notify(value + 2) }
            log.append("out \(value)")
        }

        for value in 1...2 { set.notify(value) }
        for value in 1...4 {
            await eventually { door.waiting == 1 }
            // If calls overlapped, others would very likely have begun by now.
            for _ in 0..<50 { await Task.yield() }
            expect(log.count, equals: 2 * value - 1)
            door.letOnOne()
        }
        await set.settled()

        expect(log.entries, equals: (1...4).flatMap { ["in \($0)", "out \($0)"] })
        registration.end()
        // The observer has captured the set; this breaks the cycle.
        set.removeAll()
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
        let received = Log<(value: Int, TaskPriority)>()
        _ = set.addAsync { value in
            received.append((value, Task.currentPriority))
            await door.pass()
        }
        // A thread outside tasks has none.
        let priorities: [TaskPriority?] = [.high, .low, .low, .high, .background, .medium, .low, .background, nil]

        for (value, priority) in priorities.enumerated() {
            if priority == nil {
                door.open()
                await eventually { received.count == value }
                await onThread { [set] in set.notify(value) }
            } else {
                let isDone = Signal()
                // The task is not awaited, since its priority would then become that of the awaiting task.
                Task.detached(priority: priority) { [set] in
                    set.notify(value)
                    isDone.set()
                }
                await eventually { isDone.isSet }
            }
        }
        await eventually { received.count == priorities.count }

        let expected: [TaskPriority] = [.high, .high, .high, .high, .medium, .medium, .low, .background, .medium]
        expect(received.entries.map(\.1), equals: expected)
        expect(received.entries.map(\.value), equals: Array(expected.indices))
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

    @Test(
        "Closures may have several statements; without a value with an owner alone, and with a tuple as a whole or in parts"
    )
    func parameters() async {
        let void = ObserverSet<Void>()
        let items = ObserverSet<(name: String, index: Int)>()
        let pairs = ObserverSet<(Int, Int)>()
        let listener = PlainListener<Int> { [log] in log.append("owner \($0)") }
        let desk = Desk(Door(), log)
        _ = void.addAsync { [log] in
            await Task.yield()
            log.append("closure")
        }
        void.addAsync(listener) { listener in
            await Task.yield()
            listener.hear(1)
        }
        void.addAsync(desk) { desk in desk.note("actor") }
        _ = items.addAsync { [log] item in
            guard item.index == 0 else { return }
            let text = "\(item.name) at \(item.index)"
            for _ in 0..<2 { await Task.yield() }
            log.append(text)
        }
        _ = items.addAsync { [log] name, index in log.append("\(index): \(name)") }
        items.addAsync(listener) { [log] _, item in log.append("owner: \(item.name)") }
        _ = pairs.addAsync { [log] first, second in log.append("\(first) + \(second)") }

        void.notify()
        items.notify((name: "So What", index: 0))
        pairs.notify(1, 2)
        for source in [void, items, pairs] as [any NotificationSource] { await source.settled() }

        let expected = ["closure", "owner 1", "actor", "So What at 0", "0: So What", "owner: So What", "1 + 2"]
        expect(log.entries.sorted(), equals: expected.sorted())
        withExtendedLifetime((listener, desk)) {}
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
        for (token, place) in [
            (closure, "closure, on no actor"), (main, "closure, on MainActor"),
            (owner, "PlainListener<Int>, on no actor"), (actor, "Keeper, on Keeper"),
        ] {
            #expect(token.description.contains("\(place), awaited, registered"))
        }

        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 1...3 { set.notify(value) }

        let place = "on no actor, awaited, in a call, 1 pending, 2 dropped, registered"
        expect(closure.description.contains("closure, \(place)") && set.debugDescription.contains(place))
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
