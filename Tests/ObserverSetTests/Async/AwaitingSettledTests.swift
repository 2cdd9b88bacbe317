import Testing

@testable import ObserverSet

/// `settled()` waits for awaited calls, except for the call inside which it is called.
@Suite("`settled()` with observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingSettledTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()
}

extension AwaitingSettledTests {
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
        let observer = AwaitingTarget<Int>(owner: nil, in: AwaitingMailbox(on: nil, .unbounded)) { _, _ in }
        let jobs = (0..<4).map { AwaitingJob($0, to: observer, .current) }
        var (first, second) = (AwaitingJobs(), AwaitingJobs())

        first.append(jobs[0])
        second.append(jobs[1])
        first.append(jobs[2])
        second.append(jobs[3])

        expect(jobs.map(\.number), equals: [1, 1, 2, 2])
    }

    /// Scenario 66: one observer of many merged sources.
    @Test("The first of several registrations that a token ends takes the values of all of them along")
    func removedTogether() {
        let observer = AwaitingTarget<Int>(owner: nil, in: AwaitingMailbox(on: nil, .unbounded)) { _, _ in }
        let registrations = (0..<4).map { _ in FurtherRegistration(observer, of: nil) }
        for registration in registrations { #expect(registration.claim()) }
        var jobs = AwaitingJobs()
        for value in 0..<12 { jobs.append(AwaitingJob(value, to: registrations[value % 4], .current)) }

        for registration in registrations.dropLast() { registration.markRemoved() }

        expect(jobs.removeEnded().map(\.number), equals: [1, 2, 3, 5, 6, 7, 9, 10, 11])
        expect([jobs.values, jobs.removeEnded().count], equals: [3, 0])
        expect(registrations.map(\.counts.pending), equals: [0, 0, 0, 3])
    }

    @Test("Callers whose tasks were cancelled do not pile up behind a call that never returns")
    func cancelledCallers() {
        var jobs = AwaitingJobs()
        let callers = (0..<1_000).map { _ in WeakCaller() }

        for caller in callers {
            let settledWait = SettledWait()
            caller.settledWait = settledWait
            jobs.append(settledWait, .current)
            settledWait.countDown()
        }

        expect(callers.count { $0.settledWait != nil }, atMost: 64)
        withExtendedLifetime(jobs) {}
    }

    @Test(
        "`settled()` inside a call waits for all other observers, but not for that call",
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

    @Test("`settled()` in a child task of a call does not wait for that call", arguments: AwaitingForm.allCases)
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

    @Test("A caller of settled() raises the calls that it waits for to its own priority")
    func priority() async {
        let priorities = Log<TaskPriority>()
        _ = set.addAsync { [door] _ in
            priorities.append(Task.currentPriority)
            await door.pass()
        }
        await Task.detached(priority: .background) { [set] in for value in 0..<3 { set.notify(value) } }.value
        await eventually { door.waiting == 1 }
        let wait = await Task.detached(priority: .high) { [set] in set.beginSettledWait() }.value
        door.open()
        await wait.wait()

        expect(priorities.entries.map { $0 >= .high }, equals: [false, true, true])
    }

    @Test("An observer removed before its actor has time to call it is not called, and `settled()` does not wait")
    @MainActor func removedBeforeItsCall() async {
        let isBlocked = Signal()
        let mayGoOn = Signal()
        Task { @Elsewhere in
            isBlocked.set()
            mayGoOn.wait()
        }
        await eventually { isBlocked.isSet }
        let onMain = set.addAsync { @MainActor [log] _ in log.append("main") }
        let elsewhere = set.addAsync { @Elsewhere [log] _ in log.append("elsewhere") }
        set.notify(1)
        // Its call needs the main actor, which this test has occupied since the notification.
        onMain.remove()
        let task = await waiting(for: set)

        elsewhere.remove()
        await task.value
        await set.settled()
        mayGoOn.set()
        await Task { @Elsewhere in }.value
        for _ in 0..<100 { await Task.yield() }

        expect(log.entries, equals: ["settled"])
    }
}

final class WeakCaller {
    weak var settledWait: SettledWait?
}
