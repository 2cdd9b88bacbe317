import Dispatch
import Foundation
import ObserverSet
import Testing

/// What has broken others: who is kept alive, for how long, and what a `deinit` may do (promises 1, 5, 8, 9 and 10).
@Suite("Lifetimes", .lifetimesChecked, .againstHanging)
struct LifetimeTests {
    // MARK: Owners

    /// Scenario 15: the owner dies between building the registration and making it.
    ///
    /// Source: boost dead_slot_test.cpp, track_test.cpp (automatic disconnection of a slot before it is connected).
    @Test("An observer whose owner died before it was registered is never called nor counted")
    func ownerDeadBeforeRegistration() {
        let set = ObserverSet<Void>()
        let kept = KeptObserver<Void>()
        let log = Log<Int>()
        do {
            let owner = Tracked()
            kept.add(owner) { _, _ in log.append(0) }
        }

        let token = kept.observer.value.map { set.register($0) }
        #expect(set.count == 0)
        #expect(token?.isActive == false)
        set.notify()

        #expect(log.entries == [])
        #expect(set.isEmpty)
        token?.remove()
        #expect(token?.remove() == false)
    }

    /// Scenario 16: the owner dies between two notifications.
    ///
    /// Source: boost track_test.cpp.
    @Test(
        "An observer whose owner has died is not called, and its closure is released by the next notification",
        arguments: InPlaceForm.allCases.filter { $0 == .owner || $0 == .nonisolatedOwner })
    func ownerDiesBetween(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        var owner: Tracked? = Tracked()
        form.add(to: set, owner: owner!) { [capture = Tracked()] in log.append(capture.value) }
        set.notify()

        owner = nil
        #expect(owner == nil)
        #expect(Lifetimes.current.count == 1, "the owner is gone; the capture is still in the set")
        set.notify()

        #expect(log.entries == [0])
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 17: the last reference to the owner goes in its own call.
    ///
    /// Source: boost deadlock_regression_test.cpp (SelfReference); ReactiveSwift#135, #136, #137 and #267.
    @Test("An owner that is let go in its own call lives until it returns, and its `deinit` may use the set")
    func ownerDiesInItsOwnCall() {
        let set = ObserverSet<Int>()
        let log = Log<String>()
        let owner = Shared<Tracked?>(nil)
        let token = Shared<ObserverToken?>(nil)
        let thread = Thread.current.description
        set.add { log.append("before \($0)") }
        owner.value = Tracked { [weak set] in
            guard let set else { return }
            #expect(Thread.current.description == thread)
            log.append("deinit, \(set.count) others")
            #expect(token.value.map { set.remove($0) } == true)
            set.add { log.append("added \($0)") }
            set.notify(2)
        }
        token.value = set.add(owner.value!) { tracked, value in
            log.append("call \(value)")
            owner.value = nil
            log.append(tracked.isIntact ? "intact" : "broken")
        }
        set.add { log.append("behind \($0)") }

        set.notify(1)

        #expect(
            log.entries == [
                "before 1", "call 1", "intact", "deinit, 2 others", "before 2", "behind 2", "added 2", "behind 1",
            ])
        #expect(set.count == 3)
    }

    /// Scenario 18: nobody ever notifies.
    ///
    /// Source: SimpleTwoWayBindingIOS#12, cmux#7799 (registrations that stay until the next change).
    @Test("Entries of dead owners do not pile up though nobody notifies")
    func deadEntriesWithoutNotification() {
        let set = ObserverSet<Void>()
        let lifetimes = Lifetimes.current
        let living = (0..<100).map { _ in Tracked() }
        for owner in living { set.add(owner) { _, _ in } }
        var most = 0

        for _ in 0..<10_000 {
            set.add(Tracked()) { [capture = Tracked()] _, _ in _ = capture }
            most = max(most, lifetimes.count - living.count)
        }

        #expect(set.count == living.count)
        #expect(most <= 2 * living.count + 64, "stored: at most twice the living, and a constant")
    }

