import Foundation
import Testing

@testable import ObserverSet

/// Promise 11: notifying takes no lock, allocates nothing and never waits for an observer being added or removed.
///
/// In each test, another thread holds the set's lock until the notification is over. If the notification waited for the
/// lock, neither would ever end.
@Suite("Promise 11: notifying waits for nobody", .lifetimesChecked, .againstHanging)
struct Promise11NotifyingWaitsForNobodyTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()

    @Test("Observers of any kind are notified while another thread holds the lock", arguments: ObserverKind.lasting)
    func everyKind(_ kind: ObserverKind) async {
        let registration = add(kind)

        await whileLocked { [set] in
            for value in 0..<100 { set.notify(value) }
        }
        await set.settled()

        expect(calls.value, equals: 100)
        registration.end()
    }

    @Test("Several threads notify while another one holds the lock")
    func severalThreads() async {
        let registrations = ObserverKind.lastingInPlace.map(add)

        await whileLocked { [set] in
            join {
                for value in 0..<100 { set.notify(value) }
            }
            for value in 0..<100 { set.notify(value) }
        }

        expect(calls.value, equals: 200 * registrations.count)
        registrations.forEach { $0.end() }
    }

    @Test("On the main actor, its observers are called in place while another thread holds the lock")
    @MainActor func onTheMainActor() {
        let registrations = [ObserverKind.mainActor, .mainActorOwner, .mainActorMethod, .closure].map(add)

        whileLockedHere { [set] in
            // Here the compiler sees no isolation. The second notification, below, is isolated to the main actor.
            set.notify(1)
        }
        expect(calls.value, equals: 4)
        let held = hold()
        set.notify(2)
        held.release()

        expect(calls.value, equals: 8)
        registrations.forEach { $0.end() }
    }

    @Test("On the actor that owns it, an observer is called in place while another thread holds the lock")
    func onAnActor() async {
        let keeper = Keeper()
        set.add(keeper) { [calls] (_: isolated Keeper, _) in calls.increment() }

        await keeper.perform { _ in
            let held = hold()
            set.notify(1)
            expect(calls.value, equals: 1)
            held.release()
        }
    }

    @Test("Nested notifications do not wait while another thread holds the lock")
    func nested() async {
        _ = set.add { [set, calls] value in
            calls.increment()
            if value < 10 { set.notify(value + 1) }
        }

        await whileLocked { [set] in set.notify(1) }

        expect(calls.value, equals: 10)
        set.removeAll()
    }

    @Test("A notification that meets a dead owner does not wait to remove it; a later notification removes it")
    func deadOwner() async {
        set.add(Tracked()) { [calls] _, _ in calls.increment() }
        _ = set.add { [calls] _ in calls.increment() }

        await whileLocked { [set] in set.notify(1) }
        expect(calls.value, equals: 1)
        expect(set.registry?.living, equals: 2)

        set.notify(2)
        expect(calls.value, equals: 2)
        expect(set.registry?.living, equals: 1)
    }

    @Test("With a producer, a notification that meets a dead owner does not wait; a later one stops the producer")
    func deadOwnerOfAnObservedSet() async {
        let reports = Log<Bool>()
        let set = ObserverSet<Int> { [reports] isObserved in reports.append(isObserved) }
        set.add(Tracked()) { _, _ in }

        let held = HeldLock(set.registry!)
        await onThread { set.notify(1) }
        held.release()
        expect(reports.entries, equals: [true])

        set.notify(2)
        expect(reports.entries, equals: [true, false])
    }

    @Test("A notification that leaves something to release does not wait for the lock; a later one releases it")
    func retired() async {
        let isReleased = Signal()
        let mayGoOn = Signal()
        let isInside = Signal()
        let hasReturned = Signal()
        let lifetimes = Lifetimes.current
        _ = set.once.add { _ in
            isInside.set()
            mayGoOn.wait()
        }
        let capture = Shared<Tracked?>(Tracked(in: lifetimes) { isReleased.set() })
        let token = set.add { [capture = capture.exchange(nil)] _ in _ = capture }

        await onThreads(2) { [set] thread in
            if thread == 0 {
                set.notify(1)
                #expect(!isReleased.isSet)
                hasReturned.set()
            } else {
                isInside.wait()
                token.remove()
                let held = hold()
                mayGoOn.set()
                hasReturned.wait()
                held.release()
            }
        }
        _ = set.add { _ in }
        set.notify(2)

        #expect(isReleased.isSet)
    }

    @Test("A set without observers notifies while another thread holds the lock")
    func empty() async {
        set.add { _ in }.remove()

        await whileLocked { [set] in set.notify(1) }

        expect(calls.value, equals: 0)
    }

    @Test("Counting and describing the observers and checking a token do not wait for the lock")
    func questions() async {
        let registration = add(.owner)

        await whileLocked { [set] in
            expect(set.count, equals: 1)
            #expect(!set.isEmpty)
            #expect(registration.token.isActive)
            #expect(set.debugDescription.contains("PlainListener"))
        }
        registration.end()
    }

    @Test("A notification does not wait for a removal whose observer's captures are slow to deallocate")
    func slowDeinit() async {
        let isEnding = Signal()
        let mayEnd = Signal()
        let lifetimes = Lifetimes.current
        let capture = Shared<Tracked?>(
            Tracked(in: lifetimes) {
                isEnding.set()
                mayEnd.wait()
            })
        let token = set.add { [capture = capture.exchange(nil)] _ in _ = capture }
        _ = set.add { [calls] _ in calls.increment() }

        await onThreads(2) { [set, calls] thread in
            if thread == 0 {
                token.remove()
            } else {
                isEnding.wait()
                for value in 0..<100 { set.notify(value) }
                expect(calls.value, equals: 100)
                _ = set.add { _ in }
                expect(set.count, equals: 2)
                mayEnd.set()
            }
        }
    }

    /// Scenario 41: a slow observer.
    ///
    /// Source: RxSwift Anomalies (testSeparationBetweenOnAndSubscriptionLocks).
    @Test(
        "While one thread is in an observer, others add, remove, count and notify",
        arguments: ObserverKind.inPlace)
    func changesDoNotWait(_ kind: ObserverKind) async {
        let isInside = Signal()
        let mayGoOn = Signal()
        let hasLeft = Signal()
        let registration = kind.add(to: set) { value in
            guard value == 1 else { return }
            isInside.set()
            mayGoOn.wait()
            hasLeft.set()
        }

        await onThreads(2) { [set] thread in
            if thread == 0 {
                set.notify(1)
            } else {
                isInside.wait()
                for _ in 0..<100 { useInEveryWay(set) }
                let tokens = (0..<1_000).map { _ in set.add { _ in } }
                for token in tokens { #expect(token.remove()) }
                expect(set.count, equals: (kind.isOnce ? 0 : 1))
                set.removeAll()
                #expect(!hasLeft.isSet)
                mayGoOn.set()
            }
        }

        #expect(hasLeft.isSet)
        #expect(set.isEmpty)
        registration.end()
    }

    // MARK: -

    private func add(_ kind: ObserverKind) -> KeptRegistration {
        kind.add(to: set) { [calls] _ in calls.increment() }
    }

    /// Runs `body` on another thread, while a third one holds the set's lock.
    private func whileLocked(_ body: @escaping @Sendable () -> Void) async {
        let held = hold()
        await onThread(body)
        held.release()
    }

    /// Runs `body` on this thread while another one holds the set's lock.
    private func whileLockedHere(_ body: () -> Void) {
        let held = hold()
        body()
        held.release()
    }

    /// Has another thread take the set's lock.
    private func hold() -> HeldLock { HeldLock(set.registry!) }
}

/// A registry's lock, held by a thread that does nothing else.
private final class HeldLock: Sendable {
    private let mayLetGo = Signal()
    private let hasLetGo = Signal()

    init(_ registry: Registry) {
        let isHeld = Signal()
        Thread { [mayLetGo, hasLetGo] in
            registry.lock.withLock { (_: inout Contents) in
                isHeld.set()
                mayLetGo.wait()
            }
            hasLetGo.set()
        }.start()
        isHeld.wait()
    }

    func release() {
        mayLetGo.set()
        hasLetGo.wait()
    }
}
