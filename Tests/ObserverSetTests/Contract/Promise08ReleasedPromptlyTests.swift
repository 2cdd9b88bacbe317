import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// Promise 8: removing an observer releases its closure and captures before `remove` returns, or when the notifications
/// in flight have ended.
///
/// Dead owners' entries do not pile up, even if the set is never notified.
@Suite("Promise 8: released promptly", .lifetimesChecked, .againstHanging)
struct Promise08ReleasedPromptlyTests {
    private let set = ObserverSet<Int>()

    // MARK: No notification in flight

    @Test("An observer's captures are released before `remove` returns", arguments: ObserverKind.held)
    func atRemove(_ kind: ObserverKind) {
        let registration = addCapture(kind)
        #expect(registration.capture != nil)

        registration.token.remove()

        #expect(registration.capture == nil)
        registration.end()
    }

    @Test(
        "The captures of an observer that has been called are released when it is removed",
        arguments: ObserverKind.held)
    func atRemoveAfterCalls(_ kind: ObserverKind) async {
        let registration = addCapture(kind)
        for value in 0..<10 { set.notify(value) }
        await set.settled()

        registration.token.remove()

        await eventually { registration.capture == nil }
        #expect(registration.capture == nil)
        registration.end()
    }

    @Test("The observers' captures are released before `removeAll` returns", arguments: ObserverKind.held)
    func atRemoveAll(_ kind: ObserverKind) {
        let registrations = (0..<100).map { _ in addCapture(kind) }

        set.removeAll()

        #expect(registrations.allSatisfy { $0.capture == nil })
        registrations.forEach { $0.end() }
    }

    @Test("The observers' captures are released before `removeAll(ownedBy:)` returns")
    func atRemoveAllOfAnOwner() {
        let owner = Tracked()
        let before = Lifetimes.current.count
        for _ in 0..<100 {
            let capture = Tracked()
            set.add(owner) { _, _ in _ = capture }
        }

        set.removeAll(ownedBy: owner)

        expect(Lifetimes.current.count, equals: before)
    }

    /// Scenario 21: the token outlives the set, and keeps no closure alive.
    ///
    /// Source: boost deletion_test.cpp (test_signal_deletion: both connections are "not connected").
    @Test("An observer's captures are released when the set dies", arguments: ObserverKind.held)
    func atTheSetsEnd(_ kind: ObserverKind) {
        weak var weakCapture: Tracked?
        let registration: KeptRegistration
        do {
            let dying = ObserverSet<Int>()
            let capture = Tracked()
            weakCapture = capture
            registration = kind.add(to: dying) { _ in _ = capture }
        }

        #expect(weakCapture == nil)
        registration.end()
    }

    @Test("A token does not keep an observer's captures alive", arguments: ObserverKind.held)
    func tokens(_ kind: ObserverKind) {
        let registrations = (0..<100).map { _ in addCapture(kind) }
        let tokens = registrations.map(\.token)

        for token in tokens { token.remove() }

        #expect(registrations.allSatisfy { $0.capture == nil })
        #expect(tokens.allSatisfy { !$0.isActive })
        registrations.forEach { $0.end() }
    }

    @Test(
        "A one-time observer's captures are released by its call, but not before the call has ended",
        arguments: [ObserverKind.once, .ownerOnce])
    func once(_ kind: ObserverKind) {
        let intact = Counter()
        let isReleased = Signal()
        let capture = Shared<Tracked?>(Tracked { isReleased.set() })
        let registration = kind.add(to: set) { [capture = capture.exchange(nil)] _ in
            if capture?.isIntact == true { intact.increment() }
        }
        #expect(!isReleased.isSet)

        set.notify(1)

        expect(intact.value, equals: 1)
        #expect(isReleased.isSet)
        registration.end()
    }

