import Dispatch
import Foundation
@testable import ObserverSet
import Testing

/// What the compiler says of the notifier's isolation is believed only if the runtime confirms it: an isolated observer is
/// never called off its actor, and nothing traps.
///
/// The forms that need compiler settings of their own are a client, `Tests/Clients/NonisolatedNonsending`.
@Suite("Confirmed isolation", .lifetimesChecked, .againstHanging)
struct ConfirmedIsolationTests {
    private let set = ObserverSet<Int>()
}

extension ConfirmedIsolationTests {
    // MARK: Executors of actors

    #if compiler(>=6.3)
    @Test(
        "Outside tasks, an actor's observers are called in place if its own executor says that the caller is on it",
        arguments: [true, false])
    func enteredByItsThread(answers: Bool) async {
        guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return }
        let (set, log) = (ObserverSet<Int>(), Log<Int>())
        let connection = QueueActor(answers: answers)
        await connection.perform { connection in
            set.add(connection) { (_: isolated QueueActor, value) in log.append(value) }
        }

        await withCheckedContinuation { continuation in
            connection.executor.queue.async {
                connection.assumeIsolated { $0.notify(set, 1) }
                log.append(2)
                continuation.resume()
            }
        }
        await set.settled()

        expect(log.entries, equals: answers ? [1, 2] : [2, 1])
    }
    #endif

    // MARK: Closures of which the compiler is wrong

    /// Source: swiftlang/swift#83812, #86083, #87097.
    @Test("A closure that an actor only takes names the actor: its values are posted, in order, unless it runs there")
    func claimedByTheCompiler() async {
        let ledger = Ledger(set)

        for amount in 3..<100 { await ledger.take { set.notify(amount) } }
        await set.settled()

        expect(await ledger.takeOnItself(set), equals: Array(3..<100) + [1, 2])
    }

    @Test("A false claim delivers nothing of what waits for the observer, and its value comes after that")
    func catchingUp() async {
        let ledger = Ledger(set)
        let callback = await ledger.callback(set)
        let (isBusy, end) = (Signal(), Signal())
        async let work: Void = ledger.perform { _ in
            isBusy.set()
            end.wait()
        }

        await onThread { [set] in
            isBusy.wait()
            set.notify(1)
            callback.call(2)
            callback.call(3)
            end.set()
        }
        await work
        await set.settled()

        expect(await ledger.entries, equals: [1, 2, 3])
    }

    // MARK: Callbacks of older interfaces

    @Test("A callback of the main actor posts when it is called on another thread; on the main queue it calls in place")
    func callbackOfTheMainActor() async {
        let log = Log<Int>()
        let (registration, callback) = await MainActor.run { [set] in
            let registration = set.add {
                MainActor.preconditionIsolated()
                log.append($0)
            }
            return (registration, Unchecked { set.notify($0) })
        }

        await MainActor.run {
            callback.call(1)
            expect(log.entries, equals: [1])
        }
        await onThread { for value in 2...3 { callback.call(value) } }
        await set.settled()
        // A block on the main queue, outside tasks.
        let heard = await withCheckedContinuation { [set] continuation in
            DispatchQueue.main.async {
                MainActor.assumeIsolated { set.notify(4) }
                notifyWithoutIsolation(set, 5)
                continuation.resume(returning: log.entries)
            }
        }

        expect(heard, equals: [1, 2, 3, 4, 5])
        registration.remove()
    }

    @Test("A callback of an actor that is called on another thread, on the main actor or by another actor is posted")
    func callbackOfAnActor() async {
        let (ledger, other) = (Ledger(set), Ledger(ObserverSet()))
        let callback = await ledger.callback(set)

        await onThread { callback.call(1) }
        await MainActor.run { callback.call(2) }
        await other.perform { _ in callback.call(3) }
        await callOffActors(callback, 4)
        await set.settled()
        let entries = await ledger.perform { ledger in
            callback.call(5)
            return ledger.entries
        }

        expect(entries, equals: [1, 2, 3, 4, 5])
    }

    // MARK: Executors of the user's own

    @Test(
        "On an executor, an actor's task calls observers in place, and a block outside tasks none off it, nor traps",
        arguments: EventLoop.Proof.allCases)
    func customExecutor(_ proof: EventLoop.Proof) async {
        let loop = EventLoop(proof)
        let station = Station(loop, set)
        let callback = await station.callback(set)

        expect(await station.notify(set, 1), equals: [1])
        await station.take { set.notify(2) }
        await loop.perform { for value in 3...4 { callback.call(value) } }
        await set.settled()

        expect(await station.entries, equals: [1, 2, 3, 4])
    }

    @Test("Of two actors on one executor, the notifier's own observer is called in place, the other's later")
    func twoActorsOnOneExecutor() async {
        let loop = EventLoop(.neither)
        let (first, second) = (Station(loop, set), Station(loop, set))

        expect(await first.notify(set, 1), equals: [1])
        expect(await second.notify(set, 2), equals: [1, 2])
        // A closure of one that the other calls runs on the executor of both.
        let callback = await first.callback(set)
        await second.perform { _ in callback.call(3) }
        await set.settled()

        expect(await first.entries, equals: [1, 2, 3])
        expect(await second.entries, equals: [1, 2, 3])
    }

    @Test("An actor on the main executor is confirmed as the main actor is, in tasks and outside")
    func actorOnTheMainExecutor() async {
        let clerk = Station(nil, set)

        expect(await clerk.notify(set, 1), equals: [1])
        let heard = await withCheckedContinuation { [set] continuation in
            DispatchQueue.main.async {
                continuation.resume(returning: clerk.assumeIsolated { $0.notify(set, 2) })
            }
        }
        expect(heard, equals: [1, 2])
        await clerk.take { set.notify(3) }
        await set.settled()

        expect(await clerk.entries, equals: [1, 2, 3])
    }

    // MARK: Tasks

    @Test("Tasks that an actor starts, and bodies of groups and handlers, are on it; detached and child tasks are not")
    func tasks() async {
        let ledger = Ledger(set)

        expect(await ledger.notifyFromTasks(set), equals: Array(1...6))
        await set.settled()

        expect(await ledger.entries, equals: Array(1...7))
    }

    @Test("An isolated deinit is on its actor, wherever the last reference is dropped")
    func isolatedDeinit() async {
        guard #available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *) else { return }
        let log = Log<Int>()
        let registration = await Ledgers.run { [set] in
            set.add { @Ledgers in
                Ledgers.preconditionIsolated()
                log.append($0)
            }
        }
        let isDone = Signal()

        await onThread { [set] in _ = Notifying(set, log, isDone) }
        await onThread { isDone.wait() }

        expect(log.entries, equals: [1, 2])
        registration.remove()
    }

    // MARK: What is asked, and when

    @Test("The runtime is asked once a notification, when the first observer that could be called in place is met")
    func askedOnce() {
        let places = [Mailslot(at: Ledgers.shared, isCurrent: true), Mailslot(at: MainActor.shared, isCurrent: true)]
        // Code without isolation may be on the main actor.
        for (place, notifier) in zip(places, [Ledgers.shared, nil] as [(any Actor)?]) {
            let set = ObserverSet<Int>()
            for _ in 0..<3 { _ = set.register(place.observer()) }

            set.notify(1, upTo: .max, from: notifier)
            expect(place.questions.value, equals: 1)
            expect(place.calls.entries, equals: [1, 1, 1])

            place.answer.value = false
            set.notify(2, upTo: .max, from: notifier)
            expect(place.questions.value, equals: 2)
            expect(place.posts.value, equals: 3)
            expect(place.calls.entries, equals: [1, 1, 1])
        }
    }

    @Test(
        "The runtime is not asked for observers of no actor, of another one, for empty sets, or by code without isolation"
    )
    func notAsked() {
        let place = Mailslot(at: Ledgers.shared, isCurrent: true)
        set.notify(0, upTo: .max, from: Ledgers.shared)
        let registrations = [set.addNonisolated { _ in }, set.addAsync { _ in }]
        set.notify(0, upTo: .max, from: Ledgers.shared)
        expect(place.questions.value, equals: 0)

        _ = set.register(place.observer())
        set.notify(1, upTo: .max, from: MainActor.shared)
        set.notify(2, upTo: .max, from: nil)

        expect(place.questions.value, equals: 0)
        expect(place.posts.value, equals: 2)
        for registration in registrations { registration.remove() }
    }

    @Test("An actor that is gone does not answer for the one at its address")
    func oneAddress() {
        let gone = Mailslot(at: Ledgers.shared, isCurrent: true)
        let living = Mailslot(at: Ledgers.shared, isCurrent: false)
        for place in [gone, living, gone] { _ = set.register(place.observer()) }

        set.notify(1, upTo: .max, from: Ledgers.shared)

        expect(gone.calls.entries, equals: [1, 1])
        expect(living.calls.entries, equals: [])
        expect(living.posts.value, equals: 1)
    }
}

