import ObserverSet
import Testing

/// Promise 9: exactly one caller removes; foreign, stale and repeated tokens get `false` and harm nothing.
@Suite("Promise 9: removal is idempotent", .lifetimesChecked, .againstHanging)
struct Promise09IdempotentRemovalTests {
    private let set = ObserverSet<Int>()

    @Test("The first removal returns true, every later one false", arguments: ObserverKind.allCases)
    func repeated(_ kind: ObserverKind) {
        let registration = kind.add(to: set) { _ in }
        let token = registration.token
        #expect(token.isActive)

        #expect(token.remove())

        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(!set.remove(token))
        #expect(set.isEmpty)
        registration.end()
    }

    @Test("Both ways to remove are one")
    func bothWays() {
        let first = set.add { _ in }
        let second = set.add { _ in }

        #expect(set.remove(first))
        #expect(!first.remove())
        #expect(second.remove())
        #expect(!set.remove(second))
    }

    @Test("A copy of a token is the same token")
    func copies() {
        let token = set.add { _ in }
        let copy = token

        #expect(copy == token)
        #expect(copy.hashValue == token.hashValue)
        #expect(copy.remove())
        #expect(!token.remove())
    }

    @Test("Of sixteen threads that remove one observer, exactly one gets true", arguments: ObserverKind.allCases)
    func sixteenThreads(_ kind: ObserverKind) async {
        let registrations = (0..<100).map { _ in kind.add(to: set) { _ in } }
        let successes = registrations.map { _ in Counter() }

        await onThreads(16) { [set] thread in
            for (registration, success) in zip(registrations, successes) {
                let token = registration.token
                if thread.isMultiple(of: 2) ? token.remove() : set.remove(token) { success.increment() }
            }
        }

        #expect(successes.allSatisfy { $0.value == 1 })
        #expect(set.isEmpty)
        registrations.forEach { $0.end() }
    }

    @Test("A removal and the emptying of the set, at once, remove once")
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

        #expect(released.value == 500)
        #expect(rounds.allSatisfy { $0.isEmpty })
        #expect(tokens.allSatisfy { !$0.remove() })
    }

    @Test("A foreign token removes nothing")
    func foreign() {
        let calls = Counter()
        let other = ObserverSet<Int>()
        set.add { _ in calls.increment() }
        let token = other.add { _ in calls.increment() }

        #expect(!set.remove(token))

        #expect(token.isActive)
        #expect(set.count == 1)
        set.notify(1)
        other.notify(1)
        #expect(calls.value == 2)
        #expect(other.remove(token))
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
        #expect(set.removeAll(ownedBy: Tracked()) == 0)
        set.removeAll()
        #expect(set.isEmpty)
    }

    @Test("A stale token does not remove the observer that came after it")
    func stale() {
        let calls = Counter()
        let stale = set.add { _ in }
        #expect(stale.remove())
        let token = set.add { _ in calls.increment() }

        #expect(!stale.remove())
        #expect(!set.remove(stale))

        set.notify(1)
        #expect(calls.value == 1)
        #expect(token != stale)
        #expect(token.remove())
    }

    @Test("Stale tokens stay stale through growth, compaction and emptying")
    func staleForEver() {
        var stale: [ObserverToken] = []
        for round in 0..<20 {
            let tokens = (0..<100).map { _ in set.add { _ in } }
            if round.isMultiple(of: 3) { set.removeAll() } else { for token in tokens { #expect(token.remove()) } }
            stale += tokens
        }
        let living = (0..<100).map { _ in set.add { _ in } }

        for token in stale { #expect(!token.remove()) }

        #expect(set.count == 100)
        #expect(living.allSatisfy { $0.isActive })
        #expect(Set(stale + living).count == stale.count + living.count)
    }

    @Test("Of two registrations of one owner, a token removes its own")
    func sameOwnerTwice() {
        let owner = Tracked()
        let log = Log<String>()
        let first = set.add(owner) { _, _ in log.append("first") }
        let second = set.add(owner) { _, _ in log.append("second") }

        #expect(first != second)
        #expect(first.remove())

        set.notify(1)
        #expect(log.entries == ["second"])
        #expect(second.isActive)
    }

    @Test("Removing a one-time observer that has been called returns false")
    func onceCalled() {
        let token = set.addOnce { _ in }
        set.notify(1)

        #expect(!token.isActive)
        #expect(!token.remove())
    }

    @Test("A one-time observer that removes itself in its call finds it done")
    func onceRemovesItself() {
        let token = Shared<ObserverToken?>(nil)
        let results = Log<Bool?>()
        token.value = set.addOnce { [set] _ in
            results.append(token.value?.isActive)
            results.append(token.value?.remove())
            results.append(set.isEmpty)
        }

        set.notify(1)

        #expect(results.entries == [false, false, true])
        token.value = nil
    }

    @Test("Removing an owner's observers again removes nothing, and leaves the tokens of others alone")
    func ownerAgain() {
        let owner = Tracked()
        let token = set.add(owner) { _, _ in }
        let other = set.add { _ in }

        #expect(set.removeAll(ownedBy: owner) == 1)
        #expect(set.removeAll(ownedBy: owner) == 0)

        #expect(!token.remove())
        #expect(other.isActive)
        #expect(set.count == 1)
    }

    @Test("A token of several removes all of them, once")
    func combined() {
        let other = ObserverSet<String>()
        let parts = [set.add { _ in }, other.add { _ in }, set.add { _ in }]
        let token = ObserverToken(parts)

        parts[0].remove()
        #expect(token.isActive)
        #expect(token.remove())

        #expect(!token.remove())
        #expect(!token.isActive)
        #expect(set.isEmpty)
        #expect(other.isEmpty)
        #expect(!ObserverToken([]).remove())
    }

    @Test("Of sixteen threads that remove a token of several, at least one gets true, and none afterwards")
    func combinedBySixteenThreads() async {
        let token = ObserverToken((0..<10).map { _ in set.add { _ in } })
        let successes = Counter()

        await onThreads(16) { _ in
            if token.remove() { successes.increment() }
        }

        #expect((1...10).contains(successes.value))
        #expect(!token.remove())
        #expect(set.isEmpty)
    }
}
