import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// Guarantee 8: when an observer is removed, its closure and captures are released before `remove` returns, or when the
/// notifications in progress have ended.
///
/// The registrations of dead owners don't accumulate, even if the set is never notified.
@Suite("Guarantee 8: released promptly", .lifetimesChecked, .againstHanging)
struct Guarantee08ReleasedPromptlyTests {
    private let set = ObserverSet<Int>()
}

extension Guarantee08ReleasedPromptlyTests {
    // MARK: No notification in flight

    /// Scenario 30: what a removed observer held.
    ///
    /// Source: Qt tst_qobject disconnectDoesNotLeakFunctor, contextDoesNotLeakFunctor.
    @Test(
        "An observer's captures are released before its removal returns, in any way, though its token is kept",
        arguments: WayOfRemoving.ofEach(ObserverKind.held))
    func atRemoval(_ kind: ObserverKind, _ removal: WayOfRemoving) {
        let registrations = (0..<100).map { _ in addCapture(kind) }
        expect(registrations.allSatisfy { $0.capture != nil })

        for registration in registrations {
            expect(removal.perform(on: set, registration.kept) || removal == .all)
            expect(registration.capture == nil)
        }

        #expect(registrations.allSatisfy { !$0.token.isActive })
        registrations.forEach { $0.end() }
    }

    // MARK: Notifications in flight

    @Test(
        "An observer removed during a notification is released when that ends, not before",
        arguments: ObserverKind.held)
    func duringAPass(_ kind: ObserverKind) async {
        let registration = addCapture(kind)
        _ = set.once.add { _ in
            registration.token.remove()
            expect(registration.capture != nil)
        }

        set.notify(1)
        await set.settled()

        await eventually { registration.capture == nil }
        expect(registration.capture == nil)
        registration.end()
    }

    /// Scenario 41, for observers that are removed meanwhile.
    ///
    /// Source: RxSwift Anomalies (testSeparationBetweenOnAndSubscriptionLocks).
    @Test(
        "Observers removed during another thread's notification are not called, and released at its end",
        arguments: [1, 1_000])
    func duringAnotherThreadsPass(_ count: Int) async {
        let lifetimes = Lifetimes()
        let notification = HeldNotification(of: set)
        let tokens = (0..<count).map { index in
            set.add { [capture = Tracked(index, in: lifetimes)] _ in
                Issue.record("\(capture.value) was called after its removal")
            }
        }

        await notification.run {
            for token in tokens { token.remove() }
            expect(lifetimes.count, equals: count)
        }

        expect(lifetimes.count, equals: 0)
        #expect(set.isEmpty)
    }

    @Test(
        "Removed observers are released even if several threads' notifications overlap without end",
        arguments: [2, 3, 5])
    func overlapping(_ count: Int) async {
        let inside = (0..<count).map { _ in Counter() }
        let isDone = Signal()
        let set = ObserverSet<Int>()
        // No call returns before another thread's call has begun, so at least one notification is in flight at any
        // time.
        _ = set.add { thread in
            let next = inside[(thread + 1) % count]
            let before = next.value
            inside[thread].increment()
            while next.value == before, !isDone.isSet { Thread.yield() }
        }

        await onThreads(count + 1) { thread in
            guard thread == count else {
                while !isDone.isSet { set.notify(thread) }
                return
            }
            for counter in inside { while counter.value == 0 { Thread.yield() } }
            for _ in 0..<200 {
                let isReleased = Signal()
                let lifetimes = Lifetimes()
                set.addNonisolated { [capture = Tracked(in: lifetimes) { isReleased.set() }] _ in _ = capture }.remove()
                isReleased.wait()
            }
            isDone.set()
        }

        expect(set.count, equals: 1)
    }

    // MARK: Values in mailboxes

    @Test("A removed observer's captures are released when the values enqueued for it have been dropped")
    func enqueued() async {
        let isRemoved = Signal()
        let queue = DispatchQueue(label: "serial")
        queue.async { isRemoved.wait() }
        weak var weakCapture: Tracked?
        do {
            let capture = Tracked()
            weakCapture = capture
            let token = set.addNonisolated(on: queue) { _ in _ = capture }
            for value in 0..<100 { set.notify(value) }
            token.remove()
        }
        // A value in a mailbox is a notification in flight.
        expect(weakCapture != nil)

        isRemoved.set()
        await set.settled()
        queue.sync {}

        expect(weakCapture == nil)
    }

