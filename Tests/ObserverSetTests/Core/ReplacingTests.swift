import Dispatch
@testable import ObserverSet
import Testing

/// Observers of which each owner has one: what replaces what, and what threads see of it.
@Suite("Observers that replace their owner's last one", .lifetimesChecked, .againstHanging)
struct ReplacingTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("An owner's next observer replaces the last one, behind all others")
    func replaces() {
        let owner = Tracked()
        let first = set.replacing.add(owner) { [log] _, value in log.append("first \(value)") }
        set.add { [log] value in log.append("other \(value)") }
        set.notify(1)

        let second = set.replacing.add(owner) { [log] _, value in log.append("second \(value)") }
        set.notify(2)

        #expect(log.entries == ["first 1", "other 1", "other 2", "second 2"])
        #expect(!first.isActive && !first.remove())
        #expect(second.isActive && set.count == 2)
        #expect(second.remove() && set.count == 1)
    }

    /// A notification that ends while another thread asks leaves the release to that thread.
    @Test("Asking for an owner's observer does not keep from being released what was removed during a notification")
    func askingReleases() async {
        let owner = Tracked()
        let sets = (0..<many(5_000, long: 100_000)).map { _ in ObserverSet<Int>() }
        let tokens = sets.map { set in set.add { [capture = Tracked()] _ in _ = capture } }
        await race(times: sets.count) { round in
            for _ in 0..<4 { sets[round].notify(round) }
        } _: { round in
            tokens[round].remove()
            for _ in 0..<20 { #expect(sets[round].token(replaceableBy: owner) == nil) }
        }

        #expect(Lifetimes.current.count == 1)
        withExtendedLifetime(owner) {}
    }

    @Test("What the replaced observer holds is released when `add` returns")
    func releases() {
        let owner = Tracked()
        do {
            let capture = Tracked()
            set.replacing.add(owner) { _, _ in withExtendedLifetime(capture) {} }
        }
        #expect(Lifetimes.current.count == 2)

        set.replacing.add(owner) { _, _ in }

        #expect(Lifetimes.current.count == 1)
        withExtendedLifetime(owner) {}
    }

    @Test("Every form with an owner replaces, and is replaced, whatever observer the other is")
    func everyForm() async {
        let window = Window(log)
        let queue = DispatchQueue(label: "replacing")
        let source = set.replacing
        let tokens = [
            source.add(window) { $0.note("owner", $1) },
            source.add(window) { @MainActor window, value in window.note("main owner", value) },
            source.add(method: Window.show, of: window),
            source.add(method: Window.display, of: window),
            source.addNonisolated(window) { $0.note("nonisolated", $1) },
            source.addNonisolated(on: queue, window) { $0.note("queue", $1) },
            source.addAsync(window) { window, value in
                await Task.yield()
                window.note("awaited", value)
            },
            source.once.add(window) { $0.note("once", $1) },
            set.once.add(window) { $0.note("kept, once", $1) },
            source.map { -$0 }.add(window) { $0.note("mapped", $1) },
        ]
        #expect(set.count == 2)
        #expect(tokens.map(\.isActive) == Array(repeating: false, count: 8) + [true, true])

        set.notify(1)
        source.add(window) { $0.note("last", $1) }
        set.notify(2)
        await source.settled()

        #expect(log.entries == ["kept, once 1", "mapped -1", "last 2"])
        #expect(set.count == 1)
    }

    @Test("An actor's next observer replaces its last one, awaited or not, and what waited for that is not delivered")
    func actors() async {
        let actor = BusyActor()
        let end = Signal()
        await actor.keepBusy(until: end)
        set.replacing.add(actor) { [log] (_: isolated BusyActor, value) in log.append("synchronous \(value)") }
        set.notify(1)
        set.replacing.addAsync(actor) { [log] (_: isolated BusyActor, value) in log.append("awaited \(value)") }
        set.notify(2)
        set.replacing.add(actor) { [log] (_: isolated BusyActor, value) in log.append("last \(value)") }
        set.notify(3)

        end.set()
        await set.settled()

        #expect(log.entries == ["last 3"])
        #expect(set.count == 1)
    }

    @Test("The call in progress of a replaced observer that awaits is cancelled")
    func cancels() async {
        let owner = Tracked()
        let door = Door()
        set.replacing.addAsync(owner) { [log] _, value in
            await door.pass()
            log.append("\(value), cancelled: \(Task.isCancelled)")
        }
        set.notify(1)
        set.notify(2)
        await eventually { door.waiting == 1 }

        set.replacing.addAsync(owner) { [log] _, value in log.append("new \(value)") }
        door.open()
        await eventually { log.count == 1 }
        set.notify(3)
        await set.settled()

        #expect(log.entries == ["1, cancelled: true", "new 3"])
        withExtendedLifetime(owner) {}
    }

    @Test("Only what was added behind `replacing` to the same set, for the same owner, is replaced")
    func replacesNothingElse() {
        let (owner, other) = (Tracked(), Tracked())
        let set2 = ObserverSet<Int>()
        set.add(owner) { [log] _, value in log.append("plain \(value)") }
        set.replacing.add(other) { [log] _, value in log.append("other \(value)") }
        set2.replacing.add(owner) { [log] _, value in log.append("set 2 \(value)") }
        for _ in 0..<2 { set.replacing.add { [log] value in log.append("closure \(value)") } }
        for _ in 0..<2 { set.replacing.add(owner) { [log] _, value in log.append("last \(value)") } }

        set.notify(1)
        set2.notify(2)

        #expect(log.entries == ["plain 1", "other 1", "closure 1", "closure 1", "last 1", "set 2 2"])
        withExtendedLifetime((owner, other)) {}
    }

    @Test("An observer may replace itself during its call; the notification in progress does not reach the new one")
    func duringACall() {
        let owner = Tracked()
        set.replacing.add(owner) { [log, weak set] owner, value in
            log.append("old \(value)")
            set?.replacing.add(owner) { _, value in log.append("new \(value)") }
        }

        set.notify(1)
        set.notify(2)

        #expect(log.entries == ["old 1", "new 2"])
    }

    @Test("An owner that is dead when its observer is registered replaces nothing, and is never called")
    func deadWhenRegistered() {
        let kept = KeptObserver<Int>()
        do {
            let owner = Tracked()
            kept.addNonisolated(owner) { [log] _, _ in log.append("dead") }
        }
        set.replacing.register(kept.observer.value!)
        kept.observer.value = nil

        set.notify(1)

        #expect(log.entries == [] && set.isEmpty)
    }

    @Test("The producer of a set's values goes on while an observer is replaced")
    func producer() {
        let set = ObserverSet<Int> { [log] isObserved in log.append("\(isObserved)") }
        let owner = Tracked()
        for _ in 0..<3 { set.replacing.add(owner) { _, _ in } }
        #expect(log.entries == ["true"])

        set.token(replaceableBy: owner)?.remove()

        #expect(log.entries == ["true", "false"])
    }

    @Test("A source that is made again of the set replaces, and keeps the set alive no longer than itself")
    func madeAgain() {
        let owner = Tracked()
        var set: ObserverSet<Int>? = ObserverSet()
        let held = set!.replacing.heldWeakly()
        for number in 1...2 { held()?.add(owner) { [log] _, value in log.append("\(number): \(value)") } }

        set?.notify(1)
        set = nil

        #expect(log.entries == ["2: 1"])
        #expect(held() == nil)
    }

    // MARK: Asking

    @Test("`settled()` of the source waits for its observers")
    func settled() async {
        let owner = Keeper()
        set.replacing.add(owner) { [log] (_: isolated Keeper, value) in log.append("\(value)") }
        set.notify(1)

        await set.replacing.settled()

        #expect(log.entries == ["1"])
    }

    @Test("The token of an owner's replaceable observer is nil before it is added, and after it has ended")
    func asking() {
        let owner = Tracked()
        #expect(set.token(replaceableBy: owner) == nil)
        set.add(owner) { _, _ in }
        #expect(set.token(replaceableBy: owner) == nil)

        for _ in 0..<2 {
            let token = set.replacing.add(owner) { _, _ in }
            #expect(set.token(replaceableBy: owner) == token)
        }
        #expect(set.token(replaceableBy: owner)?.remove() == true)
        #expect(set.token(replaceableBy: owner) == nil)
        #expect(set.count == 1)

        set.replacing.add(owner) { _, _ in }
        set.removeAll()
        #expect(set.token(replaceableBy: owner) == nil)
    }

    @Test("In the owner's own deinit it has no token")
    func askingInDeinit() {
        final class Owner: Sendable {
            let atEnd: @Sendable (Owner) -> Void
            init(atEnd: @escaping @Sendable (Owner) -> Void) { self.atEnd = atEnd }
            deinit { atEnd(self) }
        }
        do {
            let owner = Owner { [set, log] in log.append("\(set.token(replaceableBy: $0) == nil)") }
            set.replacing.addNonisolated(owner) { _, _ in }
            log.append("\(set.token(replaceableBy: owner) == nil)")
        }
        #expect(log.entries == ["false", "true"])
    }

    @Test("A new owner is not mistaken for a dead one whose address it has, and dead owners' addresses do not pile up")
    func reusedAddresses() {
        var addresses: Set<ObjectIdentifier> = []
        var reuses = 0
        var mistakes = 0
        for _ in 0..<many(20_000, long: 100_000) {
            let owner = Tracked()
            if !addresses.insert(ObjectIdentifier(owner)).inserted { reuses += 1 }
            if set.token(replaceableBy: owner) != nil { mistakes += 1 }
            let token = set.replacing.addNonisolated(owner) { _, _ in }
            if set.token(replaceableBy: owner) != token { mistakes += 1 }
        }
        #expect(mistakes == 0)
        #expect(reuses > 0 || AllocatedMemory.isSanitized)
        #expect(set.isEmpty)
        #expect(knownOwners < 200)
    }

    @Test("The addresses of owners whose observers were removed do not pile up", arguments: [1, 1_000])
    func forgotten(atOnce count: Int) {
        var owners: [Tracked] = []
        for _ in 0..<2_000 / count {
            let fresh = (0..<count).map { _ in Tracked() }
            let tokens = fresh.map { set.replacing.addNonisolated($0) { _, _ in } }
            for token in tokens { token.remove() }
            owners += fresh
        }
        #expect(knownOwners < 200)
        for owner in owners { set.replacing.addNonisolated(owner) { _, _ in } }
        #expect(set.count == 2_000)
        for owner in owners { set.replacing.addNonisolated(owner) { _, _ in } }
        #expect(set.count == 2_000)
        #expect(knownOwners == 2_000)
    }

    private var knownOwners: Int { self.set.registry?.lock.withLock { $0.backlog?.idsByAddress.count } ?? 0 }

    // MARK: Threads

    private static let rounds = many(20_000, long: 100_000)

    @Test("If two threads replace an owner's observer at the same time, one is left")
    func twoThreads() async {
        let owner = Tracked()
        let tokens = [Shared<ObserverToken?>(nil), Shared<ObserverToken?>(nil)]
        let mistakes = Counter()
        let gate = Gate(2)
        await onThreads(2) { [set] index in
            for _ in 0..<Self.rounds {
                gate.pass()
                tokens[index].value = set.replacing.addNonisolated(owner) { _, _ in }
                gate.pass()
                guard index == 0 else { continue }
                let left = tokens.compactMap(\.value).filter(\.isActive)
                if left.count != 1 || set.count != 1 || set.token(replaceableBy: owner) != left.first {
                    mistakes.increment()
                }
            }
        }
        #expect(mistakes.value == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("A notification never reaches both the old observer and the new one, and after `add` the new one alone")
    func notifiedMeanwhile() async {
        struct Call: Sendable {
            let round: Int
            let isOfAdder: Bool
            let calls = Counter()
        }
        let set = ObserverSet<Call>()
        let owner = Tracked()
        let mistakes = Counter()
        await race(times: Self.rounds) { [set] round in
            set.replacing.addNonisolated(owner) { _, call in
                call.calls.increment()
                if call.isOfAdder, call.round != round { mistakes.increment() }
            }
            let call = Call(round: round, isOfAdder: true)
            set.notify(call)
            if call.calls.value != 1 { mistakes.increment() }
        } _: { [set] round in
            let call = Call(round: round, isOfAdder: false)
            set.notify(call)
            if call.calls.value > 1 { mistakes.increment() }
        }
        #expect(mistakes.value == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("Either a removal ends the old observer or the new one replaces it, and the new one stays")
    func removedMeanwhile() async {
        let owner = Tracked()
        let old = Shared<ObserverToken?>(set.replacing.addNonisolated(owner) { _, _ in })
        let mistakes = Counter()
        let gate = Gate(2)
        await onThreads(2) { [set] index in
            for _ in 0..<Self.rounds {
                gate.pass()
                if index == 0 {
                    let token = set.replacing.addNonisolated(owner) { _, _ in }
                    gate.pass()
                    if set.count != 1 || set.token(replaceableBy: owner) != token { mistakes.increment() }
                    old.value = token
                } else {
                    old.value?.remove()
                    gate.pass()
                }
            }
        }
        #expect(mistakes.value == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("If all observers are removed meanwhile, the table of owners knows whether the new one is left")
    func allRemovedMeanwhile() async {
        let owner = Tracked()
        let mistakes = Counter()
        let gate = Gate(2)
        await onThreads(2) { [set] index in
            for _ in 0..<Self.rounds {
                gate.pass()
                if index == 0 { set.replacing.addNonisolated(owner) { _, _ in } } else { set.removeAll() }
                gate.pass()
                if index == 0, set.isEmpty != (set.token(replaceableBy: owner) == nil) { mistakes.increment() }
            }
        }
        #expect(mistakes.value == 0)
        withExtendedLifetime(owner) {}
    }

    @Test("Owners that die while others replace theirs leave nothing behind")
    func dyingOwners() async {
        let slots = (0..<4).map { _ in Slot<Tracked>() }
        let lifetimes = Lifetimes.current
        await onThreads(3) { [set] thread in
            var random = SeededGenerator(seed: UInt64(thread))
            for round in 0..<Self.rounds {
                let owner = slots[random.below(4)].exchange(nil) ?? Tracked(round, in: lifetimes)
                set.replacing.addNonisolated(owner) { _, _ in }
                if random.below(8) == 0 { set.notify(round) }
                if random.below(2) == 0 { _ = slots[random.below(4)].exchange(owner) }
            }
        }
        let owners = slots.compactMap { $0.exchange(nil) }
        #expect(set.count == owners.count)
        for owner in owners { #expect(set.token(replaceableBy: owner)?.remove() == true) }
        #expect(set.isEmpty)
    }
}

private final class Window: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func note(_ form: String, _ value: Int) { log.append("\(form) \(value)") }
    func show(_ value: Int) { note("method", value) }
    @MainActor func display(_ value: Int) { note("main method", value) }
}
