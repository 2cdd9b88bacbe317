import Testing

@testable import ObserverSet

/// `settled()` waits for awaited calls, except for the call inside which it is called.
@Suite("`settled()` with observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingSettledTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()

    /// A task that waits until the set is settled, and then logs `text`.
    private func waiting(for set: ObserverSet<Int>, _ text: String = "settled") async -> Task<Void, Never> {
        await taskThatWaits(for: set) { [log] in log.append(text) }
    }

    @Test("In an observer's first call, `settled()` waits for another observer's first call")
    func anotherFirstCall() async {
        let other = ObserverSet<Int>()
        _ = other.addAsync { [log, door] _ in
            await door.pass()
            log.append("other")
        }
        _ = set.addAsync { [log] _ in
            await other.settled()
            log.append("own")
        }
        other.notify(1)
        set.notify(1)
        let task = await waiting(for: set)

        door.open()
        await task.value

        expect(log.entries, equals: ["other", "own", "settled"])
        set.removeAll()
        other.removeAll()
    }

    /// A counter of the process would be a cache line that all notifiers share.
    @Test("Each mailbox numbers its own values")
    func numbers() {
        let observer = AwaitingEntry<Int>(owner: nil, nil, in: AwaitingMailbox(on: nil, .unbounded)) { _, _ in }
        let jobs = (0..<4).map { AwaitingJob($0, to: observer, .current) }
        var (first, second) = (AwaitingJobs(), AwaitingJobs())

        first.append(jobs[0])
        second.append(jobs[1])
        first.append(jobs[2])
        second.append(jobs[3])

        expect(jobs.map(\.number), equals: [1, 1, 2, 2])
    }

    @Test("`settled()` waits for the only call of an observer, which has ended its registration")
    func onlyCall() async {
        let begun = Counter()
        _ = set.once.addAsync { [log, door] value in
            begun.increment()
            await door.pass()
            log.append("\(value)")
        }
        set.notify(1)
        await eventually { begun.value == 1 }
        let task = await waiting(for: set)

        door.open()
        await task.value

        expect(log.entries, equals: ["1", "settled"])
    }

    @Test("`remove()` does not cancel the only call of an observer")
    func onlyCallGoesOn() async {
        let begun = Counter()
        let token = set.once.addAsync { [log, door] _ in
            begun.increment()
            await door.pass()
            log.append("\(Task.isCancelled)")
        }
        set.notify(1)
        await eventually { begun.value == 1 }

        let isRemoved = token.remove()
        door.open()
        await set.settled()

        #expect(!isRemoved)
        expect(log.entries, equals: ["false"])
    }

    @Test("Callers whose tasks were cancelled do not pile up behind a call that never returns")
    func cancelledCallers() {
        var jobs = AwaitingJobs()
        let callers = (0..<1_000).map { _ in WeakCaller() }

        for caller in callers {
            let settledWait = SettledWait()
            caller.settledWait = settledWait
            jobs.append(settledWait, .current)
            settledWait.leave()
        }

        #expect(callers.count { $0.settledWait != nil } <= 64)
        withExtendedLifetime(jobs) {}
    }

    @Test("`settled()` waits until the calls have returned", arguments: AwaitingForm.allCases)
    func waits(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        set.notify(1)
        set.notify(2)
        let task = await waiting(for: set)

        door.open()
        await task.value

        expect(log.entries, equals: ["1", "2", "settled"])
        registration.end()
    }

    @Test("`settled()` does not wait for values that are enqueued later")
    func notForLaterValues() async {
        _ = set.addAsync { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        set.notify(1)
        await eventually { door.waiting == 1 }
        let task = await waiting(for: set)
        set.notify(2)

        door.letOnOne()
        await task.value

        expect(Set(log.entries), equals: ["1", "settled"])
        door.open()
        await set.settled()
    }

    @Test("If a newer value replaces the value that `settled()` waits for, `settled()` does not wait for the newer one")
    func notForWhatReplaces() async {
        let token = set.addAsync(buffering: .newest(1)) { [door] _ in await door.pass() }
        set.notify(1)
        await eventually { door.waiting == 1 }
        set.notify(2)
        let task = await waiting(for: set)
        set.notify(3)

        door.letOnOne()
        await task.value

        expect(token.droppedCount, equals: 1)
        door.open()
        await set.settled()
    }

    @Test(
        "`settled()` inside an observer's own call waits for all other observers, but not for that call",
        arguments: AwaitingForm.allCases)
    func insideItsOwnCall(_ form: AwaitingForm) async {
        // The call waits here until both values have been notified, and only then for `settled()`.
        let start = Door()
        let own = form.add(to: set) { [set, log] value in
            guard value == 1 else { return }
            await start.pass()
            await set.settled()
            log.append("settled")
        }
        let other = form.add(to: set) { [log, door] value in
            await door.pass()
            log.append("other \(value)")
        }
        set.notify(1)
        set.notify(2)
        await eventually { door.waiting == 1 && start.waiting == 1 }
        start.open()
        for _ in 0..<100 { await Task.yield() }
        expect(log.entries, equals: [])

        door.open()
        await eventually { log.count == 3 }

        expect(log.entries, equals: ["other 1", "other 2", "settled"])
        own.end()
        other.end()
        // One of the observers has captured the set; this breaks the cycle.
        set.removeAll()
    }

    @Test("`settled()` in a task of a synchronous observer that was notified inside a call waits for that call")
    func insideAnotherObserverOnItsActor() async {
        let progress = ObserverSet<Int>()
        let keeper = Keeper()
        progress.add(keeper) { [set, log, door] _, _ in
            Task {
                log.append("waits")
                // The child task has begun to wait before the call may return.
                async let settled: Void = set.settled()
                await Task.yield()
                door.open()
                await settled
                log.append("settled")
            }
        }
        _ = set.addAsync { [log, door] value in
            progress.notify(value)
            await door.pass()
            for _ in 0..<100 { await Task.yield() }
            log.append("over")
        }

        set.notify(1)
        await eventually { log.count == 3 }

        expect(log.entries, equals: ["waits", "over", "settled"])
        set.removeAll()
    }

    @Test(
        "`settled()` in a child task of an observer's call does not wait for that call",
        arguments: AwaitingForm.allCases)
    func insideAChildTask(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [set, log] _ in
            async let settled: Void = set.settled()
            await withTaskGroup { group in group.addTask { await set.settled() } }
            await settled
            log.append("settled")
        }

        set.notify(1)
        set.notify(2)
        await set.settled()

        expect(log.entries, equals: ["settled", "settled"])
        registration.end()
        // The observer has captured the set; this breaks the cycle.
        set.removeAll()
    }

    @Test("`settled()` in one observer's call waits for another observer's call that was notified inside it")
    func insideAnothersCall() async {
        let other = ObserverSet<Int>()
        _ = other.addAsync { [log] value in
            await Task.yield()
            log.append("other \(value)")
        }
        _ = set.addAsync { [log] value in
            other.notify(value)
            await other.settled()
            log.append("\(value)")
        }

        for value in 1...3 { set.notify(value) }
        await set.settled()

        expect(log.entries, equals: (1...3).flatMap { ["other \($0)", "\($0)"] })
    }

    @Test(
        "`settled()` waits for the call of an observer that was removed meanwhile, and not for what waited",
        arguments: AwaitingForm.allCases, [false, true])
    func removed(_ form: AwaitingForm, _ all: Bool) async {
        let registration = form.add(to: set) { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        set.notify(1)
        await eventually { door.waiting == 1 }
        let before = await waiting(for: set)
        set.notify(2)

        if all { set.removeAll() } else { registration.token.remove() }
        let after = await waiting(for: set)
        for _ in 0..<100 { await Task.yield() }
        expect(log.entries, equals: [])
        door.open()
        await before.value
        await after.value

        expect(log.entries, equals: ["1", "settled", "settled"])
        registration.end()
    }

    @Test(
        "A cancelled task does not wait for the call of a removed observer, and no task waits for a call that is over",
        arguments: AwaitingForm.allCases)
    func removedAndCancelled(_ form: AwaitingForm) async {
        let registration = form.add(to: set) { [door] _ in await door.pass() }
        set.notify(1)
        await eventually { door.waiting == 1 }
        registration.token.remove()
        let task = await waiting(for: set)

        task.cancel()
        await task.value

        expect(door.waiting, equals: 1)
        door.open()
        for _ in 0..<2 { await set.settled() }
        registration.end()
    }

    @Test("`settled()` does not wait for an observer that is removed before its actor has time to call it")
    @MainActor func removedBeforeItsCall() async {
        let isBlocked = Signal()
        let mayGoOn = Signal()
        Task { @Elsewhere in
            isBlocked.set()
            mayGoOn.wait()
        }
        await eventually { isBlocked.isSet }
        let token = set.addAsync { @Elsewhere _ in }
        set.notify(1)
        let task = await waiting(for: set)

        token.remove()
        await task.value
        await set.settled()

        mayGoOn.set()
    }

    @Test("An observer that never returns holds up only its own `settled()`")
    func neverReturns() async {
        let other = ObserverSet<Int>()
        _ = other.addAsync { [log] value in log.append("\(value)") }
        let token = set.addAsync { [door] _ in await door.pass() }
        set.notify(1)
        let task = await waiting(for: set)

        other.notify(2)
        await other.settled()
        expect(log.entries, equals: ["2"])

        token.remove()
        task.cancel()
        await task.value
        door.open()
    }

    @Test("After one of several registrations is removed, `settled()` waits for the others' values and the call before")
    func ofSeveral() async {
        let other = ObserverSet<Int>()
        let (first, second) = addInBoth(set, other) { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        set.notify(1)
        other.notify(2)
        await eventually { door.waiting == 1 }
        let task = await waiting(for: other)

        first.remove()
        for _ in 0..<100 { await Task.yield() }
        expect(log.entries, equals: [])
        door.open()
        await task.value

        expect(log.entries, equals: ["1", "2", "settled"])
        second.remove()
    }

    @Test("`settled()` from a `deinit` in another observer's call waits for the outer call that notified that observer")
    func insideADeinitBehindAnotherCall() async {
        let other = ObserverSet<Int>()
        let isReleased = Signal()
        let token = Shared<ObserverToken?>(nil)
        var capture: Tracked? = Tracked { [set, log] in
            Task {
                isReleased.set()
                await set.settled()
                log.append("settled")
            }
        }
        token.value = other.addAsync { [token, capture] _ in
            withExtendedLifetime(capture) { _ = token.exchange(nil)?.remove() }
        }
        capture = nil
        _ = set.addAsync { [log, door] value in
            other.notify(value)
            await door.pass()
            log.append("over")
        }

        set.notify(1)
        await eventually { door.waiting == 1 && isReleased.isSet }
        for _ in 0..<100 { await Task.yield() }
        expect(log.entries, equals: [])

        door.open()
        await eventually { log.count == 2 }

        expect(log.entries, equals: ["over", "settled"])
        set.removeAll()
    }

    @Test("Many tasks may await `settled()` at once, and all of them resume")
    func manyTasks() async {
        let calls = Counter()
        _ = set.addAsync { _ in
            await Task.yield()
            calls.increment()
        }

        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { [set] in
                    for value in 0..<100 {
                        let before = calls.value
                        set.notify(value)
                        await set.settled()
                        #expect(calls.value > before)
                    }
                }
            }
        }

        expect(calls.value, equals: 800)
    }
}

private final class WeakCaller {
    weak var settledWait: SettledWait?
}