    @Test("A delivered value is released before the next one is delivered")
    func deliveredOneByOne() async {
        let set = ObserverSet<Tracked>()
        let alive = Log<Int>()
        let allEnqueued = Signal()
        let lifetimes = Lifetimes.current
        let before = lifetimes.count
        _ = set.addNonisolated(on: DispatchQueue(label: "serial")) { _ in
            allEnqueued.wait()
            alive.append(lifetimes.count - before)
        }

        for _ in 0..<10 { set.notify(Tracked()) }
        allEnqueued.set()
        await set.settled()

        expect(alive.entries, equals: Array((1...10).reversed()))
    }

    // MARK: Dead owners

    @Test("Entries of dead owners do not pile up, even if the set is never notified", arguments: ObserverKind.owned)
    func deadOwners(_ kind: ObserverKind) {
        for _ in 0..<many(20_000) { _ = kind.add(to: set) { _ in } }

        expect(storedObservers, atMost: 64)
        expect(storedSlots, atMost: 128)
    }

    /// Scenario 18: the set is never notified.
    ///
    /// Source: SimpleTwoWayBindingIOS#12, cmux#7799 (registrations that stay until the next change).
    @Test("Entries of dead owners among living ones do not pile up", arguments: [100, 1_000])
    func deadOwnersAmongLiving(_ count: Int) {
        let captures = Lifetimes()
        let living = (0..<count).map { Tracked($0) }
        for owner in living { set.add(owner) { _, _ in } }
        var most = 0

        for _ in 0..<many(400_000) {
            set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture }
            most = max(most, captures.count)
        }

