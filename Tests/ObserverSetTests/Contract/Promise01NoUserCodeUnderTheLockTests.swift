import Testing

@testable import ObserverSet

/// Promise 1: no user code runs under the lock, that is, no observer, no continuation, and no `deinit` of an owner,
/// closure, capture or parameter.
///
/// In each test, user code uses the set on its own thread, and on another thread for which it waits. If it ran under
/// the lock, the first would stop the program, and the second would never return. In addition, checked builds assert
/// before each call of user code that no lock is held.
@Suite("Promise 1: no user code under the lock", .lifetimesChecked, .againstHanging)
struct Promise01NoLockCheckUnderTheLockTests {
    private let set = ObserverSet<Int>()
    private let ended = Counter()
}

extension Promise01NoLockCheckUnderTheLockTests {
    // MARK: Observers

    /// Scenario 35: an observer that waits for another thread.
    @Test(
        "An observer may use the set, and wait for a thread or a queue that uses it",
        arguments: ObserverKind.allCases)
    func observer(_ kind: ObserverKind) async {
        let heardMeanwhile = Counter()
        let registration = kind.add(to: set) { [set, ended] value in
            guard value == 1 else { return _ = heardMeanwhile.increment() }
            useEverywhere(set)
            ended.increment()
        }

        set.notify(1)
        await set.settled()
        // For the values that the first call has notified.
        await set.settled()

        expect(ended.value, equals: 1)
        expect(heardMeanwhile.value, equals: (kind.isOnce ? 0 : 3))
        expect(set.count, equals: (kind.isOnce ? 0 : 1))
        set.removeAll()
        registration.end()
    }

    // MARK: Captures

    /// Scenario 28: a capture whose `deinit` uses the set.
    ///
    /// Source: OpenCombine#208, tokio#5429 and #5578, boost deadlock_regression_test.cpp; Foundation ("Recursive call to lock Mutex").
    ///
    /// Scenario 39: a lock held while something slow is released.
    ///
    /// Source: realm-swift#7902 (a priority inversion). No user code runs under the lock, so none can make another thread wait for it.
    @Test(
        "A removed observer's capture may use the set in its `deinit`",
        arguments: WayOfRemoving.ofEach(ObserverKind.held))
    func captureAtRemoval(_ kind: ObserverKind, _ removal: WayOfRemoving) {
        let registrations = (0..<(removal == .all ? 3 : 1)).map { _ in addMeddler(kind) }

        #expect(removal.perform(on: set, registrations[0]))

        expect(ended.value, equals: registrations.count)
        registrations.forEach { $0.end() }
    }

