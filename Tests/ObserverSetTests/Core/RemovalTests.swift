import Dispatch
import Testing

@testable import ObserverSet

/// `removeAndWait()` returns when no call of the observer is running, and what it captured has been released.
@Suite("Removing and waiting", .lifetimesChecked, .againstHanging)
struct RemovalTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
    private let mayEnd = Signal()
    private let door = Door()
}

extension RemovalTests {
    // MARK: What it does

    @Test("The observer is removed, what waits is dropped, and what it captured is released", arguments: lastingHeld)
    func released(_ kind: ObserverKind) async {
        for _ in 0..<many(400) {
            let isReleased = Signal()
            let calls = Counter()
            let registration = kind.add(to: set) { [capture = Tracked { isReleased.set() }] _ in
                if capture.isIntact { calls.increment() }
            }
            for value in 0..<3 { set.notify(value) }

            let isRemoved = await registration.token.removeAndWait()

            let made = calls.value
            #expect(isRemoved && isReleased.isSet && !registration.token.isActive && set.isEmpty)
            set.notify(4)
            await set.settled()
            expect(calls.value, equals: made)
            #expect(await !registration.token.removeAndWait())
            registration.end()
        }
    }

    @Test("If no call is running, the caller is not suspended, and there will be none", arguments: withOwnMailbox)
    @MainActor func notSuspended(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] _ in log.append("called") }
        var hasRun = false
        let other = Task { @MainActor in hasRun = true }

        let isRemoved = await registration.token.removeAndWait()

        #expect(isRemoved && !hasRun && set.isEmpty)
        await other.value
        set.notify(1)
        await set.settled()
        expect(log.entries, equals: [])
        expect(await registration.token.removeAndWait(), equals: false)
        registration.end()
    }

    @Test("Of several callers exactly one gets true, and all wait", arguments: [ObserverKind.closure, .queue])
    func severalCallers(_ kind: ObserverKind) async {
        let call = await StoppedCall(kind, of: set, by: set) { [log] in log.append("called") }

        var waiting: [Task<Void, Never>] = []
        for _ in 0..<4 {
            await waiting.append(taskThatWaits { [log] in log.append("\(await call.token.removeAndWait())") })
        }
        for _ in 0..<100 { await Task.yield() }
        call.letGo()
        for task in waiting { await task.value }

        expect(log.entries.first, equals: "called")
        expect(log.entries.dropFirst().sorted(), equals: ["false", "false", "false", "true"])
        await call.end()
    }

    // MARK: Calls in progress

    @Test("It waits for the calls of all threads")
    func severalThreads() async {
        let mayEnd = (0..<5).map { _ in Signal() }
        let running = Counter()
        let token = set.addNonisolated { number in
            running.increment()
            mayEnd[number].wait()
            running.decrement()
        }
        let notifying = Task { [set] in await onThreads(5) { set.notify($0) } }
        await eventually { running.value == 5 }

        await removal(of: token) { [log] in
            for end in mayEnd {
                for _ in 0..<50 { await Task.yield() }
                log.append("a call ends")
                end.set()
            }
        }

        expect(log.entries, equals: Array(repeating: "a call ends", count: 5) + ["over"])
        await notifying.value
    }

    @Test(
        "It waits for a call that is running, and not for the values behind it",
        arguments: ObserverKind.lastingInPlace.filter { $0 != .ownerMethod } + [
            .mainActor, .mainActorOwner, .queue, .queueOwner,
        ])
    func waitsForCall(_ kind: ObserverKind) async {
        let isReleased = Signal()
        let call = await StoppedCall(kind, of: set, by: set) { [log, capture = Tracked { isReleased.set() }] in
            log.append(capture.isIntact ? "called" : "released too early")
        }
        if !kind.mayCallInPlace { set.notify(2) }

        await removal(of: call.token, releases: isReleased) { call.letGo() }

        expect(log.entries, equals: ["called", "over"])
        await call.end()
    }

    @Test("It cancels the call of an observer that awaits, and waits for its end", arguments: AwaitingForm.allCases)
    func awaited(_ form: AwaitingForm) async {
        let isReleased = Signal()
        let registration = form.add(to: set) { [log, door, capture = Tracked { isReleased.set() }] value in
            await door.pass()
            log.append("\(value), \(Task.isCancelled), \(capture.isIntact)")
        }
        for value in 1...3 { set.notify(value) }
        await eventually { door.waiting == 1 }

        await removal(of: registration.token, releases: isReleased) {
            // So does everybody who waits with `settled()`.
            let settling = await taskThatWaits(for: set) { [log] in log.append("settled") }
            for _ in 0..<100 { await Task.yield() }
            expect(log.count, equals: 0)
            door.open()
            await settling.value
        }

        expect(log.entries.first, equals: "1, true, true")
        expect(log.entries.dropFirst().sorted(), equals: ["over", "settled"])
        registration.end()
    }

    @Test("It waits while the observer's actor is busy, since the actor still holds what waits for it")
    func heldActor() async {
        let actor = Held()
        let isReleased = Signal()
        let token = set.add(actor) { [capture = Tracked { isReleased.set() }] (actor: isolated Held, _) in
            if capture.isIntact { actor.hear() }
        }
        set.notify(1)

        await removal(of: token, releases: isReleased) { [log] in
            log.append("let go")
            actor.letGo()
        }

        expect(log.entries, equals: ["let go", "over"])
        expect(await actor.calls, equals: 0)
    }

    @Test("It waits for a notification that is calling another observer, and has this one before it")
    func otherObserver() async {
        let isCalled = Signal()
        _ = set.addNonisolated { [mayEnd] _ in
            isCalled.set()
            mayEnd.wait()
        }
        let token = set.addNonisolated { [log] _ in log.append("called") }
        let notifying = Task { [set] in await onThread { set.notify(1) } }
        await eventually { isCalled.isSet }

        await removal(of: token) { [log, mayEnd] in
            log.append("the other call ends")
            mayEnd.set()
        }

        expect(log.entries, equals: ["the other call ends", "over"])
        await notifying.value
    }

    // MARK: In the observer's own call

    @Test("A task that an observer starts on the notifying thread waits for the call that started it")
    func startedInside() async {
        let token = Shared<ObserverToken?>(nil)
        let waiting = Shared<Task<Void, Never>?>(nil)
        token.value = set.add { [log] _ in
            waiting.value = Task {
                await token.value?.removeAndWait()
                log.append("over")
            }
            join {}
            log.append("called")
        }

        set.notify(1)
        await waiting.value?.value

        expect(log.entries, equals: ["called", "over"])
        token.value = nil
    }

    @Test(
        "In its own call an observer that awaits does not wait for itself, and is not cancelled",
        arguments: AwaitingForm.allCases, [true, false])
    func insideItsCall(_ form: AwaitingForm, inTask: Bool) async {
        let token = Shared<ObserverToken?>(nil)
        let registration = form.add(to: set) { [log, door] value in
            let own = token.value!
            let isRemoved = inTask ? await Task { await own.removeAndWait() }.value : await own.removeAndWait()
            log.append("removed \(isRemoved), cancelled \(Task.isCancelled)")
            await door.pass()
            log.append("called with \(value)")
        }
        token.value = registration.token
        for value in 1...3 { set.notify(value) }
        await eventually { door.waiting == 1 }

        // Somebody else waits for that call.
        await removal(of: registration.token, removes: false) { door.open() }

        expect(log.entries, equals: ["removed true, cancelled false", "called with 1", "over"])
        token.value = nil
        registration.end()
    }

    @Test("Two observers that await, and remove each other in their calls, do not wait for ever")
    func eachOther() async {
        let tokens = Shared<[ObserverToken]>([])
        let others = Counter()
        for number in 0..<2 {
            let token = set.addAsync { [door] _ in
                await door.pass()
                await tokens.value[1 - number].removeAndWait()
                others.increment()
            }
            tokens.value.append(token)
        }
        set.notify(1)
        await eventually { door.waiting == 2 }

        door.open()
        for token in tokens.value { await token.removeAndWait() }

        expect(others.value, equals: 2)
        tokens.value = []
    }

    // MARK: Cancelled callers

    @Test(
        "A cancelled task stops waiting, and the observer is removed all the same",
        arguments: [ObserverKind.queue, .awaited, .closure])
    func cancelled(_ kind: ObserverKind) async {
        let call = await StoppedCall(kind, of: set, by: set)

        let waiting = Task { await call.token.removeAndWait() }
        await eventually { !call.token.isActive }
        let later = Task {
            while !Task.isCancelled { await Task.yield() }
            return await call.token.removeAndWait()
        }
        waiting.cancel()
        later.cancel()

        #expect(await waiting.value)
        #expect(await !later.value)
        call.letGo()
        await call.token.removeAndWait()
        await call.end()
    }

    @Test(
        "A teardown in a task of its own waits for the call that is running, though the task that awaits it is cancelled",
        arguments: [ObserverKind.queue, .awaited, .closure], [true, false])
    func teardownInACancelledTask(_ kind: ObserverKind, isCancelledBefore: Bool) async {
        let call = await StoppedCall(kind, of: set, by: set) { [log] in log.append("the call has returned") }
        let token = call.token

        let scope = Task { [log] in
            while isCancelledBefore && !Task.isCancelled { await Task.yield() }
            let isRemoved = await Task { await token.removeAndWait() }.value
            log.append("torn down: \(isRemoved), cancelled: \(Task.isCancelled)")
        }
        if !isCancelledBefore { await eventually { !token.isActive } }
        scope.cancel()
        await eventually { !token.isActive }
        // If the teardown did not wait, it would very likely be over by now. If it does wait, this loop changes nothing.
        for _ in 0..<100 { await Task.yield() }
        call.letGo()
        await scope.value
        await call.end()

        expect(log.entries, equals: ["the call has returned", "torn down: true, cancelled: true"])
    }

    // MARK: Registrations that had ended before

    @Test(
        "It waits for the call of an observer that had been removed before, in any way, or has been called by `once`",
        arguments: [ObserverKind.closure, .queue, .awaited], [.byToken, .bySet, .all, nil] as [WayOfRemoving?])
    func endedBefore(_ kind: ObserverKind, _ removal: WayOfRemoving?) async {
        let source: any NotificationSource<Int> = removal == nil ? set.once : set
        let call = await StoppedCall(kind, of: source, by: set) { [log] in
            log.append("called, cancelled \(Task.isCancelled)")
        }
        expect(removal?.perform(on: set, call.registration) ?? !call.token.isActive, equals: true)

        await self.removal(of: call.token, removes: false) { call.letGo() }

        expect(log.entries, equals: ["called, cancelled \(kind.isAwaited && removal != nil)", "over"])
        await call.end()
    }

    @Test("So it does for the calls of other observers that had been removed")
    func othersEndedBefore() async {
        let tokens = (0..<2).map { _ in
            set.addAsync { [log, door] _ in
                await door.pass()
                log.append("called")
            }
        }
        set.notify(1)
        await eventually { door.waiting == 2 }
        for token in tokens { token.remove() }

        await removal(of: tokens[0], removes: false) { [log, door] in
            door.letOnOne()
            await eventually { log.count == 1 }
            for _ in 0..<100 { await Task.yield() }
            log.append("the other one")
            door.letOnOne()
        }

        expect(log.entries, equals: ["called", "the other one", "called", "over"])
    }

    @Test("Once the set is gone, it drops what the set had notified to an actor, and waits until that is released")
    func goneSet() async {
        let actor = Held()
        var set: ObserverSet? = ObserverSet<Int>()
        let token = set!.add(actor) { [log] (_: isolated Held, value) in log.append("called with \(value)") }
        for value in 1...2 { set?.notify(value) }
        set = nil

        await removal(of: token, removes: false) { actor.letGo() }

        expect(log.entries, equals: ["over"])
    }

    @Test(
        "Once the set is gone, it cancels the call of an observer that awaits, and drops what is pending",
        arguments: AwaitingForm.allCases)
    func goneSetAwaited(_ form: AwaitingForm) async {
        var set: ObserverSet? = ObserverSet<Int>()
        let registration = form.add(to: set!) { [log, door] value in
            await door.pass()
            log.append("\(value), \(Task.isCancelled)")
        }
        for value in 1...3 { set?.notify(value) }
        await eventually { door.waiting == 1 }
        set = nil

        await removal(of: registration.token, removes: false) { door.open() }

        expect(log.entries, equals: ["1, true", "over"])
        registration.end()
    }

    @Test("The mailboxes of removed observers that await are not kept when they are idle")
    func noMailboxIsKept() async {
        for value in 0..<100 {
            let token = Shared<ObserverToken?>(nil)
            token.value = set.addAsync { _ in token.value?.remove() }
            set.notify(value)
            await eventually { token.value?.isActive == false }
            await token.exchange(nil)?.removeAndWait()
        }

        let kept = set.registry?.lock.withLock { $0.rare?.busy.count }
        #expect(kept ?? 0 < 10)
    }

    /// Has another task remove the observer and wait, lets the call go on meanwhile, and notes when that is over.
    private func removal(
        of token: ObserverToken, removes: Bool = true, releases isReleased: Signal? = nil, letOn: () async -> Void
    ) async {
        let waiting = await taskThatWaits { [log] in
            expect(await token.removeAndWait(), equals: removes)
            log.append(isReleased?.isSet == false ? "not released" : "over")
        }
        for _ in 0..<100 { await Task.yield() }
        await letOn()
        await waiting.value
    }
}