// MARK: - Actors

extension Ledger {
    /// Returns what has been received before the cancellation handler of the last task notifies.
    fileprivate func notifyFromTasks(_ set: ObserverSet<Int>) async -> [Int] {
        await Task { expect(notify(set, 1), equals: [1]) }.value
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            Task.immediate { _ = notify(set, 2) }
        } else {
            set.notify(2)
        }
        expect(entries, equals: [1, 2])
        await Task.detached { set.notify(3) }.value
        await set.settled()
        await withTaskGroup(of: Void.self) { group in
            set.notify(4)
            expect(entries, equals: [1, 2, 3, 4])
            group.addTask { set.notify(5) }
            await group.waitForAll()
        }
        await set.settled()
        let task = Task {
            await withTaskCancellationHandler {
                set.notify(6)
                expect(entries, equals: Array(1...6))
                await cancellation()
            } onCancel: {
                set.notify(7)
            }
        }
        await eventually { entries.count == 6 }
        let heard = entries
        task.cancel()
        await task.value
        return heard
    }
}

@available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *)
@Ledgers private final class Notifying {
    private let set: ObserverSet<Int>
    private let log: Log<Int>
    private let isDone: Signal

    nonisolated init(_ set: ObserverSet<Int>, _ log: Log<Int>, _ isDone: Signal) {
        (self.set, self.log, self.isDone) = (set, log, isDone)
    }

