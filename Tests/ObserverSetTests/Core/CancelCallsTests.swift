import Dispatch
import Testing

@testable import ObserverSet

/// `cancelCalls()` ends what runs and what waits, and no registration.
@Suite("Cancelling calls", .lifetimesChecked, .againstHanging)
struct CancelCallsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()

    @Test(
        "The call in progress is cancelled, what waits is dropped, and `settled()` waits for the end",
        arguments: AwaitingForm.allCases)
    func awaited(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [log, door] value in
            await door.pass()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        for value in 1...3 { set.notify(value) }
        await eventually { door.waiting == 1 }

        set.cancelCalls()
        let settling = await taskThatWaits(for: set) { [log] in log.append("settled") }
        for _ in 0..<100 { await Task.yield() }
        #expect(log.count == 0)
        #expect(registration.token.isActive)
        door.open()
        await settling.value
        #expect(log.entries == ["1, cancelled", "settled"])
        set.notify(4)
        set.notify(5)
        await set.settled()

        #expect(log.entries == ["1, cancelled", "settled", "4", "5"])
        #expect(registration.token.droppedCount == 0)
        registration.end()
    }

    @Test("A value that is notified during a cancelled call is delivered after it", arguments: AwaitingForm.allCases)
    func duringTheCancelledCall(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [log, door] value in
            log.append("in \(value)")
            await door.pass()
            log.append("out \(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        set.notify(1)
        await eventually { door.waiting == 1 }
        set.cancelCalls()
        set.notify(2)
        set.notify(3)
        for _ in 0..<100 { await Task.yield() }
        #expect(log.entries == ["in 1"])
        door.open()
        await set.settled()

        #expect(log.entries == ["in 1", "out 1, cancelled", "in 2", "out 2", "in 3", "out 3"])
        registration.end()
    }

    @Test("A call that cancels the calls is not cancelled itself", arguments: AwaitingForm.allCases)
    func insideACall(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [set, log, door] value in
            await door.pass()
            if value == 1 { set.cancelCalls() }
            log.append("\(value), \(Task.isCancelled)")
        }
        for value in 1...3 { set.notify(value) }
        await eventually { door.waiting == 1 }
        door.open()
        await set.settled()
        set.notify(4)
        await set.settled()

        #expect(log.entries == ["1, false", "4, false"])
        set.removeAll()
        registration.end()
    }

    @Test("After a cancelled observer has been removed, `settled()` does not wait for its call")
    func removedAfterwards() async {
        let token = set.addAsync { [door] _ in await door.pass() }
        set.notify(1)
        await eventually { door.waiting == 1 }

        set.cancelCalls()
        token.remove()
        await set.settled()

        #expect(door.waiting == 1)
        door.open()
        await token.removeAndWait()
    }

    @Test("Values that wait for an actor are released and not delivered; those that follow are")
    func actor() async {
        let actor = Held()
        let values = ObserverSet<Tracked>()
        let other = ObserverSet<Int>()
        values.add(actor) { [log] (_: isolated Held, value) in log.append("\(value.value)") }
        other.add(actor) { [log] (_: isolated Held, value) in log.append("other \(value)") }
        let lifetimes = Lifetimes.current
        for value in 1...3 {
            values.notify(Tracked(value))
            other.notify(value)
        }
        #expect(lifetimes.count == 3)
        #expect(values.debugDescription.contains("3 waiting"))

        values.cancelCalls()

        #expect(lifetimes.count == 0)
        #expect(!values.debugDescription.contains("waiting"))
        #expect(other.debugDescription.contains("3 waiting"))
        values.notify(Tracked(4))
        other.notify(4)
        #expect(values.debugDescription.contains("1 waiting"))
        actor.letGo()
        await values.settled()
        await other.settled()

        #expect(log.entries == ["other 1", "other 2", "other 3", "4", "other 4"])
    }

    @Test(
        "Code on the observer's actor calls it in place after its values were dropped, and those of others keep their places"
    )
    @MainActor func inPlace() async {
        let owner = Signal()
        let other = ObserverSet<Int>()
        set.add(owner) { @MainActor [log] _, value in log.append("\(value)") }
        other.add(owner) { @MainActor [log] _, value in log.append("other \(value)") }
        // The main actor does not get to them meanwhile.
        join { [set] in
            for value in 1...3 {
                set.notify(value)
                other.notify(value)
            }
            set.cancelCalls()
        }

        set.notify(4)
        #expect(log.entries == ["4"])
        await set.settled()
        await other.settled()
        set.notify(5)

        #expect(log.entries == ["4", "other 1", "other 2", "other 3", "5"])
    }

    @Test("Values that were dropped hold up no call in place, however many they were")
    @MainActor func manyDropped() async {
        let owner = Signal()
        set.add(owner) { @MainActor [log] _, value in log.append("\(value)") }
        join { [set] in
            for value in 1...5_000 { set.notify(value) }
        }
        // Too many wait to be delivered before this one.
        set.notify(5_001)
        #expect(log.entries == [])

        set.cancelCalls()
        // As many as may be delivered before another one.
        join { [set] in
            for value in 1...1_000 { set.notify(value) }
        }
        set.notify(1_001)
        #expect(log.entries == (1...1_001).map { "\($0)" })
        await set.settled()

        #expect(log.count == 1_001)
    }

    @Test("Blocks on a queue whose values were dropped call nothing, and later values are delivered once")
    func queue() async {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let values = ObserverSet<Tracked>()
        values.addNonisolated(on: queue) { [log] value in log.append("\(value.value)") }
        let lifetimes = Lifetimes.current
        for value in 1...3 { values.notify(Tracked(value)) }
        #expect(values.debugDescription.contains("3 waiting"))

        values.cancelCalls()
        #expect(lifetimes.count == 0)
        #expect(!values.debugDescription.contains("waiting"))
        values.notify(Tracked(4))
        queue.resume()
        await values.settled()

        #expect(log.entries == ["4"])
    }

    @Test(
        "An observer of `once` whose value was dropped is called with the next",
        arguments: [ObserverKind.queue, .awaited])
    func once(_ kind: ObserverKind) async {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let actor = Held()
        let token =
            kind == .queue
            ? set.once.addNonisolated(on: queue) { [log] value in log.append("\(value)") }
            : set.once.addAsync(actor) { [log] (_: isolated Held, value) in log.append("\(value)") }
        set.notify(1)

        set.cancelCalls()
        #expect(token.isActive)
        set.notify(2)
        queue.resume()
        actor.letGo()
        await set.settled()

        #expect(log.entries == ["2"])
    }

    @Test("Observers that are called on the notifying thread have nothing to cancel", arguments: ObserverKind.inPlace)
    func synchronous(_ kind: ObserverKind) {
        let registration = kind.add(to: set) { [set, log] value in
            set.cancelCalls()
            log.append("\(value)")
        }
        set.cancelCalls()
        set.notify(1)

        #expect(log.entries == ["1"])
        #expect(registration.token.isActive != kind.isOnce)
        set.removeAll()
        registration.end()
    }

    @Test("A cancellation handler, and the `deinit` of what is dropped, run under no lock")
    func underNoLock() async {
        let values = ObserverSet<Tracked>()
        values.addAsync { [set, log, door] _ in
            await withTaskCancellationHandler {
                await door.pass()
            } onCancel: {
                useEverywhere(set)
                log.append("cancelled")
            }
        }
        let actor = Held()
        values.add(actor) { (_: isolated Held, _) in }
        values.notify(Tracked())
        await eventually { door.waiting == 1 }
        values.notify(
            Tracked { [values, log] in
                values.cancelCalls()
                log.append("released")
            })

        values.cancelCalls()

        #expect(Set(log.entries) == ["cancelled", "released"])
        door.open()
        actor.letGo()
        await values.settled()
    }

    @Test("However often calls are cancelled while threads notify, one call is made at a time, in order, and it ends")
    func races() async {
        let rounds = many(4_000, long: 100_000)
        let running = Counter()
        let last = Shared(-1)
        let mistakes = Counter()
        let check: @Sendable (Int) -> Void = { value in
            if running.increment() != 1 || last.exchange(value) >= value { mistakes.increment() }
            running.decrement()
        }
        set.addAsync { value in
            check(value)
            if value % 3 == 0 { await Task.yield() }
        }
        let keeper = Keeper()
        let actorCalls = Log<Int>()
        set.add(keeper) { (_: isolated Keeper, value) in actorCalls.append(value) }
        let queueCalls = Log<Int>()
        set.addNonisolated(on: DispatchQueue(label: "queue")) { value in queueCalls.append(value) }

        await race(times: rounds) { [set] round in
            for value in 0..<5 { set.notify(5 * round + value) }
        } _: { [set] round in
            for _ in 0..<round % 30 * 10 { continue }
            set.cancelCalls()
        }
        set.notify(5 * rounds)
        await set.settled()

        #expect(mistakes.value == 0)
        for calls in [actorCalls.entries, queueCalls.entries] {
            #expect(calls == calls.sorted() && Set(calls).count == calls.count)
            #expect(calls.last == 5 * rounds)
        }
        #expect(last.value == 5 * rounds)
        #expect(running.value == 0)
    }
}
