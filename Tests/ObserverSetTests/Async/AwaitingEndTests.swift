import Testing

@testable import ObserverSet

/// What happens to calls and values when an observer is removed, or when its owner or its set is deallocated.
@Suite("The end of observers that await", .lifetimesChecked, .againstHanging)
struct AwaitingEndTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()
}

extension AwaitingEndTests {
    private static let removals = AwaitingForm.allCases.flatMap { form in
        WayOfRemoving.allCases.filter { $0 != .byOwner || AwaitingForm.owned.contains(form) }.map { (form, $0) }
    }

    // MARK: Removed

    @Test(
        "Removing an observer drops its waiting values and cancels its call, without waiting for it",
        arguments: removals)
    func removed(_ form: AwaitingForm, _ removal: WayOfRemoving) async {
        let registration = form.add(to: set) { [log, door] value in
            log.append("in \(value)")
            await door.pass()
            log.append("out \(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        for value in 1...3 { set.notify(value) }
        await eventually { door.waiting == 1 }

        #expect(removal.perform(on: set, registration))
        expect(log.entries, equals: ["in 1"])
        set.notify(4)
        door.open()
        await set.settled()

        expect(log.entries, equals: ["in 1", "out 1, cancelled"])
        registration.end()
    }

    /// Scenario 63: a call that cancels the task in which it runs.
    ///
    /// Source: vaexio/vaex#1769.
    @Test("A call that cancels its own task is the only one that is cancelled", arguments: AwaitingForm.allCases)
    func cancelsItself(_ form: AwaitingForm) async {
        let (isCancelled, isQueued) = (Log<Bool>(), Signal())
        let registration = form.add(to: set) { value in
            if value == 1 { await eventually { isQueued.isSet } }
            if value == 2 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            isCancelled.append(Task.isCancelled)
        }

        for value in 1...5 { set.notify(value) }
        isQueued.set()
        await set.settled()

        expect(isCancelled.entries, equals: [false, true, false, false, false])
        registration.end()
    }

    @Test("An observer that ends its registration in a call is not cancelled, nor called again", arguments: removals)
    func removedInside(_ form: AwaitingForm, _ removal: WayOfRemoving) async {
        for _ in 0..<many(400) {
            let set = ObserverSet<Int>()
            let isCancelled = Log<Bool>()
            let kept = Shared<KeptRegistration?>(nil)
            let registration = form.add(to: set) { value in
                await eventually { kept.value != nil }
                isCancelled.append(Task.isCancelled)
                if let registration = kept.value { _ = removal.perform(on: set, registration) }
                isCancelled.append(Task.isCancelled)
            }
            kept.value = registration

            await onThread { for value in 1...3 { set.notify(value) } }
            await eventually { isCancelled.count == 2 }

            expect(isCancelled.entries, equals: [false, false])
            kept.value = nil
        }
    }

    @Test("A cancellation handler runs under no lock, and before the removal has returned")
    func cancellationHandler() async {
        let token = set.addAsync { [set, log, door] _ in
            await withTaskCancellationHandler {
                await door.pass()
            } onCancel: {
                useEverywhere(set)
                log.append("cancelled")
            }
        }
        set.notify(1)
        await eventually { door.waiting == 1 }

        token.remove()

        expect(log.entries, equals: ["cancelled"])
        door.open()
    }

    @Test(
        "A value that arrives after the removal is dropped, without waiting for the current call",
        arguments: [.unbounded, .newest(1), .oldest(1)] as [Buffering])
    func postedLate(_ buffering: Buffering) async {
        let lifetimes = Lifetimes.current
        let entry = AwaitingTarget<Tracked>(owner: nil, in: AwaitingMailbox(on: nil, buffering)) { [door] _, _ in
            await door.pass()
        }
        #expect(entry.claim())
        let mailbox = AwaitingMailbox(on: nil, buffering)
        mailbox.post(Tracked(), to: entry, .current)
        await eventually { door.waiting == 1 }
        entry.markRemoved()
        mailbox.dropRemoved(cancellingCallOf: entry)

        // As by a notification that reached the entry before its removal.
        mailbox.post(Tracked(), to: entry, .current)

        expect(lifetimes.count, equals: 1)
        door.open()
        await mailbox.settled()
    }

    @Test("A value that waits is dropped, and its observer not called, if the observer is being removed meanwhile")
    func removedWhileAValueWaits() async {
        let observer = WatchedObserver(door)
        let mailbox = AwaitingMailbox(on: nil, .unbounded)
        mailbox.post(1, to: observer, .current)
        await eventually { door.waiting == 1 }
        mailbox.post(2, to: observer, .current)

        // As between the removal and what follows it after unlocking.
        observer.markRemoved()
        door.open()
        await mailbox.settled()

        expect(observer.calls.value, equals: 1)
    }

    // MARK: Owners

    @Test("Values that wait keep no owner alive")
    @MainActor func ownerIsWeakWhileValuesWait() async {
        var owner: PlainListener<Int>? = PlainListener { _ in }
        weak let reference = owner
        let token = set.addAsync(owner!) { @MainActor [log] _, value in log.append("\(value)") }

        for value in 1...3 { set.notify(value) }
        // No call has begun yet: it needs the main actor, which this test occupies.
        owner = nil

        expect(reference == nil && !token.isActive)
        await set.settled()
        expect(log.entries, equals: [])
        set.notify(4)
        expect(set.registry?.registered, equals: 0)
    }

    @Test(
        "An owner lives until its call returns; when the owner dies, its waiting values are dropped",
        arguments: AwaitingForm.owned.filter { $0 != .actorOwner })
    func ownerDies(_ form: AwaitingForm) async {
        let set = ObserverSet<Tracked>()
        let lifetimes = Lifetimes.current
        var registration: KeptRegistration? = form.add(to: set) { [log, door] value in
            log.append("in \(value.value)")
            await door.pass()
            log.append("out \(value.value)")
        }
        let token = registration!.token
        for value in 1...3 { set.notify(Tracked(value)) }
        await eventually { door.waiting == 1 }

        registration = nil
        #expect(token.isActive, "the current call holds the owner")
        door.open()
        await eventually { lifetimes.count == 0 }
        set.notify(Tracked(4))

        expect(log.entries, equals: ["in 1", "out 1"])
        expect(!token.isActive && set.registry?.registered == 0)
    }

    @Test("An owner that dies at the end of its call may use the set in its `deinit`, and so may a capture")
    func ownerAndClosureDieUnderNoLock() async {
        let dead = Counter()
        let last = { [set, dead] in
            Shared<Tracked?>(
                Tracked {
                    useEverywhere(set)
                    dead.increment()
                })
        }
        let (owner, capture) = (last(), last())
        set.addAsync(owner.value!) { [door] _, _ in await door.pass() }
        let token = set.addAsync { [door, capture = capture.exchange(nil)] _ in
            await door.pass()
            _ = capture?.isIntact
        }
        set.notify(1)
        await eventually { door.waiting == 2 }

        owner.value = nil
        token.remove()
        expect(dead.value, equals: 0)
        door.open()
        await eventually { dead.value == 2 }
        await set.settled()

        expect([dead.value, set.count], equals: [2, 0])
    }

    // MARK: Sets

    @Test("Waiting values are still delivered when their set dies", arguments: AwaitingForm.allCases)
    func setDies(_ form: AwaitingForm) async {
        let lifetimes = Lifetimes.current
        let capture = Shared<Tracked?>(Tracked())
        var set: ObserverSet<Tracked>? = ObserverSet()
        let registration = form.add(to: set!) { [log, door, capture = capture.exchange(nil)] value in
            await door.pass()
            log.append("\(value.value)" + (Task.isCancelled || capture == nil ? ", cancelled" : ""))
        }
        for value in 1...3 { set?.notify(Tracked(value)) }
        await eventually { door.waiting == 1 }

        set = nil
        #expect(!registration.token.isActive)
        door.open()
        await eventually { log.count == 3 }

        expect(log.entries, equals: ["1", "2", "3"])
        registration.end()
        await eventually { lifetimes.count <= 2 }
    }

    // MARK: User code and locks

    @Test(
        "A value for which there is no room may use the set in its `deinit`",
        arguments: [.newest(1), .oldest(1)] as [Buffering])
    func valuesDieUnderNoLock(_ buffering: Buffering) async {
        let set = ObserverSet<Tracked>()
        let other = ObserverSet<Int>()
        let dead = Counter()
        let token = set.addAsync(buffering: buffering) { [door] _ in await door.pass() }
        for _ in 0..<5 {
            set.notify(
                Tracked { [weak set] in
                    _ = set?.count
                    useEverywhere(other)
                    dead.increment()
                })
        }
        await eventually { door.waiting == 1 }

        token.remove()
        expect(dead.value, equals: 4)
        door.open()
    }

    // MARK: Several registrations

    @Test("When one of several registrations ends, what it waits for is its call; the others' values are delivered")
    func oneOfSeveral() async {
        let other = ObserverSet<Int>()
        let (first, second) = addInBoth(set, other) { [log, door] value in
            await door.pass()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        for value in 1...4 { (value % 2 == 1 ? set : other).notify(value) }
        await eventually { door.waiting == 1 }
        let settling = await taskThatWaits(for: other) { [log] in log.append("settled") }
        let removing = await taskThatWaits { await first.removeAndWait() }
        expect(!first.isActive && second.isActive)
        for _ in 0..<100 { await Task.yield() }
        expect(log.entries, equals: [])

        door.open()
        await settling.value

        #expect(await removing.value)
        expect(log.entries, equals: ["1, cancelled", "2", "4", "settled"])
        second.remove()
    }

    @Test("Tasks that wait for one of two registrations, behind the other's call, resume when both have ended, and it")
    func waitersOfBoth() async {
        let other = ObserverSet<Int>()
        let (first, second) = addInBoth(set, other) { [door] _ in await door.pass() }
        set.notify(1)
        other.notify(2)
        await eventually { door.waiting == 1 }
        let settling = await taskThatWaits(for: other)
        let removing = await taskThatWaits { await first.removeAndWait() }

        second.remove()
        expect(door.waiting, equals: 1)
        door.open()
        await settling.value
        #expect(await removing.value)
    }
}

/// Registers one observer in two sets, so that both registrations share one mailbox.
func addInBoth<Parameters>(
    _ first: ObserverSet<Parameters>, _ second: ObserverSet<Parameters>, buffering: Buffering = .unbounded,
    _ call: @escaping @Sendable (Parameters) async -> Void
) -> (ObserverToken, ObserverToken) {
    let kept = KeptObserver<Parameters>()
    _ = kept.addAsync(buffering: buffering) { await call($0) }
    let observer = kept.observer.exchange(nil)!
    return (first.register(observer), second.register(observer))
}

/// Counts its calls, each of which waits at a door.
private final class WatchedObserver: Target<Int>, @unchecked Sendable {
    let calls = Counter()
    private let door: Door
    private let ownState = RegistrationState()

    init(_ door: Door) {
        self.door = door
        super.init()
        _ = claim()
    }

    override var state: UnsafePointer<RegistrationState>? { unsafe withUnsafePointer(to: ownState) { unsafe $0 } }

    override func deliver(_ value: any Sendable, for registration: Registration, on actor: isolated (any Actor)?) async
    {
        calls.increment()
        await door.pass()
    }
}