    isolated deinit {
        set.notify(1)
        expect(log.entries, equals: [1])
        set.notify(2)
        isDone.set()
    }
}

/// An actor on an event loop, or on the main executor.
private actor Station: Bookkeeper {
    private nonisolated let loop: EventLoop?
    private(set) var entries: [Int] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe loop?.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
    }

    init(_ loop: EventLoop?, _ set: ObserverSet<Int>) {
        self.loop = loop
        set.add(self) { station, value in
            if let loop = station.loop { #expect(loop.isCurrent) } else { MainActor.preconditionIsolated() }
            station.entries.append(value)
        }
    }

}

// MARK: - Others

private nonisolated func notifyWithoutIsolation(_ set: ObserverSet<Int>, _ value: Int) { set.notify(value) }

@concurrent private nonisolated func callOffActors(_ callback: Unchecked, _ value: Int) async { callback.call(value) }

/// Stands for the mailbox of an actor, and counts what it is asked.
private final class Mailslot: Mailbox, @unchecked Sendable {
    let questions = Counter()
    let posts = Counter()
    let calls = Log<Int>()
    let answer: Shared<Bool>

    init(at actor: any Actor, isCurrent: Bool) {
        answer = Shared(isCurrent)
        super.init(of: actor)
    }

    func observer() -> Observer<Int> {
        Observer(
            IsolatedFunction({ [calls] in calls.append($0) }, in: self), site: Site(fileID: #fileID, line: #line))
    }

    override var isCurrent: Bool {
        questions.increment()
        return answer.value
    }

    override func post(
        _ value: any Sendable, to registration: Registration, _ pending: borrowing PendingCount,
        by notifier: inout Notifier
    ) {
        posts.increment()
    }
}

#if compiler(>=6.3)
/// An actor on a queue, whose executor says whether the caller is on that queue, or leaves that open.
private actor QueueActor {
    final class Executor: SerialExecutor {
        let queue = DispatchQueue(label: "connection")
        private let key = DispatchSpecificKey<Bool>()
        private let answers: Bool

        init(answers: Bool) {
            self.answers = answers
            queue.setSpecific(key: key, value: true)
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }

        func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

        func isIsolatingCurrentContext() -> Bool? {
            answers ? DispatchQueue.getSpecific(key: key) == true : nil
        }
    }

    nonisolated let executor: Executor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    init(answers: Bool) { executor = Executor(answers: answers) }

    func perform(_ body: @Sendable (isolated QueueActor) -> Void) { body(self) }
    func notify(_ set: ObserverSet<Int>, _ value: Int) { set.notify(value) }
}
#endif