        expect(set.count, equals: count)
        expect(most, atMost: 2 * count + 64, "at most twice as many as the living ones, and a constant, were stored")
        withExtendedLifetime(living) {}
    }

    @Test("Dead owners do not pile up in a set that once was large", arguments: [false, true])
    func deadOwnersInALargeSetOfOld(ownersWereAdded: Bool) {
        let captures = Lifetimes()
        let owner = Tracked()
        for _ in 0..<10_000 {
            if ownersWereAdded { set.add(owner) { _, _ in } } else { _ = set.add { _ in } }
        }
        set.removeAll()

        for _ in 0..<1_000 { set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture } }

        expect(captures.count, atMost: 64)
    }

    @Test(
        "A queue's mailbox frees the memory that a burst has needed, even if it is never empty again",
        .measuringMemory)
    func burstOnAQueue() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Int>()
            let queue = DispatchQueue(label: "suspended")
            let isOver = Signal()
            let rounds = Milestone()
            // One more value arrives while one of two is being delivered, so that the mailbox is never empty.
            _ = set.addNonisolated(on: queue) { [weak set] value in
                guard value == 1, !isOver.isSet else { return }
                rounds.note()
                set?.notify(1)
            }
            for _ in 0..<2 { set.notify(1) }

            for isTheLast in [false, true] {
                if isTheLast { isOver.set() }
                let growth = await AllocatedMemory.growth {
                    await burst(1_000)
                } _: {
                    await burst(many(1_000_000))
                }
                // The memory for fifty thousand values is two mebibytes and a half.
                expect(growth < 512 << 10, "\(growth) bytes")
            }

            func burst(_ count: Int) async {
                queue.suspend()
                for _ in 0..<count { set.notify(0) }
                queue.resume()
                // Waits until values behind the burst have been delivered, or until the last block has ended.
                if !isOver.isSet { return await rounds.reaches(rounds.count + 3_000) }
                await set.settled()
                await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
            }
        }
    }

    @Test("An actor's mailbox frees the memory that a burst of values needed", .measuringMemory)
    func burstOnAnActor() async {
        await #expect(processExitsWith: .success) {
            for more in [1, many(500_000)] {
                let set = ObserverSet<Int>()
                let actor = BusyActor()
                let mailbox = ActorMailbox.of(actor)
                defer { mailbox.endUse() }
                let isWarm = Signal()
                let received = Milestone()
                set.add(actor) { [weak set] (_: isolated BusyActor, value) in
                    received.note()
                    guard value == 1 else { return }
                    for _ in 0..<(isWarm.isSet ? more : 1) { set?.notify(0) }
                }

                let growth = await AllocatedMemory.growth {
                    await burst(1_000)
                    isWarm.set()
                } _: {
                    await burst(many(1_000_000))
                }

                expect(growth < 512 << 10, "\(growth) bytes, after \(more) more")

                func burst(_ count: Int) async {
                    let all = received.count + count + 1 + (isWarm.isSet ? more : 1)
                    let mayGoOn = Signal()
                    await actor.keepBusy(until: mayGoOn)
                    for _ in 0..<count { set.notify(0) }
                    set.notify(1)
                    mayGoOn.set()
                    // Not `settled()`, which puts something into the mailbox.
                    await received.reaches(all)
                    // Behind the drain that has delivered the last value.
                    while !mailbox.isIdle { await actor.perform { _ in } }
                }
            }
        }
    }

    /// Scenario 16: the owner dies between two notifications.
    ///
    /// Source: boost track_test.cpp.
    @Test(
        "A notification that meets a dead owner removes its entry with its captures, even if a filter skips the value",
        arguments: ObserverKind.owned, [false, true])
    func deadOwnerMetByNotify(_ kind: ObserverKind, isFiltered: Bool) async {
        let source: any NotificationSource<Int> = isFiltered ? set.filter { $0 > 0 } : set
        let calls = Counter()
        let captures = Lifetimes()
        for _ in 0..<10 {
            let registration = kind.add(to: source) { [capture = Tracked(in: captures)] _ in
                if capture.isIntact { calls.increment() }
            }
            registration.end()
        }
        if !kind.mayCallInPlace {
            // For observers that run elsewhere, the owner is checked only there, and the next notification is told.
            set.notify(1)
            await set.settled()
        }
        expect(storedObservers, equals: 10)

        set.notify(0)

        expect(storedObservers, equals: 0)
        if !kind.mayCallInPlace { await eventually { captures.count == 0 } }
        expect(captures.count, equals: 0)
        expect(calls.value, equals: 0)
    }

    @Test("On its own actor, a dead owner behind a filter is noticed even by a notification that the filter skips")
    @MainActor func deadOwnerBehindAFilterInPlace() {
        set.filter { $0 > 0 }.add(Tracked()) { @MainActor _, _ in }
        let living = Tracked()
        set.filter { $0 > 0 }.add(living) { @MainActor _, _ in }

        set.notify(0)

        expect(storedObservers, equals: 1)
        withExtendedLifetime(living) {}
    }

    @Test("The slots of removed observers are used again, and not kept, as soon as no notification can be reading them")
    func slots() {
        _ = set.add { _ in }
        for _ in 0..<1_000 { set.add { _ in }.remove() }
        expect(storedSlots, equals: 1)
        expect(room, equals: 3)
        _ = set.once.add { [set] _ in set.add { _ in }.remove() }
        set.notify(1)
        expect(storedSlots, equals: 1, "the notification that kept them has ended")

        for _ in 0..<1_000 { _ = set.add { _ in } }
        _ = set.once.add { [set] _ in
            set.removeAll()
            for _ in 0..<100 { _ = set.add { _ in } }
            set.removeAll()
            _ = set.add { _ in }
        }
        set.notify(2)
        expect(set.count, equals: 1)
        expect(room, atMost: 7)
    }

    // MARK: -

    /// The number of slots in the block, that is, for all observers except the first.
    private var room: Int { unsafe self.set.registry?.slots.block?.capacity ?? 0 }

    /// How many observers the set holds, including those of dead owners.
    private var storedObservers: Int { self.set.registry?.registered ?? 0 }

    /// How many slots are in use.
    private var storedSlots: Int { Int(self.set.registry?.lock.withLock { $0.taken } ?? 0) }

    private func addCapture(_ kind: ObserverKind) -> CapturingRegistration {
        let capture = Tracked()
        return CapturingRegistration(kind.add(to: set) { _ in _ = capture }, capture)
    }
}

/// A registration, with a weak reference to the object that its observer has captured.
private final class CapturingRegistration: Sendable {
    let kept: KeptRegistration
    weak let capture: Tracked?

    init(_ kept: KeptRegistration, _ capture: Tracked) {
        self.kept = kept
        self.capture = capture
    }

    var token: ObserverToken { kept.token }

    func end() { kept.end() }
}