extension RemovalTests {
    /// Called by every notification, and held only by the set.
    static let lastingHeld = ObserverKind.held.filter { !$0.isOnce }
    /// What other tests notify does not wait in their mailboxes.
    static let withOwnMailbox = ObserverKind.allCases.filter {
        $0 != .actor && !ObserverKind.ofTheMainActor.contains($0)
    }
}

/// Races between removals that wait and other threads.
///
/// The observers write to memory that is not synchronised, and that the remover reads afterwards. So the thread sanitizer
/// reports a race if a removal does not order them.
@Suite("Races of removals that wait", .lifetimesChecked, .againstHanging, .serialized)
struct RemovalRaceTests {}

extension RemovalRaceTests {
    @Test(
        "After a removal nothing runs, nothing is held, and all that was done is seen",
        arguments: RemovalTests.lastingHeld)
    func againstNotifications(_ kind: ObserverKind) async {
        let lifetimes = Lifetimes.current
        let rounds = many(2_000, long: 100_000)
        let set = ObserverSet<Int>()
        // Another observer, so that there are slots behind the first.
        _ = set.addNonisolated { _ in }
        let notified = Gate(2)
        let next = Gate(2)
        let notifying = Task {
            await onThread {
                for round in 0..<rounds {
                    notified.pass()
                    for value in 0..<3 + round % 3 { set.notify(value) }
                    next.pass()
                }
            }
        }
        for round in 0..<rounds {
            let memory = Memory()
            let isReleased = Signal()
            let registration = kind.add(to: set) { [capture = Tracked(in: lifetimes) { isReleased.set() }] _ in
                if capture.isIntact { memory.calls += 1 }
            }
            await onThread { notified.pass() }
            for _ in 0..<round % 40 * 10 { continue }

            let isRemoved = await registration.token.removeAndWait()

            #expect(isRemoved && isReleased.isSet)
            memory.calls += 1
            await onThread { next.pass() }
            registration.end()
        }
        await notifying.value
        set.removeAll()
    }