    /// Scenario 30: what a removed observer held.
    ///
    /// Source: Qt tst_qobject disconnectDoesNotLeakFunctor, contextDoesNotLeakFunctor.
    @Test(
        "Observers added and removed, one after the other, leave nothing behind",
        arguments: ObserverKind.held.filter(\.isInPlace))
    func churn(_ kind: ObserverKind) {
        let before = Lifetimes.current.count
        var kept = 0
        for _ in 0..<many(20_000) {
            let registration = addCapture(kind)
            registration.token.remove()
            if registration.capture != nil { kept += 1 }
        }

        expect(kept, equals: 0)
        expect(Lifetimes.current.count, equals: before)
        #expect(storedSlots <= 64)
    }

    // MARK: Notifications in flight

    @Test(
        "An observer removed during a notification is released when the notification ends, not before",
        arguments: ObserverKind.held)
    func duringAPass(_ kind: ObserverKind) async {
        let registration = addCapture(kind)
        _ = set.once.add { _ in
            registration.token.remove()
            #expect(registration.capture != nil)
        }

        set.notify(1)
        await set.settled()

        await eventually { registration.capture == nil }
        #expect(registration.capture == nil)
        registration.end()
    }

    /// Scenario 41, for observers that are removed meanwhile.
    ///
    /// Source: RxSwift Anomalies (testSeparationBetweenOnAndSubscriptionLocks).
    @Test(
        "Observers removed during another thread's notification are not called, and are released when it ends",
        arguments: [1, 1_000])
    func duringAnotherThreadsPass(_ count: Int) async {
        let isInside = Signal()
        let mayGoOn = Signal()
        let lifetimes = Lifetimes()
        _ = set.once.add { _ in
            isInside.set()
            mayGoOn.wait()
        }
        let tokens = (0..<count).map { index in
            set.add { [capture = Tracked(index, in: lifetimes)] _ in
                Issue.record("\(capture.value) was called after its removal")
            }
        }

        await onThreads(2) { [set] thread in
            if thread == 0 {
                set.notify(1)
                expect(lifetimes.count, equals: 0)
            } else {
                isInside.wait()
                for token in tokens { token.remove() }
                expect(lifetimes.count, equals: count)
                mayGoOn.set()
            }
        }

        expect(lifetimes.count, equals: 0)
        #expect(set.isEmpty)
    }

