import Foundation
import Testing

@testable import ObserverSet

/// Promise 8: removing an observer releases its closure and captures before `remove` returns, or when the notifications
/// in flight have ended.
///
/// Dead owners' entries do not pile up even if nobody ever notifies.
@Suite("Promise 8: released promptly", .lifetimesChecked, .againstHanging)
struct Promise08ReleasedPromptlyTests {
    private let set = ObserverSet<Int>()

    // MARK: No notification in flight

    @Test("What an observer captured is released before `remove` returns", arguments: ObserverKind.held)
    func atRemove(_ kind: ObserverKind) {
        let registration = addCapture(kind)
        #expect(registration.capture != nil)

        registration.token.remove()

        #expect(registration.capture == nil)
        registration.end()
    }

    @Test(
        "What an observer captured is released before `remove` returns, after it was called",
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

    @Test("What observers captured is released before `removeAll` returns", arguments: ObserverKind.held)
    func atRemoveAll(_ kind: ObserverKind) {
        let registrations = (0..<100).map { _ in addCapture(kind) }

        set.removeAll()

        #expect(registrations.allSatisfy { $0.capture == nil })
        registrations.forEach { $0.end() }
    }

    @Test("What observers captured is released before `removeAll(ownedBy:)` returns")
    func atRemoveAllOfAnOwner() {
        let owner = Tracked()
        let before = Lifetimes.current.count
        for _ in 0..<100 {
            let capture = Tracked()
            set.add(owner) { _, _ in _ = capture }
        }

        set.removeAll(ownedBy: owner)

        #expect(Lifetimes.current.count == before)
    }

    @Test("What an observer captured is released when the set dies", arguments: ObserverKind.held)
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

    @Test("A token keeps nothing of the observer's", arguments: ObserverKind.held)
    func tokens(_ kind: ObserverKind) {
        let registrations = (0..<100).map { _ in addCapture(kind) }
        let tokens = registrations.map(\.token)

        for token in tokens { token.remove() }

        #expect(registrations.allSatisfy { $0.capture == nil })
        #expect(tokens.allSatisfy { !$0.isActive })
        registrations.forEach { $0.end() }
    }

    @Test("A one-time observer is released by its call")
    func once() {
        let registration = addCapture(.once)

        set.notify(1)

        #expect(registration.capture == nil)
    }

    @Test("Ten thousand observers added and removed leave nothing behind")
    func churn() {
        let before = Lifetimes.current.count
        for _ in 0..<10_000 {
            let registration = addCapture(.closure)
            registration.token.remove()
            #expect(registration.capture == nil)
        }

        #expect(Lifetimes.current.count == before)
        #expect(storedSlots <= 64)
    }

    // MARK: Notifications in flight

    @Test(
        "What is removed during a notification is released when that ends, and not before", arguments: ObserverKind.held
    )
    func duringAPass(_ kind: ObserverKind) async {
        let registration = addCapture(kind)
        set.addOnce { _ in
            registration.token.remove()
            #expect(registration.capture != nil)
        }

        set.notify(1)
        await set.settled()

        await eventually { registration.capture == nil }
        #expect(registration.capture == nil)
        registration.end()
    }

    @Test("What is removed during another thread's notification is released when that ends, and not before")
    func duringAnotherThreadsPass() async {
        let isInside = Signal()
        let mayGoOn = Signal()
        let registration = addCapture(.closure)
        set.addOnce { _ in
            isInside.set()
            mayGoOn.wait()
        }

        await onThreads(2) { [set] thread in
            if thread == 0 {
                set.notify(1)
                #expect(registration.capture == nil)
            } else {
                isInside.wait()
                registration.token.remove()
                #expect(registration.capture != nil)
                mayGoOn.set()
            }
        }

        #expect(registration.capture == nil)
    }

    @Test(
        "Notifications by several threads that overlap without end do not keep what is removed meanwhile",
        arguments: [2, 3, 5])
    func overlapping(_ count: Int) async {
        let inside = (0..<count).map { _ in Counter() }
        let isDone = Signal()
        let set = ObserverSet<Int>()
        // Nobody leaves before another one has come in: at no time is no notification in flight.
        set.add { thread in
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

        #expect(set.count == 1)
    }

    @Test("What was removed while many threads notified is gone when all have ended")
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

        #expect(lifetimes.total == 4_000)
        #expect(lifetimes.count == 0)
    }

    // MARK: Values in mailboxes

    @Test("What a removed observer captured is released when what was enqueued for it has been dropped")
    func enqueued() async {
        let isRemoved = Signal()
        let queue = DispatchQueue(label: "serial")
        queue.async { isRemoved.wait() }
        weak var weakCapture: Tracked?
        do {
            let capture = Tracked()
            weakCapture = capture
            let token = set.add(on: queue) { _ in _ = capture }
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
        set.add(on: DispatchQueue(label: "serial")) { _ in
            allEnqueued.wait()
            alive.append(lifetimes.count - before)
        }

        for _ in 0..<10 { set.notify(Tracked()) }
        allEnqueued.set()
        await set.settled()

        #expect(alive.entries == Array((1...10).reversed()))
    }

    // MARK: Dead owners

    @Test("Entries of dead owners do not pile up although nobody ever notifies", arguments: ObserverKind.owned)
    func deadOwners(_ kind: ObserverKind) {
        for _ in 0..<10_000 { _ = kind.add(to: set) { _ in } }

        #expect(storedObservers <= 64)
        #expect(storedSlots <= 128)
    }

    @Test("Entries of dead owners among many living ones do not pile up either")
    func deadOwnersAmongLiving() {
        let living = (0..<1_000).map { Tracked($0) }
        for owner in living { set.add(owner) { _, _ in } }

        for _ in 0..<50_000 {
            let owner = Tracked()
            set.add(owner) { _, _ in }
        }

        #expect(set.count == 1_000)
        #expect(storedObservers <= 2 * living.count + 64)
        withExtendedLifetime(living) {}
    }

    @Test("A notification that meets a dead owner removes its entry", arguments: ObserverKind.owned)
    func deadOwnerMetByNotify(_ kind: ObserverKind) async {
        for _ in 0..<10 { _ = kind.add(to: set) { _ in } }
        #expect(storedObservers == 10)

        // Those that hop find out where they run, and tell the next notification.
        for value in 0..<2 {
            set.notify(value)
            await set.settled()
        }

        #expect(storedObservers == 0)
    }

    @Test("What a dead owner's observer captured is released by the notification that meets it")
    func captureOfADeadOwner() {
        weak var weakCapture: Tracked?
        do {
            let capture = Tracked()
            weakCapture = capture
            set.add(Tracked()) { _, _ in _ = capture }
        }
        #expect(weakCapture != nil)

        set.notify(1)

        #expect(weakCapture == nil)
    }

    @Test("Entries without owners are not what pruning is for: they stay")
    func entriesWithoutOwners() {
        for _ in 0..<1_000 { set.add { _ in } }
        for _ in 0..<1_000 { set.add(Tracked()) { _, _ in } }

        #expect(set.count == 1_000)
        #expect(storedObservers <= 1_000 + 64)
    }

    // MARK: -

    /// How many observers the set holds, dead owners' included.
    private var storedObservers: Int { self.set.registry?.living ?? 0 }

    /// How many places the current snapshot has handed out.
    private var storedSlots: Int {
        self.set.registry?.lock.withLock { contents in unsafe contents.snapshot?.count ?? 0 } ?? 0
    }

    private func addCapture(_ kind: ObserverKind) -> CapturingRegistration {
        let capture = Tracked()
        return CapturingRegistration(registration: kind.add(to: set) { _ in _ = capture }, capture: capture)
    }
}

/// A registration, and a look at what its observer captured.
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
