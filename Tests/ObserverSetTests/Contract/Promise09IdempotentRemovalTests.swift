import ObserverSet
import Testing

/// Promise 9: exactly one caller removes; foreign, stale and repeated tokens get `false` and harm nothing.
@Suite("Promise 9: removal is idempotent", .lifetimesChecked, .againstHanging)
struct Promise09IdempotentRemovalTests {
    private let set = ObserverSet<Int>()

    @Test(
        "The first removal, in any way, returns true, every later one false, and no other observer is affected",
        arguments: WayOfRemoving.ofEach(ObserverKind.allCases))
    func repeated(_ kind: ObserverKind, _ removal: WayOfRemoving) {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in }
        let token = registration.token
        #expect(token.isActive)

        #expect(removal.perform(on: set, registration))

        #expect(!token.isActive)
        #expect(set.isEmpty)
        _ = set.add { _ in calls.increment() }
        for _ in 0..<100 {
            #expect(!token.remove())
            #expect(!set.remove(token))
        }
        set.notify(1)
        expect(calls.value, equals: 1)
        expect(set.count, equals: 1)
        registration.end()
    }

    @Test("A copy of a token is equal to it, before and after the removal, and no other token is")
    func copies() {
        let token = set.add { _ in }
        let copy = token
        let hash = token.hashValue

        expect(copy, equals: token)
        expect(copy.hashValue, equals: hash)
        #expect(set.add { _ in } != token)
        #expect(ObserverSet<Int>().add { _ in } != token)
        #expect(copy.remove())
        #expect(!token.remove())
        #expect(!token.isActive)
        expect(copy, equals: token)
        expect(token.hashValue, equals: hash)
    }

    /// Scenario 22: many threads remove the same observer.
    @Test("Of sixteen threads that remove one observer, exactly one gets true", arguments: ObserverKind.allCases)
    func sixteenThreads(_ kind: ObserverKind) async {
        let captures = Lifetimes()
        let registrations = (0..<100).map { _ in
            kind.add(to: set) { [capture = Tracked(in: captures)] _ in _ = capture }
        }
        let successes = registrations.map { _ in Counter() }

        await onThreads(16) { [set] thread in
            for (index, registration) in registrations.enumerated() {
                let token = registration.token
                if (thread + index).isMultiple(of: 2) ? token.remove() : set.remove(token) {
                    successes[index].increment()
                }
            }
        }

        #expect(successes.allSatisfy { $0.value == 1 })
        #expect(set.isEmpty)
        #expect(captures.count == 0 || !ObserverKind.held.contains(kind))
        registrations.forEach { $0.end() }
    }

    @Test("A `remove` at the same time as a `removeAll` releases the observer exactly once")
    func againstRemoveAll() async {
        let released = Counter()
        let lifetimes = Lifetimes.current
        let rounds = (0..<500).map { _ in ObserverSet<Int>() }
        let tokens = rounds.map { set in
            let capture = Tracked(in: lifetimes) { released.increment() }
            return set.add { _ in _ = capture }
        }

        await race(times: 500) {
            rounds[$0].removeAll()
        } _: {
            tokens[$0].remove()
        }

        expect(released.value, equals: 500)
        #expect(rounds.allSatisfy { $0.isEmpty })
        #expect(tokens.allSatisfy { !$0.remove() })
    }

    /// Scenario 23: a token of another set.
    ///
    /// Source: ReactiveCocoa#2199, realm-object-store#580, KeyPath#141, Repeat#13, AXorcist#47.
    @Test("A token of another set removes nothing, even if it belongs to the same slot there")
    func foreign() {
        let other = ObserverSet<Int>()
        let log = Log<String>()
        let token = set.add { _ in log.append("set") }
        let foreign = other.add { _ in log.append("other") }

        #expect(!set.remove(foreign))
        #expect(!other.remove(token))

        #expect(token.isActive && foreign.isActive)
        #expect(set.count == 1 && other.count == 1)
        set.notify(1)
        other.notify(1)
        expect(log.entries, equals: ["set", "other"])
        #expect(other.remove(foreign))
    }

    @Test("A token of a set of other parameters removes nothing")
    func foreignOfAnotherType() {
        let other = ObserverSet<String>()
        let token = other.add { _ in }

        #expect(!set.remove(token))
        #expect(token.isActive)
        #expect(token.remove())
    }

    @Test("A set that never had an observer removes nothing")
    func neverUsed() {
        let token = ObserverSet<Int>().add { _ in }

        #expect(!set.remove(token))
        #expect(!set.remove(token))
        expect(set.removeAll(ownedBy: Tracked()), equals: 0)
        expect(set.removeAll(ownedBy: set), equals: 0)
        set.removeAll()
        #expect(set.isEmpty)
    }

    /// Scenario 23: a stale token.
    ///
    /// Source: ReactiveCocoa#2199, realm-object-store#580, KeyPath#141, Repeat#13, AXorcist#47; Foundation's
    /// NotificationCenter, which reused its keys, so that a second removal removed a newer observer.
    @Test("A stale token does not remove the observer that came after it", arguments: ObserverKind.lasting)
    func stale(_ kind: ObserverKind) async {
        let log = Log<Int>()
        for round in 0..<100 {
            let old = kind.add(to: set) { _ in }
            let stale = old.token
            #expect(stale.remove())
            let registration = kind.add(to: set) { _ in log.append(round) }
            let token = registration.token

            #expect(!stale.remove())
            #expect(!set.remove(stale))

            #expect(token.isActive)
            #expect(token != stale)
            set.notify(round)
            await set.settled()
            #expect(token.remove())
            old.end()
            registration.end()
        }

        expect(log.entries, equals: Array(0..<100))
    }

    @Test("Stale tokens stay stale through growth, compaction and emptying")
    func staleForEver() {
        var stale: [ObserverToken] = []
        for round in 0..<20 {
            let tokens = (0..<100).map { _ in set.add { _ in } }
            if round.isMultiple(of: 3) { set.removeAll() } else { for token in tokens { #expect(token.remove()) } }
            stale += tokens
        }
        set.removeAll()
        set.removeAll()
        let calls = Counter()
        let living = (0..<100).map { _ in set.add { _ in calls.increment() } }

        for token in stale { #expect(!token.isActive && !token.remove()) }
        set.notify(1)

        expect(calls.value, equals: 100)
        expect(set.count, equals: 100)
        #expect(living.allSatisfy { $0.isActive })
        expect(Set(stale + living).count, equals: stale.count + living.count)
    }

    /// Scenario 40: one owner is registered twice.
    ///
    /// Source: boost signals2 (disconnect_equal), Qt (uniqConnection). Each `add` makes a separate registration.
    @Test("A token removes only its own registration among several of one owner, even of the same method")
    func sameOwnerTwice() {
        let log = Log<String>()
        let owner = PlainListener<Int> { log.append("method \($0)") }
        let closures = ["first", "second"].map { name in set.add(owner) { _, value in log.append("\(name) \(value)") } }
        let methods = (0..<2).map { _ in set.add(method: PlainListener.hear, of: owner) }
        expect(Set(closures + methods).count, equals: 4)
        expect(set.count, equals: 4)

        set.notify(1)
        #expect(closures[0].remove())
        #expect(methods[0].remove())
        set.notify(2)
        expect(log.entries, equals: ["first 1", "second 1", "method 1", "method 1", "second 2", "method 2"])
        expect((closures + methods).map(\.isActive), equals: [false, true, false, true])

        #expect(closures[1].remove())
        #expect(methods[1].remove())
        set.notify(3)
        expect(log.count, equals: 6)
        #expect(set.isEmpty)
    }

    @Test("A one-time observer that removes itself in its call is already removed")
    func onceRemovesItself() {
        let token = Shared<ObserverToken?>(nil)
        let results = Log<Bool?>()
        token.value = set.once.add { [set] _ in
            results.append(token.value?.isActive)
            results.append(token.value?.remove())
            results.append(set.isEmpty && set.count == 0)
        }

        set.notify(1)

        expect(results.entries, equals: [false, false, true])
        token.value = nil
    }

    @Test("Removing an owner's observers again, or those of an object that owns none, removes nothing")
    func ownerAgain() {
        let owner = Tracked()
        let log = Log<Int>()
        let tokens = (0..<1_000).map { index in set.add(owner) { _, _ in log.append(index) } }
        let other = set.add { log.append($0) }

        set.notify(-1)
        expect(log.entries, equals: Array(0..<1_000) + [-1])
        expect(set.removeAll(ownedBy: Tracked()), equals: 0)
        expect(set.removeAll(ownedBy: set), equals: 0)
        expect(set.removeAll(ownedBy: owner), equals: 1_000)
        expect(set.removeAll(ownedBy: owner), equals: 0)

        #expect(tokens.allSatisfy { !$0.remove() })
        #expect(other.isActive)
        expect(set.count, equals: 1)
    }

    @Test("A combined token removes all of its remaining registrations, once", arguments: [false, true])
    func combined(isOneGone: Bool) {
        let other = ObserverSet<String>()
        let parts = [set.add { _ in }, other.add { _ in }, set.add { _ in }]
        let token = ObserverToken(parts)

        if isOneGone { parts[0].remove() }
        #expect(token.isActive)
        #expect(token.remove())

        #expect(!token.remove())
        #expect(!token.isActive)
        #expect(parts.allSatisfy { !$0.isActive })
        #expect(set.isEmpty && other.isEmpty)
    }

    @Test("Of many threads that remove a combined token, exactly one gets true", arguments: [2, 16])
    func combinedByThreads(_ count: Int) async {
        let other = ObserverSet<Int>()
        let tokens = (0..<10_000 / count).map { _ in ObserverToken([set.add { _ in }, other.add { _ in }]) }
        let successes = tokens.map { _ in Counter() }
        let gate = Gate(count)

        await onThreads(count) { _ in
            for (token, success) in zip(tokens, successes) {
                gate.pass()
                if token.remove() { success.increment() }
            }
        }

        #expect(successes.allSatisfy { $0.value == 1 })
        #expect(set.isEmpty && other.isEmpty)
    }
}