    @Test(
        "Removed observers are released even if the notifications of several threads overlap without end",
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
                let capture = Shared<Tracked?>(Tracked(in: lifetimes) { isReleased.set() })
                let token = set.addNonisolated { [capture = capture.exchange(nil)] _ in _ = capture }
                token.remove()
                isReleased.wait()
            }
            isDone.set()
        }

        expect(set.count, equals: 1)
    }

    @Test("Observers removed while many threads notify are all released when those notifications have ended")
    func allGone() async {
        let lifetimes = Lifetimes()
        await onThreads(4) { [set] thread in
            for round in 0..<2_000 {
                if thread < 2 {
                    set.notify(round)
                } else {
                    let capture = Tracked(in: lifetimes)
                    let token = set.add { _ in _ = capture }
                    token.remove()
                }
            }
        }

        expect(lifetimes.total, equals: 4_000)
        expect(lifetimes.count, equals: 0)
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
        #expect(weakCapture != nil)

        isRemoved.set()
        await set.settled()
        queue.sync {}

        #expect(weakCapture == nil)
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

        #expect(storedObservers <= 64)
        #expect(storedSlots <= 128)
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

        for _ in 0..<50_000 {
            set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture }
            most = max(most, captures.count)
        }

        expect(set.count, equals: count)
        #expect(storedObservers <= 2 * count + 64)
        #expect(most <= 2 * count + 64, "at most twice as many as the living ones, and a constant, were stored")
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

        #expect(captures.count <= 64)
    }

    @Test("Threads that add owners at once leave no more dead entries behind than a single thread")
    func deadOwnersOfManyThreads() async {
        let captures = Lifetimes()
        let lifetimes = Lifetimes.current

        await onThreads(8) { [set] _ in
            for _ in 0..<many(20_000) {
                set.add(Tracked(in: lifetimes)) { [capture = Tracked(in: captures)] _, _ in _ = capture }
            }
        }

        for _ in 0..<20_000 {
            set.add(Tracked(in: lifetimes)) { [capture = Tracked(in: captures)] _, _ in _ = capture }
        }

        #expect(captures.count <= 64)
        set.removeAll()
    }

    @Test("A mailbox frees the memory that a burst of values needed", .measuringMemory)
    func burst() async {
        await #expect(processExitsWith: .success) {
            // One more value, or another burst, arrives while the last values are being delivered.
            for more in [1, many(1_000_000)] {
                let set = ObserverSet<Int>()
                let queue = DispatchQueue(label: "suspended")
                let isWarm = Signal()
                _ = set.addNonisolated(on: queue) { [weak set] value in
                    guard value == 1 else { return }
                    for _ in 0..<(isWarm.isSet ? more : 1) { set?.notify(0) }
                }

                let growth = await AllocatedMemory.growth {
                    await send(1_000, in: set, to: queue)
                    isWarm.set()
                } _: {
                    await send(many(2_000_000), in: set, to: queue)
                }

                // The memory for a hundred thousand values is five mebibytes.
                #expect(growth < 512 << 10, "\(growth) bytes, after \(more) more")
            }
        }
    }

    @Test("An actor's mailbox frees the memory that a burst of values needed", .measuringMemory)
    func burstOnAnActor() async {
        await #expect(processExitsWith: .success) {
            for more in [1, many(1_000_000)] {
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
                    await burst(many(2_000_000))
                }

                #expect(growth < 512 << 10, "\(growth) bytes, after \(more) more")

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

    @Test("A mailbox frees the memory that a burst of values needed, even if it is never empty again", .measuringMemory)
    func burstBeforeATrickle() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Int>()
            let queue = DispatchQueue(label: "suspended")
            let isOver = Signal()
            let rounds = Milestone()
            // One more value arrives while the only one is being delivered, so that the mailbox is never empty.
            _ = set.addNonisolated(on: queue) { [weak set] value in
                guard value == 1, !isOver.isSet else { return }
                rounds.note()
                set?.notify(1)
            }
            set.notify(1)

            let growth = await AllocatedMemory.growth {
                await burst(1_000)
            } _: {
                await burst(many(2_000_000))
            }

            #expect(growth < 512 << 10, "\(growth) bytes")
            isOver.set()
            await set.settled()

            func burst(_ count: Int) async {
                queue.suspend()
                for _ in 0..<count { set.notify(0) }
                queue.resume()
                // Waits until values behind the burst have been delivered.
                await rounds.reaches(rounds.count + 3_000)
            }
        }
    }

    @Test("The mailbox of a removed observer is released when it is empty", arguments: [1, 1_000])
    func mailboxes(observers: Int) async {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        let tokens = (0..<observers).map { _ in set.addNonisolated(on: queue) { _ in } }
        let mailboxes = set.registry!.mailboxes()
        set.notify(1)
        for token in tokens { token.remove() }
        expect(set.registry!.mailboxes().count, equals: observers, "mailboxes are kept until they are empty")
        queue.resume()
        for mailbox in mailboxes { await mailbox.settled() }
        await eventually { set.registry!.mailboxes().isEmpty }
        #expect(set.registry!.mailboxes().isEmpty)
    }

    @Test("A notification that meets a dead owner removes its entry", arguments: ObserverKind.owned)
    func deadOwnerMetByNotify(_ kind: ObserverKind) async {
        for _ in 0..<10 { _ = kind.add(to: set) { _ in } }
        expect(storedObservers, equals: 10)

        // Observers that run elsewhere notice the death only there, and report it to the next notification.
        for value in 0..<2 {
            set.notify(value)
            await set.settled()
        }

        expect(storedObservers, equals: 0)
    }

    @Test(
        "A notification that a filter skips also removes the entry of a dead owner behind the filter",
        arguments: ObserverKind.owned)
    func deadOwnerBehindAFilter(_ kind: ObserverKind) async {
        for _ in 0..<10 { _ = kind.add(to: set.filter { $0 > 0 }) { _ in } }
        if !kind.isInPlace {
            // For observers that run elsewhere, the owner is checked only there, so a call has to notice the death.
            set.notify(1)
            await set.settled()
        }
        expect(storedObservers, equals: 10)

        set.notify(0)

        expect(storedObservers, equals: 0)
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

    /// Scenario 16: the owner dies between two notifications.
    ///
    /// Source: boost track_test.cpp.
    @Test(
        "A notification that meets a dead owner releases its observer's captures, and does not call the observer",
        arguments: [ObserverKind.owner, .ownerNonisolated, .ownerOnce])
    func captureOfADeadOwner(_ kind: ObserverKind) {
        let calls = Counter()
        weak var weakCapture: Tracked?
        do {
            let capture = Tracked()
            weakCapture = capture
            let registration = kind.add(to: set) { _ in
                _ = capture
                calls.increment()
            }
            if !kind.isOnce { set.notify(1) }
            registration.end()
        }
        #expect(weakCapture != nil)
        expect(Lifetimes.current.count, equals: 1, "the owner is gone; the capture is still in the set")

        set.notify(2)

        #expect(weakCapture == nil)
        expect(calls.value, equals: (kind.isOnce ? 0 : 1))
    }

    @Test("Sweeps for dead owners do not remove entries without owners")
    func entriesWithoutOwners() {
        for _ in 0..<1_000 { _ = set.add { _ in } }
        for _ in 0..<1_000 { set.add(Tracked()) { _, _ in } }

        expect(set.count, equals: 1_000)
        #expect(storedObservers <= 1_000 + 64)
    }

    @Test("The last slot is used again as soon as no traversal can be reading it")
    func placesAtTheEnd() {
        _ = set.add { _ in }
        for _ in 0..<1_000 { set.add { _ in }.remove() }
        expect(storedSlots, equals: 1)
        expect(room, equals: 3)

        _ = set.once.add { [set] _ in
            let token = set.add { _ in }
            token.remove()
        }
        set.notify(1)
        expect(storedSlots, equals: 1, "the notification that kept them has ended")
    }

    @Test("A set that was once large keeps no room for removed observers", arguments: [false, true], [0, 1, 20])
    func room(lastFirst: Bool, rest: Int) {
        let tokens = (0..<10_000).map { _ in set.add { _ in } }

        for token in lastFirst ? tokens.dropFirst(rest).reversed() : Array(tokens.dropLast(rest)) { token.remove() }

        expect(set.count, equals: rest)
        #expect(room < 100)
    }

    @Test("A set from which many observers are removed inside a notification keeps no room for them")
    func roomInsideANotification() {
        for _ in 0..<1_000 { _ = set.add { _ in } }
        _ = set.add { [set] _ in
            set.removeAll()
            for _ in 0..<100 { _ = set.add { _ in } }
            set.removeAll()
            _ = set.add { _ in }
        }

        set.notify(1)

        expect(set.count, equals: 1)
        #expect(room <= 7)
    }

    // MARK: -

    /// The number of slots in the block, that is, for all observers except the first.
    private var room: Int { unsafe self.set.registry?.slots.block?.capacity ?? 0 }

    /// How many observers the set holds, including those of dead owners.
    private var storedObservers: Int { self.set.registry?.living ?? 0 }

    /// How many slots are in use.
    private var storedSlots: Int {
        Int(self.set.registry?.lock.withLock { $0.taken } ?? 0)
    }

    private func addCapture(_ kind: ObserverKind) -> CapturingRegistration {
        let capture = Tracked()
        return CapturingRegistration(registration: kind.add(to: set) { _ in _ = capture }, capture: capture)
    }
}

/// A registration, and a weak reference to what its observer has captured.
private final class CapturingRegistration: Sendable {
    private let registration: KeptRegistration
    weak let capture: Tracked?

    init(registration: KeptRegistration, capture: Tracked) {
        self.registration = registration
        self.capture = capture
    }

    var token: ObserverToken { registration.token }

    func end() { registration.end() }
}

/// Lets that many values wait at once, and then has them delivered.
private func send(_ count: Int, in set: ObserverSet<Int>, to queue: DispatchQueue) async {
    queue.suspend()
    for value in (1...count).reversed() { set.notify(value) }
    queue.resume()
    await set.settled()
    await set.settled()
    // Waits until the job that has delivered the last value has ended.
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
}