    /// Scenario 18, measured as the system sees it.
    ///
    /// Source: as before.
    @Test("A million owners that come and go without a notification leave no memory behind")
    func deadOwnersLeaveNoMemory() async {
        await #expect(processExitsWith: .success) {
            let count = many(200_000, long: 1_000_000)
            let set = ObserverSet<Int>()
            let queue = DispatchQueue(label: "Q")
            func churn(_ count: Int) {
                for index in 0..<count {
                    let owner = Tracked()
                    switch index % 3 {
                    case 0: set.add(owner) { _, _ in }
                    case 1: set.addNonisolated(owner) { _, _ in }
                    default: set.add(on: queue, owner) { _, _ in }
                    }
                }
            }

            let growth = await ResidentMemory.growth {
                churn(20_000)
            } _: {
                churn(count)
            }

            #expect(growth < 1 << 20)
            #expect(set.isEmpty)
        }
    }

    @Test("What a notification kept from being released leaves no memory when it has ended")
    func keptByAPass() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Void>()
            set.add {
                let tokens = (0..<1_000).map { _ in set.addNonisolated {} }
                for token in tokens { token.remove() }
            }

            let growth = await ResidentMemory.growth {
                for _ in 0..<10 { set.notify() }
            } _: {
                for _ in 0..<100 { set.notify() }
            }

            #expect(growth < 1 << 20)
        }
    }

    /// Scenario 19: the set belongs to the owner whose closure it holds.
    @Test("A model that observes its own set with itself as the owner is released")
    func noCycleThroughTheOwner() {
        weak var weakModel: Model?
        weak var weakSet: ObserverSet<Int>?
        do {
            let model = Model()
            model.changed.add(model) { model, value in model.sum.value += value }
            model.changed.notify(1)
            #expect(model.sum.value == 1)
            (weakModel, weakSet) = (model, model.changed)
        }

        #expect(weakModel == nil)
        #expect(weakSet == nil)
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 19, what the documentation warns of.
    @Test("A closure that captures its owner strongly keeps it, until it is removed")
    func strongCaptureIsACycle() {
        weak var weakModel: Model?
        do {
            let model = Model()
            model.changed.add(model) { _, value in model.sum.value += value }
            weakModel = model
        }

        #expect(weakModel != nil)
        #expect(Lifetimes.current.count == 1, "the helper detects the leak")
        weakModel?.changed.removeAll()

        #expect(weakModel == nil)
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 24: an address that is used again.
    ///
    /// Source: Foundation's NotificationCenter, which filtered by the address of an object it did not hold.
    @Test("A new object where a dead owner was is not taken for it")
    func addressReuse() {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        do {
            let owner = Tracked()
            set.add(owner) { _, _ in log.append(0) }
        }

        let strangers = (0..<1_000).map { _ in Tracked() }
        let removed = strangers.map { set.removeAll(ownedBy: $0) }
        set.notify()

        #expect(removed.allSatisfy { $0 == 0 })
        #expect(log.entries == [])
    }

    /// Scenario 24, with an actor whose identity decides where its observer is called.
    ///
    /// Source: as before.
    @Test("A notification by a new actor where a dead one was does not reach the dead one's observer")
    func actorAddressReuse() async {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        do {
            let owner = Notifier()
            set.add(owner) { _, _ in log.append(0) }
        }

        let strangers = (0..<1_000).map { _ in Notifier() }
        for stranger in strangers { await stranger.notify(set) }
        await set.settled()

        #expect(log.entries == [])
        #expect(set.isEmpty)
    }

    /// Scenario 25: who is counted.
    ///
    /// Source: jonasman/MulticastDelegate#21, openradar 14879174 (a weak table that counts the dead).
    @Test("Only observers with living owners are counted, notified or not")
    func countsTheLiving() {
        let set = ObserverSet<Void>()
        var owners = (0..<5).map { _ in Tracked() }
        for owner in owners { set.add(owner) { _, _ in } }
        #expect(set.count == 5)

        owners.removeLast(2)
        #expect(set.count == 3)
        #expect(!set.isEmpty)

        owners.removeAll()
        #expect(set.count == 0)
        #expect(set.isEmpty)
    }

    /// Scenario 32: the owner dies as it is called.
    ///
    /// Source: Switch#65 (a race of a weak reference's getter), ReactiveSwift#137.
    @Test("An owner that another thread releases is whole in each of its calls")
    func ownersDieDuringPasses() async {
        let set = ObserverSet<Void>()
        let lifetimes = Lifetimes.current
        let calls = Shared(0)
        let broken = Shared(0)
        let isDone = Shared(false)

        await onThreads(2) { thread in
            if thread == 0 {
                while !isDone.value { set.notify() }
            } else {
                for round in 0..<many(1_000) {
                    let owner = Tracked(in: lifetimes)
                    let before = calls.value
                    set.add(owner) { owner, _ in
                        if !owner.isIntact { broken.value += 1 }
                        calls.value += 1
                    }
                    // Half of them are kept until they have been called, so that the passes are known to meet some.
                    if round % 2 == 0 { while calls.value == before { Thread.yield() } }
                }
                isDone.value = true
            }
        }

        #expect(broken.value == 0)
        #expect(calls.value >= many(1_000) / 2)
        #expect(set.isEmpty)
    }

    // MARK: Closures and tokens

    /// Scenario 20: a closure without an owner, whose token is dropped.
    ///
    /// Source: notes#74, kickstarter/ios-oss#314, WordPress-iOS#20994 (block observers that live for ever).
    @Test("A closure without an owner lives as long as its set, whatever becomes of its token")
    func closureLivesWithTheSet() {
        var set: ObserverSet<Void>? = ObserverSet()
        let log = Log<Int>()
        set?.add { [capture = Tracked(1)] in log.append(capture.value) }

        set?.notify()
        #expect(log.entries == [1])
        #expect(Lifetimes.current.count == 1)
        set = nil

        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 21: the token outlives the set.
    ///
    /// Source: boost deletion_test.cpp (test_signal_deletion: both connections are "not connected").
    @Test(
        "A token keeps neither its set nor a closure, and answers when they are gone", arguments: InPlaceForm.allCases)
    func tokenOutlivesTheSet(form: InPlaceForm) {
        weak var weakSet: ObserverSet<Void>?
        let owner = Tracked()
        let token: ObserverToken
        do {
            let set = ObserverSet<Void>()
            weakSet = set
            token = form.add(to: set, owner: owner) { [capture = Tracked()] in _ = capture }
            #expect(token.isActive)
        }

        #expect(weakSet == nil)
        #expect(Lifetimes.current.count == 1, "the owner alone")
        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(token.description.contains("inactive"))
    }

    /// Scenario 22: many remove the same.
    @Test("Of sixteen threads that remove one registration, exactly one is told it did")
    func removedBySixteen() async {
        for round in 0..<100 {
            let set = ObserverSet<Void>()
            let token = set.add { [capture = Tracked()] in _ = capture }
            let answers = Log<Bool>()

            await onThreads(16) { thread in
                answers.append((thread + round) % 2 == 0 ? token.remove() : set.remove(token))
            }

            #expect(answers.entries.count { $0 } == 1)
            #expect(answers.count == 16)
            #expect(Lifetimes.current.count == 0)
        }
    }

    /// Scenario 23: a stale token.
    ///
    /// Source: ReactiveCocoa#2199, realm-object-store#580, KeyPath#141, Repeat#13, AXorcist#47; Foundation's NotificationCenter, which
    /// used its keys again, so that a second removal took a newer observer.
    @Test("A token that was removed does not remove the observer that came after it", arguments: InPlaceForm.allCases)
    func staleToken(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        let owner = Tracked()
        for round in 0..<100 {
            let old = form.add(to: set, owner: owner) {}
            old.remove()
            let new = form.add(to: set, owner: owner) { log.append(round) }

            #expect(!old.remove())
            #expect(!set.remove(old))
            #expect(new.isActive)
            #expect(new != old)
            set.notify()
            new.remove()
        }

        #expect(log.entries == Array(0..<100))
    }

    /// Scenario 23: a token of another set.
    ///
    /// Source: as before.
    @Test("A token of another set removes nothing, though it stands in the same place there")
    func foreignToken() {
        let left = ObserverSet<Void>()
        let right = ObserverSet<Void>()
        let log = Log<String>()
        let leftToken = left.add { log.append("left") }
        let rightToken = right.add { log.append("right") }

        #expect(!left.remove(rightToken))
        #expect(!right.remove(leftToken))
        left.notify()
        right.notify()

        #expect(log.entries == ["left", "right"])
        #expect(leftToken.isActive && rightToken.isActive)
    }

    /// Scenario 30: what a removed observer held.
    ///
    /// Source: Qt tst_qobject disconnectDoesNotLeakFunctor, contextDoesNotLeakFunctor.
    @Test("A removed observer's captures are released before `remove` returns", arguments: InPlaceForm.allCases)
    func capturesReleasedAtOnce(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let lifetimes = Lifetimes.current
        let owner = Tracked()
        var latest = 0

        for _ in 0..<10_000 {
            let token = form.add(to: set, owner: owner) { [capture = Tracked()] in _ = capture }
            token.remove()
            latest = max(latest, lifetimes.count)
        }

        #expect(latest == 1, "the owner alone")
    }

    // MARK: What a deinit may do

    /// Scenario 28: a capture whose `deinit` uses the set.
    ///
    /// Source: OpenCombine#208, tokio#5429 and #5578, boost deadlock_regression_test.cpp; Foundation ("Recursive call to lock Mutex").
    @Test("A capture's `deinit` may use the set that lets it go", arguments: WayOut.allCases)
    func captureUsesTheSet(way: WayOut) {
        let bystanders = Log<Int>()
        let ends = Log<Bool>()
        var set: ObserverSet<Int>? = ObserverSet()
        set?.add { bystanders.append($0) }
        var owner: Tracked? = Tracked()
        let token = set!.add(owner!) { [weak set, bomb = Bomb(set: set!, ends: ends)] _, _ in _ = (bomb, set) }

        way.take(set: &set, token: token, owner: &owner)

        #expect(ends.entries == [true])
        #expect(!token.isActive)
    }

    /// Scenario 28 for many at once: each `deinit` removes the next one.
    ///
    /// Source: as before.
    @Test("Captures whose `deinit` removes the next observer all go")
    func chainOfCaptures() {
        let set = ObserverSet<Void>()
        var next: ObserverToken?
        for _ in 0..<1_000 {
            let link = Tracked { [next] in _ = next?.remove() }
            next = set.add { _ = link }
        }
        #expect(set.count == 1_000)

        next?.remove()

        #expect(set.isEmpty)
        #expect(Lifetimes.current.count == 0)
    }

    /// Scenario 29: a parameter whose `deinit` uses the set.
    @Test("A parameter's `deinit` may use the set it was told through")
    func parameterUsesTheSet() async {
        let set = ObserverSet<Tracked>()
        let log = Log<String>()
        let lifetimes = Lifetimes.current
        set.add { value in log.append("in place \(value.value)") }
        let ends = Log<Int>()
        let queue = DispatchQueue(label: "Q")
        set.add(on: queue) { value in log.append("on the queue \(value.value)") }

        queue.suspend()
        for value in 1...3 {
            set.notify(
                Tracked(value, in: lifetimes) { [weak set] in
                    set?.add { _ in }.remove()
                    ends.append(set?.count ?? -1)
                })
        }
        #expect(ends.entries == [], "the mailbox holds them")
        queue.resume()
        await set.settled()
        await eventually { ends.count == 3 }

        #expect(ends.entries == [2, 2, 2])
        #expect(log.count == 6)
    }

    /// Scenario 29: the values that were dropped.
    @Test("The `deinit` of a value that a removal drops may use the set")
    func droppedParameterUsesTheSet() async {
        let set = ObserverSet<Tracked>()
        let queue = DispatchQueue(label: "Q")
        let ends = Log<Bool>()
        let lifetimes = Lifetimes.current
        let token = set.add(on: queue) { _ in Issue.record("removed before the queue went on") }

        queue.suspend()
        for value in 1...3 {
            set.notify(Tracked(value, in: lifetimes) { [weak set] in ends.append(set?.isEmpty ?? false) })
        }
        #expect(token.remove())
        queue.resume()
        await set.settled()
        await eventually { ends.count == 3 }

        #expect(ends.entries == [true, true, true])
    }
}

/// How an observer comes to be let go of.
enum WayOut: CaseIterable, Sendable {
    case tokenRemoves, setRemoves, setRemovesAll, setRemovesOwned, setDies, ownerDies, othersAreAdded

    func take(set: inout ObserverSet<Int>?, token: ObserverToken, owner: inout Tracked?) {
        switch self {
        case .tokenRemoves: token.remove()
        case .setRemoves: set?.remove(token)
        case .setRemovesAll: set?.removeAll()
        case .setRemovesOwned: set?.removeAll(ownedBy: owner!)
        case .setDies: set = nil
        case .ownerDies:
            owner = nil
            set?.notify(0)
        case .othersAreAdded:
            // Looking for dead owners is paid by adding owners.
            owner = nil
            let other = Tracked()
            for _ in 0..<100 { set?.add(other) { _, _ in } }
        }
    }
}

/// A capture whose `deinit` does to the set whatever can be done to one, from this thread and from another.
private final class Bomb: Sendable {
    private let use: @Sendable () -> Void

    init(set: ObserverSet<Int>, ends: Log<Bool>) {
        use = { [weak set] in
            defer { ends.append(true) }
            guard let set else { return }
            Self.use(set)
            join { Self.use(set) }
        }
    }

    private static func use(_ set: ObserverSet<Int>) {
        let token = set.add { _ in }
        set.notify(1)
        _ = set.count
        _ = set.debugDescription
        token.remove()
    }

    deinit { use() }
}

/// Keeps the observer that it is asked to register.
private final class KeptObserver<Parameters: Sendable>: NotificationSource {
    let observer = Shared<Observer<Parameters>?>(nil)

    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        self.observer.value = observer
        return ObserverToken([])
    }
}

/// A model that has a set, and is tracked.
private final class Model: Sendable {
    let changed = ObserverSet<Int>()
    let sum = Shared(0)
    private let tracked = Tracked()
}

/// An actor that notifies in its own isolation.
private actor Notifier {
    func notify(_ set: ObserverSet<Void>) { set.notify() }
}
