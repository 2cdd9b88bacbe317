import ObserverSet
import Testing

/// What a local set keeps alive, for how long, and what a `deinit` may do (promises 5, 8, 9 and 10).
@Suite("Local set: lifetimes", .lifetimesChecked, .againstHanging)
struct LocalLifetimeTests {
    private let set = LocalObserverSet<Int>()
    private let notes = Notes<Int>()

    @Test("Adding and removing an owner beside many closures rarely causes a sweep for dead owners")
    func ownerBesideClosures() {
        let captures = Lifetimes()
        let set = LocalObserverSet<Int>()
        for _ in 0..<10_000 { _ = set.add { _ in } }
        set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture }
        let owner = Tracked()

        for _ in 0..<1_000 { set.add(owner) { _, _ in }.remove() }
        expect(captures.count, equals: 1, "there has been no sweep for dead owners")
        for _ in 0..<10_000 { set.add(owner) { _, _ in }.remove() }
        expect(captures.count, equals: 0, "after as many additions as there are observers, there has been a sweep")

        set.removeAll()
        for _ in 0..<1_000 { set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture } }
        #expect(captures.count <= 64, "a set that was large sweeps as often as a small one again")
    }

    @Test("A one-time observer that is an owner's method is called once, whatever its parameters")
    func methodsOnce() {
        final class Window {
            var heard: [String] = []
            func clear() { heard.append("clear") }
            func show(_ value: Int) { heard.append("show \(value)") }
            func move(_ from: Int, _ to: Int) { heard.append("move \(from) to \(to)") }
        }
        let cleared = LocalObserverSet<Void>()
        let shown = LocalObserverSet<Int>()
        let moved = LocalObserverSet<(Int, Int)>()
        let window = Window()
        cleared.once.add(method: Window.clear, of: window)
        shown.once.add(method: Window.show, of: window)
        moved.once.add(method: Window.move, of: window)

        for _ in 0..<2 {
            cleared.notify()
            shown.notify(1)
            moved.notify(2, 3)
        }

        expect(window.heard, equals: ["clear", "show 1", "move 2 to 3"])
        #expect(cleared.isEmpty && shown.isEmpty && moved.isEmpty)
    }

    @Test("A dead owner's registration has ended even before the next notification")
    func deadHasEnded() {
        let set = LocalObserverSet<Int>()
        let tokens = (0..<2).map { _ in set.add(Tracked()) { _, _ in } }

        #expect(!tokens[0].remove())
        #expect(!set.remove(tokens[1]))
    }

    /// Scenarios 15 and 16: the owner dies before it is ever notified, or between notifications.
    ///
    /// Source: boost dead_slot_test.cpp, track_test.cpp.
    @Test("An observer whose owner has died is neither called nor counted, and its token is inactive")
    func ownerDies() {
        var owner: Plain? = Plain()
        let token = set.add(owner!) { [notes] _, value in notes.entries.append(value) }
        set.notify(1)
        #expect(token.isActive)

        owner = nil

        #expect(!token.isActive)
        expect(set.count, equals: 0)
        #expect(set.isEmpty)
        set.notify(2)
        expect(notes.entries, equals: [1])
        #expect(!token.remove(), "the notification has removed the entry")
    }

    @Test("A notification that meets a dead owner releases its closure")
    func deadOwnersClosure() {
        do { set.add(Notes<Int>()) { [capture = Plain()] _, _ in _ = capture } }
        expect(Lifetimes.current.count, equals: 1)

        set.notify(1)

        expect(Lifetimes.current.count, equals: 0)
    }

    /// Scenario 17: the owner's last strong reference is released inside the owner's own call.
    ///
    /// Source: boost deadlock_regression_test.cpp, ReactiveSwift#135 to #137, #267.
    @Test("An owner released in its own call lives until the call ends, and its `deinit` may use the set")
    func diesInItsCall() {
        var token: LocalObserverSet<Int>.Token?
        var isInCall = false
        var owner: Plain?
        owner = Plain { [set, notes] in
            #expect(!isInCall)
            #expect(token?.remove() != nil)
            expect(set.count, equals: 1)
            _ = set.add { _ in }
            if notes.entries.isEmpty { set.notify(2) }
        }
        token = set.add(owner!) { _, _ in
            isInCall = true
            owner = nil
            isInCall = false
        }
        _ = set.add { [notes] value in notes.entries.append(value) }

        set.notify(1)

        expect(notes.entries, equals: [1, 2])
        expect(set.count, equals: 2)
        set.removeAll()
        token = nil
    }

    /// Scenario 18: entries of dead owners in a set that is never notified.
    ///
    /// Source: SimpleTwoWayBindingIOS#12, cmux#7799.
    @Test("Entries of dead owners do not pile up, even if the set is never notified", arguments: [0, 100])
    func deadEntries(living: Int) {
        let owners = (0..<living).map { _ in Notes<Int>() }
        defer { withExtendedLifetime(owners) {} }
        for owner in owners { set.add(owner) { _, _ in } }
        var most = 0

        for _ in 0..<10_000 {
            set.add(Notes<Int>()) { [capture = Plain()] _, _ in _ = capture }
            most = max(most, Lifetimes.current.count)
        }

        #expect(most <= 2 * living + 64)
        expect(set.count, equals: living)
        set.removeAll()
    }

    /// Scenario 19: owner → set → closure, and no way back.
    @Test("A set that its observer's owner holds dies with the owner")
    func noCycle() {
        final class Model {
            let life = Tracked()
            let changed = LocalObserverSet<Int>()
            var value = 0
            init() { changed.add(self) { model, value in model.value = value } }
        }
        do {
            let model = Model()
            model.changed.notify(3)
            expect(model.value, equals: 3)
        }
        expect(Lifetimes.current.count, equals: 0)
    }

    /// Scenario 21: the token outlives the set.
    @Test("A token keeps neither set, closure nor owner alive, and returns false when the set is gone")
    func tokenOutlivesSet() {
        weak var set: LocalObserverSet<Int>?
        var token: LocalObserverSet<Int>.Token?
        do {
            let made = LocalObserverSet<Int>()
            let owner = Plain()
            made.add(owner) { _, _ in }
            token = made.add { [capture = Plain()] _ in _ = capture }
            set = made
        }

        #expect(set == nil)
        expect(Lifetimes.current.count, equals: 0)
        expect(token?.isActive, equals: false)
        expect(token?.remove(), equals: false)
        expect(token?.description.hasSuffix(", inactive)"), equals: true)
    }

    /// Scenario 23: stale and foreign tokens.
    ///
    /// Source: ReactiveCocoa#2199, realm-object-store#580, KeyPath#141, Repeat#13; Foundation's reused keys.
    @Test("Stale, repeated and foreign tokens return false, and do no harm")
    func staleTokens() {
        let other = LocalObserverSet<Int>()
        let first = set.add { _ in }
        let foreign = other.add { _ in }
        #expect(set.remove(first))
        let second = set.add { [notes] value in notes.entries.append(value) }

        #expect(!first.remove())
        #expect(!set.remove(first))
        #expect(!set.remove(foreign))
        #expect(!other.remove(second))
        #expect(first != second)
        #expect(first != foreign)
        expect(Set([first, second, foreign, second]).count, equals: 3)
        set.notify(7)

        expect(notes.entries, equals: [7])
        #expect(foreign.isActive)
    }

    /// Scenario 25: the count.
    ///
    /// Source: jonasman/MulticastDelegate#21.
    @Test("Only living owners are counted")
    func count() {
        var owners = (0..<5).map { _ in Plain() }
        for owner in owners { set.add(owner) { _, _ in } }
        owners.removeLast(2)
        expect(set.count, equals: 3)
        #expect(!set.isEmpty)
        #expect(set.debugDescription.hasSuffix(" × 3"))
        owners = []
        expect(set.count, equals: 0)
        #expect(set.isEmpty)
    }

    /// Scenario 28: a capture whose `deinit` uses the set, however the capture is released.
    ///
    /// Source: OpenCombine#208, tokio#5429; Foundation ("Recursive call to lock Mutex").
    @Test("A capture's `deinit` may do anything to the set, however the registration ends", arguments: Ending.allCases)
    func captureDeinit(ending: Ending) {
        var held: LocalObserverSet<Int>? = LocalObserverSet()
        let set = held!
        let other = Notes<Int>()
        var ended = 0
        var token: LocalObserverSet<Int>.Token?
        var owner: Notes<Int>? = Notes()
        for _ in 0..<40 { set.add(owner!) { _, _ in } }
        let bomb = Plain { [weak set] in
            ended += 1
            guard let set else { return }
            let mine = set.add(other) { _, _ in }
            set.notify(1)
            #expect(mine.remove())
            set.removeAll(ownedBy: other)
            _ = set.count + set.debugDescription.count
            token?.remove()
        }
        token = bomb.added(to: set, owner: owner!)
        _ = consume bomb
        expect(ended, equals: 0)

        switch ending {
        case .remove: expect(token?.remove(), equals: true)
        case .removeAll: set.removeAll()
        case .removeOwned: expect(set.removeAll(ownedBy: owner!), equals: 41)
        case .removeInside:
            _ = set.once.add { _ in
                expect(token?.remove(), equals: true)
                expect(ended, equals: 0)
            }
            set.notify(1)
        case .ownerDeath:
            owner = nil
            set.notify(1)
        case .setDeath: break
        }
        if ending != .setDeath { expect(ended, equals: 1) }
        withExtendedLifetime(set) { held = nil }
        _ = owner
    }

    enum Ending: CaseIterable, Sendable {
        case remove, removeAll, removeOwned, removeInside, ownerDeath, setDeath
    }

    /// Scenario 29: a parameter whose `deinit` uses the set.
    @Test("A parameter's `deinit` may notify")
    func parameterDeinit() {
        let set = LocalObserverSet<Plain?>()
        _ = set.add { [notes] value in notes.entries.append(value == nil ? 0 : 1) }

        set.notify(Plain { [unowned set] in set.notify(nil) })

        expect(notes.entries, equals: [1, 0])
    }

    /// Scenario 30: captures are released with the removal, not later.
    ///
    /// Source: Qt disconnectDoesNotLeakFunctor, contextDoesNotLeakFunctor.
    @Test(
        "A removal releases the captures before it returns, ten thousand times in a row", arguments: LocalForm.allCases)
    func releasedPromptly(form: LocalForm) {
        let owner = Notes<Int>()
        _ = set.add { _ in }
        for _ in 0..<10_000 {
            let token = form.add(to: set, owner: owner) { [capture = Plain()] _ in _ = capture }
            guard Lifetimes.current.count == 1, token.remove(), Lifetimes.current.count == 0 else {
                Issue.record("a capture was released early or late")
                return
            }
        }
        expect(set.count, equals: 1)
    }

    /// Scenario 33: long lists.
    @Test(
        "A hundred thousand observers are added, called, removed in any order, and released")
    func many() {
        let count = 100_000
        var calls = 0
        var random = SeededGenerator(seed: 33)
        let tokens = (0..<count).map { _ in set.add { _ in calls += 1 } }.shuffled(using: &random)
        set.notify(1)
        expect(calls, equals: count)
        expect(tokens.prefix(count / 2).count { $0.remove() }, equals: count / 2)
        expect(set.count, equals: count / 2)
        set.notify(1)
        expect(calls, equals: count + count / 2)
        set.removeAll()
        #expect(set.isEmpty)
    }

    /// Scenario 40: the same owner twice.
    ///
    /// Source: boost disconnect_equal, Qt uniqConnection.
    @Test("An owner added twice is called twice, and removing one registration leaves the other")
    func addedTwice() {
        let owner = Plain()
        let first = set.add(method: Plain.hear, of: owner)
        set.add(method: Plain.hear, of: owner)
        set.notify(1)
        #expect(first.remove())
        set.notify(2)
        expect(owner.heard, equals: [1, 1, 2])
        set.add(method: Plain.hear, of: owner)
        expect(set.removeAll(ownedBy: owner), equals: 2)
        expect(set.removeAll(ownedBy: owner), equals: 0)
    }

    @Test("A set that is released inside its own notification finishes the notification first")
    func diesInItsNotification() {
        var set: LocalObserverSet<Int>? = LocalObserverSet()
        weak let witness = set
        var token: LocalObserverSet<Int>.Token?
        _ = set?.add { _ in set = nil }
        token = set?.add { [notes] value in
            notes.entries.append(value)
            #expect(witness != nil)
        }

        set?.notify(5)

        expect(notes.entries, equals: [5])
        #expect(witness == nil)
        expect(token?.isActive, equals: false)
    }

    @Test("Observers that come and go leave no memory behind", .measuringMemory)
    func growth() async {
        await #expect(processExitsWith: .success) {
            let removed = LocalObserverSet<Int>()
            let owned = LocalObserverSet<Int>()
            func churn(_ count: Int) {
                for _ in 0..<count {
                    removed.add { _ in }.remove()
                    owned.add(Plain()) { _, _ in }
                }
            }

            let growth = await AllocatedMemory.growth {
                churn(20_000)
            } _: {
                churn(200_000)
            }

            #expect(growth < 1 << 20)
            #expect(removed.isEmpty)
            #expect(owned.isEmpty)
        }
    }

    @Test("Memory that a set no longer needs is freed at once, or at the end of the notification", .measuringMemory)
    func room() async {
        await #expect(processExitsWith: .success) {
            func add(_ set: LocalObserverSet<Int>) {
                for _ in 0..<100 { _ = set.add { _ in } }
            }
            /// How many bytes five hundred sets allocate during a call of `body` for each.
            func bytes(_ body: (LocalObserverSet<Int>) -> Void) async -> Int {
                let sets = (0..<500).map { _ in LocalObserverSet<Int>() }
                let growth = await AllocatedMemory.growth {
                } _: {
                    sets.forEach(body)
                }
                return withExtendedLifetime(sets) { growth }
            }

            let grown = await bytes(add)
            let grownInside = await bytes { set in
                _ = set.add { [unowned set] _ in add(set) }
                set.notify(1)
            }
            let emptied = await bytes { set in
                add(set)
                set.removeAll()
            }

            let removed = await bytes { set in
                for token in (0..<100).map({ _ in set.add { _ in } }) { token.remove() }
            }

            // Slots of forty bytes for a hundred observers, and at most as many again.
            #expect(grown <= 500 * (2 * 100 * 40 + 1_024))
            #expect(grownInside <= grown * 5 / 4)
            #expect(emptied <= grown / 4)
            #expect(removed <= grown / 4)
        }
    }

    @Test("A set may be the owner of its own observer, and an owner in its `deinit` is not called")
    func oddOwners() {
        do {
            let own = LocalObserverSet<Int>()
            own.add(own) { [notes] set, value in notes.entries.append(value + set.count) }
            own.notify(1)
        }
        expect(notes.entries, equals: [2])
        do {
            let owner = Plain { [set] in set.notify(9) }
            set.add(owner) { [notes] _, value in notes.entries.append(value) }
        }
        expect(notes.entries, equals: [2])
    }
}

extension Plain {
    /// Adds an observer that does nothing except hold this object.
    fileprivate func added(
        to set: LocalObserverSet<Int>, owner: some AnyObject
    ) -> LocalObserverSet<Int>.Token {
        set.add(owner) { _, _ in _ = self }
    }
}
