import ObserverSet
import Testing

/// Guarantee 9: if several callers remove a registration, exactly one of them gets `true`.
///
/// A token of another set, or of a registration that has ended, gets `false` and changes nothing.
@Suite("Guarantee 9: removal is idempotent", .lifetimesChecked, .againstHanging)
struct Guarantee09IdempotentRemovalTests {
    private let set = ObserverSet<Int>()
}

extension Guarantee09IdempotentRemovalTests {
    @Test(
        "The first removal, in any way, returns true, every later one false, and no other observer is affected",
        arguments: WayOfRemoving.ofEach(ObserverKind.allCases))
    func repeated(_ kind: ObserverKind, _ removal: WayOfRemoving) {
        let calls = Counter()
        let registration = kind.add(to: set) { _ in }
        let token = registration.token

        #expect(removal.perform(on: set, registration))

        #expect(set.isEmpty)
        _ = set.add { _ in calls.increment() }
        for _ in 0..<10 { expect(!token.isActive && !token.remove() && !set.remove(token)) }
        set.notify(1)
        expect(calls.value, equals: 1)
        expect(set.count, equals: 1)
        registration.end()
    }

    /// Scenario 22: many threads remove the same observer.
    @Test(
        "Of sixteen threads that remove an observer, or a combination, one gets true",
        arguments: ObserverKind.allCases)
    func sixteenThreads(_ kind: ObserverKind) async {
        let captures = Lifetimes()
        let other = ObserverSet<Int>()
        let registrations = (0..<20).map { _ in
            kind.add(to: set) { [capture = Tracked(in: captures)] _ in _ = capture }
        }
        let tokens = registrations.map(\.token).enumerated().map { index, token in
            index.isMultiple(of: 2) ? token : ObserverToken([token, other.add { _ in }])
        }
        let successes = tokens.map { _ in Counter() }
        let gate = Gate(16)

        await onThreads(16) { [set] thread in
            for (index, token) in tokens.enumerated() {
                gate.pass()
                let isBySet = index % 4 == 0 && thread.isMultiple(of: 2)
                if isBySet ? set.remove(token) : token.remove() { successes[index].increment() }
            }
        }

        expect(successes.allSatisfy { $0.value == 1 })
        expect(set.isEmpty && other.isEmpty)
        expect(captures.count == 0 || !ObserverKind.held.contains(kind))
        registrations.forEach { $0.end() }
    }

    /// Scenario 23: a token of another set.
    ///
    /// Source: ReactiveCocoa#2199, realm-object-store#580, KeyPath#141, Repeat#13, AXorcist#47.
    @Test("A token of another set removes nothing, even if it belongs to the same slot there")
    func foreign() {
        let (other, strings) = (ObserverSet<Int>(), ObserverSet<String>())
        let log = Log<String>()
        let token = set.add { _ in log.append("set") }
        let foreign = other.add { _ in log.append("other") }
        let ofStrings = strings.add { _ in log.append("strings") }

        expect(!set.remove(foreign) && !set.remove(ofStrings))
        expect(!other.remove(token) && !strings.remove(token))

        set.notify(1)
        other.notify(1)
        strings.notify("")
        expect(log.entries, equals: ["set", "other", "strings"])
        expect(token.remove() && other.remove(foreign) && strings.remove(ofStrings))
    }

    @Test("A set that was never observed may be notified, emptied and counted, and removes nothing")
    func neverUsed() {
        let token = ObserverSet<Int>().add { _ in }

        set.notify(1)
        set.removeAll()

        expect(set.isEmpty && !set.remove(token))
        expect(set.count, equals: 0)
        expect(set.removeAll(ownedBy: set), equals: 0)
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

            expect(!stale.remove() && !set.remove(stale))

            set.notify(round)
            await set.settled()
            #expect(registration.token.remove())
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

        for token in stale { expect(!token.isActive && !token.remove()) }
        set.notify(1)

        expect(calls.value, equals: 100)
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

        expect(token.isActive && token.remove())

        expect(!token.isActive && !token.remove())
        expect(set.isEmpty && other.isEmpty)
    }
}
