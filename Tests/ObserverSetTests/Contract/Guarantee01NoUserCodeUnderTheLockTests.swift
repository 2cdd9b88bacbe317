import Dispatch
import Testing

#if canImport(Glibc)
import Glibc
#endif

@testable import ObserverSet

/// Guarantee 1: no user code runs under the lock, that is, no observer, no continuation, and no `deinit` of an owner,
/// closure, capture or parameter.
///
/// In each test, user code uses the set on its own thread, and on another thread for which it waits. If it ran under
/// the lock, the first would stop the program, and the second would never return. In addition, checked builds assert
/// before each call of user code that no lock is held.
@Suite("Guarantee 1: no user code under the lock", .lifetimesChecked, .againstHanging)
struct Guarantee01NoUserCodeUnderTheLockTests {
    private let set = ObserverSet<Int>()
    private let ended = Counter()
}

extension Guarantee01NoUserCodeUnderTheLockTests {
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

    // MARK: Executors

    /// Scenario 64: an executor of the user's own, to which the runtime gives the library's tasks.
    @Test(
        "An actor's executor may use the set while it enqueues a job, or run the job at once", arguments: [true, false])
    func executor(runsJobsAtOnce: Bool) async {
        let others = set
        let changed = ObserverSet<Int>()
        let listener = Listener(runsJobsAtOnce) { useEverywhere(others) }
        let calls = Counter()
        changed.add(listener) { (_: isolated Listener, _) in calls.increment() }
        changed.addAsync(listener) { (_: isolated Listener, _) in calls.increment() }

        for value in 1...3 { changed.notify(value) }
        await changed.settled()
        await changed.settled()

        expect(calls.value, equals: 6)
        changed.removeAll()
    }

    #if canImport(Glibc)
    /// Scenario 64, with the hook of the runtime that libraries for testing and event loops install.
    ///
    /// Source: apple/swift-async-algorithms#40, swiftwasm/JavaScriptKit#141.
    @Test(
        "The global executor may use the set while it enqueues a task, or run the task at once",
        arguments: [true, false])
    func globalExecutor(runsJobsAtOnce: Bool) async {
        // A hook is there for the whole process, so this needs a process of its own.
        if runsJobsAtOnce {
            await #expect(processExitsWith: .success) { await notifyUnderAGlobalExecutor(runsJobsAtOnce: true) }
        } else {
            await #expect(processExitsWith: .success) { await notifyUnderAGlobalExecutor(runsJobsAtOnce: false) }
        }
    }

    @Test("An actor that is held for its values is released under no lock, although another actor shares its executor")
    func actorOnASharedExecutor() async {
        await #expect(processExitsWith: .success) { await releaseAnActorInACatchUp() }
    }
    #endif

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

/// An actor whose executor calls a function before it enqueues a job, and may then run the job at once.
private actor Listener {
    private nonisolated let executor: MeddlingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(_ runsJobsAtOnce: Bool, _ meddle: @escaping @Sendable () -> Void) {
        executor = MeddlingExecutor(runsJobsAtOnce: runsJobsAtOnce, meddle)
    }
}

private final class MeddlingExecutor: SerialExecutor {
    private let queue = DispatchQueue(label: "meddling")
    private let runsJobsAtOnce: Bool
    private let meddle: @Sendable () -> Void

    init(runsJobsAtOnce: Bool, _ meddle: @escaping @Sendable () -> Void) {
        self.runsJobsAtOnce = runsJobsAtOnce
        self.meddle = meddle
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        meddle()
        let run: @Sendable () -> Void = { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        // The queue makes sure that jobs don't overlap.
        if runsJobsAtOnce { queue.sync(execute: run) } else { queue.async(execute: run) }
    }
}

#if canImport(Glibc)
private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
private typealias EnqueueHook = @convention(thin) (UnownedJob, Enqueue) -> Void

/// The set that the hook uses, and whether the hook runs each job at once.
private let hooked = ObserverSet<Int>()
private let hookRunsJobs = Shared(false)
private let isInHook = Shared(false)

/// Makes observers that await hear three values, while each task of theirs goes through a hook of the runtime.
private func notifyUnderAGlobalExecutor(runsJobsAtOnce: Bool) async {
    guard let symbol = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { fatalError("there is no hook") }
    let calls = Counter()
    for _ in 0..<2 { _ = hooked.addAsync { _ in calls.increment() } }
    let hook: EnqueueHook = { job, original in
        if hookRunsJobs.value { return unsafe job.runSynchronously(on: inline.asUnownedSerialExecutor()) }
        if !isInHook.exchange(true) {
            useInEveryWay(hooked)
            isInHook.value = false
        }
        original(job)
    }
    unsafe symbol.assumingMemoryBound(to: EnqueueHook?.self).pointee = hook
    hookRunsJobs.value = runsJobsAtOnce
    for value in 1...3 { hooked.notify(value) }
    hookRunsJobs.value = false
    await hooked.settled()
    precondition(calls.value >= 6)
}

/// Jobs that the hook keeps, so that no task begins; nil if it lets them go on.
private let keptJobs = Shared<[UnownedJob]?>(nil)

/// Makes a catch-up, on the executor of an actor, release that actor, which uses the set in its `deinit`.
private func releaseAnActorInACatchUp() async {
    guard let symbol = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { fatalError("there is no hook") }
    let loop = EventLoop(.neither)
    let hook: EnqueueHook = { job, original in
        if keptJobs.value == nil { original(job) } else { keptJobs.value?.append(job) }
    }
    unsafe symbol.assumingMemoryBound(to: EnqueueHook?.self).pointee = hook
    await Sharing(loop).perform {
        keptJobs.value = []
        let kept = KeptAndRegistered()
        do {
            let mortal = Mortal(loop) { useInEveryWay(kept.set) }
            kept.add(mortal) { (_: isolated Mortal, _) in }
            join { kept.set.notify(1) }
        }
        // Only the mailbox holds the actor, and the catch-up delivers its value.
        kept.set.starting(with: 2).register(kept.observer.exchange(nil)!)
        let jobs = keptJobs.exchange(nil) ?? []
        Task.detached { for job in jobs { unsafe job.runSynchronously(on: inline.asUnownedSerialExecutor()) } }
    }
}

private actor Sharing {
    nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) { self.loop = loop }

    func perform(_ body: @Sendable () -> Void) { body() }
}

private actor Mortal {
    nonisolated let loop: EventLoop
    private let end: @Sendable () -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop, _ end: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.end = end
    }

    deinit { end() }
}

/// A source of the client's own that registers an observer, and keeps it, too.
private final class KeptAndRegistered: NotificationSource {
    let set = ObserverSet<Int>()
    let observer = Shared<Observer<Int>?>(nil)

    func register(_ observer: Observer<Int>) -> ObserverToken {
        self.observer.value = observer
        return set.register(observer)
    }

    func settled() async { await set.settled() }
}

/// Stands for the thread that enqueues a job.
private final class Inline: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) { unsafe job.runSynchronously(on: asUnownedSerialExecutor()) }
}

private let inline = Inline()
#endif
