import Foundation
import Testing

@testable import ObserverSet

/// Guarantee 11: notifying takes no lock, allocates nothing, and never waits for an observer that is being added or
/// removed.
///
/// In each test, another thread holds the set's lock until the notification is over. If the notification waited for the
/// lock, neither would ever end.
@Suite("Guarantee 11: notifying waits for nobody", .lifetimesChecked, .againstHanging)
struct Guarantee11NotifyingWaitsForNobodyTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()
}

extension Guarantee11NotifyingWaitsForNobodyTests {
    @Test("Threads notify, also inside an observer, while another one holds the lock", arguments: ObserverKind.lasting)
    func everyKind(_ kind: ObserverKind) async {
        _ = set.addNonisolated { [set] value in if value == 0 { set.notify(100) } }
        let registration = add(kind)

        await whileLocked { [set] in
            for value in 0..<100 { set.notify(value) }
            join { for value in 0..<100 { set.notify(value) } }
        }
        await set.settled()
        expect(calls.value, equals: 202)

        set.removeAll()
        await whileLocked { [set] in set.notify(1) }
        expect(calls.value, equals: 202, "a set without observers")
        registration.end()
    }

    @Test("On the observers' actor, they are called in place while another thread holds the lock")
    @MainActor func onTheActor() async {
        let registrations = [ObserverKind.mainActor, .mainActorOwner, .mainActorMethod, .closure].map(add)
        let held = hold()
        set.notify(1)
        expect(calls.value, equals: 4)
        // Code in which the compiler sees no isolation.
        nonisolated func notifyWithoutIsolation() { set.notify(2) }
        notifyWithoutIsolation()
        expect(calls.value, equals: 8)
        held.release()

        set.removeAll()
        let keeper = Keeper()
        set.add(keeper) { [calls] (_: isolated Keeper, _) in calls.increment() }
        await keeper.perform { _ in
            let held = hold()
            set.notify(3)
            expect(calls.value, equals: 9)
            held.release()
        }
        registrations.forEach { $0.end() }
    }

    @Test("A notification that meets a dead owner does not wait to remove it, or stop a producer; a later one does so")
    func deadOwner() async {
        let reports = Log<Bool>()
        let set = ObserverSet<Int> { [reports] isObserved in reports.append(isObserved) }
        set.add(Tracked()) { [calls] _, _ in calls.increment() }

        let held = HeldLock(set.registry!)
        await onThread { set.notify(1) }
        held.release()
        expect(set.registry?.registered, equals: 1)
        expect(reports.entries, equals: [true])

        set.notify(2)
        expect(set.registry?.registered, equals: 0)
        expect(reports.entries, equals: [true, false])
        expect(calls.value, equals: 0)
    }

    @Test("A notification that leaves something to release does not wait for the lock; a later one releases it")
    func retired() async {
        let isReleased = Signal()
        let notification = HeldNotification(of: set)
        let token = set.add { [capture = Tracked { isReleased.set() }] _ in _ = capture }
        let lock = Shared<HeldLock?>(nil)

        await notification.run {
            token.remove()
            lock.value = hold()
        }
        #expect(!isReleased.isSet)
        lock.value?.release()
        _ = set.add { _ in }
        set.notify(2)

        #expect(isReleased.isSet)
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

    /// Scenario 41: a slow observer.
    ///
    /// Source: RxSwift Anomalies (testSeparationBetweenOnAndSubscriptionLocks).
    @Test("While one thread is in an observer, others add, remove, count and notify", arguments: ObserverKind.inPlace)
    func changesDoNotWait(_ kind: ObserverKind) async {
        await HeldNotification(of: set, in: kind).run { [set] in
            for _ in 0..<100 { useInEveryWay(set) }
            let tokens = (0..<1_000).map { _ in set.add { _ in } }
            for token in tokens { #expect(token.remove()) }
            expect(set.count, equals: kind.isOnce ? 0 : 1)
            set.removeAll()
        }

        #expect(set.isEmpty)
    }

    // MARK: -

    private func add(_ kind: ObserverKind) -> KeptRegistration { kind.add(to: set) { [calls] _ in calls.increment() } }

    /// Runs `body` on another thread, while a third one holds the set's lock.
    private func whileLocked(_ body: @escaping @Sendable () -> Void) async {
        let held = hold()
        await onThread(body)
        held.release()
    }

    /// Has another thread take the set's lock.
    private func hold() -> HeldLock { HeldLock(set.registry!) }
}

/// A registry's lock, which is held by a thread that does nothing else.
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