    /// Scenario 28 for many captures at once: each `deinit` removes the next one.
    ///
    /// Source: as before.
    @Test("Captures whose `deinit` removes the next observer are all released")
    func chainOfCaptures() {
        var next: ObserverToken?
        for _ in 0..<1_000 {
            let link = Tracked { [next] in _ = next?.remove() }
            next = set.add { _ in _ = link }
        }
        expect(set.count, equals: 1_000)

        next?.remove()

        #expect(set.isEmpty)
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test(
        "When the set dies, a capture's `deinit` may use another set, and a neighbour's token",
        arguments: ObserverKind.held)
    func captureAtTheSetsEnd(_ kind: ObserverKind) {
        var dying: ObserverSet<Int>? = ObserverSet()
        let neighbour = dying!.add { _ in }
        let registration = addCapture(
            to: dying!, kind,
            Tracked { [set, ended, weak dying] in
                expect(dying == nil)
                #expect(!neighbour.isActive)
                #expect(!neighbour.remove())
                useEverywhere(set)
                ended.increment()
            })

        dying = nil

        expect(ended.value, equals: 1)
        registration.end()
    }

    /// Scenario 7: the entry that is being called is removed, together with what its closure holds.
    ///
    /// Source: nano-signal-slot#7, pbhogan/Signals#4, godot#34752 (a list node used after it was freed).
    ///
    /// Scenario 35, where another thread removes the observer that waits for it.
    @Test(
        "A capture of an observer that is removed in its call lives until the call returns, and then may use the set",
        arguments: ObserverKind.allCases, [false, true])
    func captureAtRemovalInTheCall(_ kind: ObserverKind, byAnotherThread: Bool) async {
        let token = Shared<ObserverToken?>(nil)
        // An observer that is called once has been removed before its call.
        let remove = { @Sendable in expect(token.value?.remove(), equals: !kind.isOnce) }
        do {
            let registration = kind.add(to: set) { [ended, capture = meddler()] _ in
                if byAnotherThread { join(remove) } else { remove() }
                expect(capture.isIntact && ended.value == 0 && token.value?.isActive == false)
            }
            token.value = registration.token
            set.notify(1)
            await set.settled()
            expect(ended.value == 1 || !kind.mayCallInPlace || kind == .ownerMethod)
            registration.end()
        }

        await eventually { ended.value == 1 }
        expect(ended.value, equals: 1)
    }

    // MARK: Owners

    @Test("A dead owner's capture may use the set in its `deinit` when the entry is removed", arguments: [false, true])
    func captureOfADeadOwner(byNotification: Bool) {
        do {
            let (owner, capture) = (Tracked(), meddler())
            set.add(owner) { _, _ in _ = capture }
        }

        if byNotification { set.notify(1) } else { for _ in 0..<200 { set.add(Tracked()) { _, _ in } } }

        expect(ended.value, equals: 1)
    }

    @Test("An owner may use the set in its `deinit` while another thread counts, describes and notifies the set")
    func ownerWhileItIsLoaded() async {
        for _ in 0..<200 {
            let owner = Shared<Tracked?>(meddler())
            let token = set.add(owner.value!) { _, _ in }
            await race(times: 1) { _ in
                owner.value = nil
            } _: { [set] _ in
                _ = (set.count, set.isEmpty, set.debugDescription, token.isActive, token.description)
                set.notify(1)
            }
        }

        expect(ended.value, equals: 200)
    }

    // MARK: Parameters

    /// Scenario 29: a parameter whose `deinit` uses the set.
    @Test("A parameter's `deinit` may use the set at the end of its notification", arguments: ObserverKind.allCases)
    func parameter(_ kind: ObserverKind) async {
        let set = ObserverSet<Tracked>()
        let calls = Counter()
        let registration = kind.add(to: set) { value in
            if value.isIntact { calls.increment() }
        }

        set.notify(meddler(with: set))
        await set.settled()

        await eventually { ended.value == 1 }
        expect(ended.value, equals: 1)
        expect(calls.value, equals: 1)
        registration.end()
    }

    /// Scenario 29: values that are dropped from a mailbox.
    @Test(
        "A parameter that is dropped from a mailbox may use the set in its `deinit`",
        arguments: ObserverKind.hopping, [false, true])
    func droppedParameter(_ kind: ObserverKind, withAllOthers: Bool) async {
        let set = ObserverSet<Tracked>()
        let isRemoved = Signal()
        let calls = Counter()
        let registration = kind.add(to: set) { _ in
            isRemoved.wait()
            calls.increment()
        }

        for _ in 0..<10 { set.notify(meddler(with: set)) }
        if withAllOthers { set.removeAll() } else { registration.token.remove() }
        isRemoved.set()

        await eventually { ended.value == 10 }
        expect(ended.value, equals: 10)
        expect(calls.value, atMost: 1)
        #expect(set.isEmpty)
        registration.end()
    }

    // MARK: Continuations

    @Test("A task that awaits `settled()` resumes without a lock being held", arguments: ObserverKind.hopping)
    func settled(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { _ in }

        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { [set] in
                    set.notify(1)
                    await set.settled()
                    useEverywhere(set)
                }
            }
        }

        expect(set.count, equals: (kind.isOnce ? 0 : 1))
        registration.end()
    }

    // MARK: Positive controls

    /// While the runtime calls a cancellation handler, it holds a lock of the task's.
    @Test("A task may change a set while a thread that cancels it does so in the task's cancellation handler")
    func cancellationHandler() async {
        for _ in 0..<many(600) {
            let begun = Signal()
            let token = set.add { _ in }
            let task = Task.detached { [set] in
                await withTaskCancellationHandler {
                    begun.set()
                    for _ in 0..<200 { set.add { _ in }.remove() }
                } onCancel: {
                    token.remove()
                    set.add { _ in }.remove()
                }
            }
            await eventually { begun.isSet }

            task.cancel()
            await task.value
            // The task may have ended before.
            token.remove()
        }

        #expect(set.isEmpty)
    }

    @Test(
        "A call of user code stops a checked build under a lock, and not outside, nor while another thread holds one",
        .enabled(if: LockCheck.isEnabled))
    func control() async {
        LockCheck.assertNoLockIsHeld()
        Lock(0).withLock { _ in join { LockCheck.assertNoLockIsHeld() } }
        LockCheck.assertNoLockIsHeld()
        await #expect(processExitsWith: .failure) {
            Lock(0).withLock { _ in LockCheck.assertNoLockIsHeld() }
        }
        await #expect(processExitsWith: .failure) {
            _ = Lock(0).withLockIfAvailable { _ in LockCheck.assertNoLockIsHeld() }
        }
    }

    // MARK: -

    /// An object that uses the set in every way in its `deinit`, and then increments `ended`.
    private func meddler() -> Tracked { meddler(with: set) }

    private func meddler<Parameters>(with set: ObserverSet<Parameters>) -> Tracked {
        Tracked { [ended] in
            useEverywhere(set)
            ended.increment()
        }
    }

    /// Adds an observer that holds the only reference to a meddler.
    private func addMeddler(_ kind: ObserverKind) -> KeptRegistration { addCapture(to: set, kind, meddler()) }

    private func addCapture(to set: ObserverSet<Int>, _ kind: ObserverKind, _ capture: Tracked) -> KeptRegistration {
        kind.add(to: set) { _ in _ = capture }
    }
}
