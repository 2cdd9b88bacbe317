import ObserverSet
import Testing

/// What a local set keeps alive, for how long, and what a `deinit` may do (guarantees 5, 8, 9 and 10).
@Suite("Local set: lifetimes", .lifetimesChecked, .againstHanging)
struct LocalLifetimeTests {
    private let set = LocalObserverSet<Int>()
    private let notes = Notes<Int>()
}

extension LocalLifetimeTests {
    /// Scenarios 15, 16 and 25: the owner dies before it is ever notified, or between notifications; the dead are counted.
    ///
    /// Source: boost dead_slot_test.cpp, track_test.cpp; jonasman/MulticastDelegate#21.
    @Test("An observer whose owner has died is neither called nor counted, and its token is inactive")
    func ownerDies() {
        var owners = (0..<5).map { _ in Plain() }
        let tokens = owners.map { owner in set.add(owner) { [notes] _, value in notes.entries.append(value) } }
        owners.removeLast(3)
        expect(set.count, equals: 2)
        #expect(set.debugDescription.hasSuffix(" × 2"))
        expect([tokens[4].remove(), set.remove(tokens[3])], equals: [false, false], "they have ended already")
        set.notify(1)
        expect(tokens.map(\.isActive), equals: [true, true, false, false, false])

        owners = []

        expect(!tokens[0].isActive && set.isEmpty)
        set.notify(2)
        expect(notes.entries, equals: [1, 1])
        #expect(!tokens[0].remove(), "the notification has removed the entry")
    }

    @Test("A notification that meets a dead owner releases its closure; an owner in its `deinit` is not called")
    func deadOwnersClosure() {
        do {
            let owner = Plain { [set] in set.notify(9) }
            set.add(owner) { [notes, capture = Plain()] _, value in notes.entries.append(value + capture.heard.count) }
        }

        expect(Lifetimes.current.count, equals: 0)
        expect(notes.entries, equals: [])
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
            expect(token?.remove() != nil)
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

    /// Scenario 19: owner → set → closure, and no way back.
    @Test("A set that its observer's owner holds dies with the owner, even if that is the set itself")
    func noCycle() {
        final class Model {
            let life = Tracked()
            let changed = LocalObserverSet<Int>()
            var value = 0
            init() {
                changed.add(self) { model, value in model.value += value }
                changed.add(changed) { [unowned self, life = Tracked()] set, _ in
                    value += 10 * set.count * (life.isIntact ? 1 : 0)
                }
            }
        }
        do {
            let model = Model()
            model.changed.notify(3)
            expect(model.value, equals: 23)
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

        expect(set == nil)
        expect(Lifetimes.current.count, equals: 0)
        expect(token?.isActive == false && token?.remove() == false)
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

        let removals = [first.remove(), set.remove(first), set.remove(foreign), other.remove(second)]
        expect(removals, equals: [false, false, false, false])
        expect(Set([first, second, foreign, second]).count, equals: 3)
        set.notify(7)

        expect(notes.entries, equals: [7])
        #expect(foreign.isActive)
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
    @Test("A removal releases the captures before it returns, each of a thousand times", arguments: LocalForm.allCases)
    func releasedPromptly(form: LocalForm) {
        let owner = Notes<Int>()
        _ = set.add { _ in }
        for _ in 0..<1_000 {
            let token = form.add(to: set, owner: owner) { [capture = Plain()] _ in _ = capture }
            guard Lifetimes.current.count == 1, token.remove(), Lifetimes.current.count == 0 else {
                Issue.record("a capture was released early or late")
                return
            }
        }
        expect(set.count, equals: 1)
    }
}

extension Plain {
    /// Adds an observer that does nothing except hold this object.
    fileprivate func added(to set: LocalObserverSet<Int>, owner: some AnyObject) -> LocalObserverSet<Int>.Token {
        set.add(owner) { _, _ in _ = self }
    }
}