    @Test("A registration that is asked about at the same moment is released as well")
    func againstQuestions() async {
        let set = ObserverSet<Int>()
        let asked = Shared<ObserverToken?>(nil)
        let isOver = Signal()
        async let asking: Void = onThread {
            while !isOver.isSet {
                if let token = asked.value { _ = (token.isActive, token.droppedCount, token.description) }
            }
        }
        for _ in 0..<many(20_000, long: 100_000) {
            let isReleased = Signal()
            let owner = Signal()
            let token = set.add(owner) { [capture = Tracked { isReleased.set() }] _, _ in _ = capture.isIntact }
            asked.value = token

            await token.removeAndWait()

            #expect(isReleased.isSet)
        }
        isOver.set()
        await asking
    }

    @Test("Several threads that remove the same observer, while others notify, all return")
    func removedBySeveral() async {
        let lifetimes = Lifetimes.current
        for round in 0..<many(1_000, long: 100_000) {
            let set = ObserverSet<Int>()
            let kind = RemovalTests.lastingHeld[round % RemovalTests.lastingHeld.count]
            let registration = kind.add(to: set) { [capture = Tracked(in: lifetimes)] _ in _ = capture.isIntact }
            let removed = Counter()

            await withTaskGroup { group in
                for index in 0..<4 {
                    group.addTask {
                        if index == 0 { return await onThread { for value in 0..<5 { set.notify(value) } } }
                        for _ in 0..<(round / 7 + index) % 4 { await Task.yield() }
                        let isRemoved =
                            index == 1 ? registration.token.remove() : await registration.token.removeAndWait()
                        if isRemoved { removed.increment() }
                    }
                }
            }

            expect(removed.value, equals: 1)
            registration.end()
        }
    }

    @Test(
        "A removal by a cancelled task, and one that meets the end of the call, both return", arguments: [true, false])
    func awaited(isCancelled: Bool) async {
        let set = ObserverSet<Int>()
        for round in 0..<many(4_000, long: 100_000) {
            let calls = Counter()
            let token = set.addAsync { _ in
                calls.increment()
                for _ in 0..<round % 4 { await Task.yield() }
                calls.decrement()
            }
            set.notify(1)
            set.notify(2)
            for _ in 0..<round % 5 { await Task.yield() }

            let removing = Task { await token.removeAndWait() }
            if isCancelled { removing.cancel() }

            let isRemoved = await removing.value
            #expect(isRemoved && !token.isActive)
            if isCancelled { await token.removeAndWait() }
            expect(calls.value, equals: 0)
        }
    }

    /// Written by one call at a time, and by the remover when no call is running.
    private final class Memory: @unchecked Sendable {
        var calls = 0
    }
}
