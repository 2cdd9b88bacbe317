@testable import ObserverSet
import Testing

/// A token identifies a registration, and keeps nothing alive.
///
/// What its removal does is a guarantee (`Contract`); here is what it is, and what a combination of several is.
@Suite("Tokens", .lifetimesChecked, .againstHanging)
struct ObserverTokenTests {
    private let set = ObserverSet<Int>()
}

extension ObserverTokenTests {
    // MARK: Identity

    @Test("Tokens of several sets, made by many threads at once, are all different")
    func uniqueness() async {
        let sets = (0..<10).map { _ in ObserverSet<Int>() }
        let tokens = Log<ObserverToken>()

        await onThreads(8) { _ in
            for number in 0..<500 {
                let token = sets[number % 10].add { _ in }
                tokens.append(token)
                if number.isMultiple(of: 3) { token.remove() }
            }
        }

        expect(Set(tokens.entries).count, equals: 4_000)
        let active = tokens.entries.count { $0.isActive }
        expect(sets.map(\.count).reduce(0, +), equals: active)
    }

    /// Scenario 58: tokens are compared and hashed, without user code.
    @Test("A token may be in a `Set` and a dictionary key, and an equal copy removes it")
    func inCollections() {
        let token = set.add { _ in }
        let other = set.add { _ in }
        var tokens: Set = [token, other, token]
        let names = [token: "token", other: "other"]
        // Another set's, with the same number.
        let foreign = ObserverSet<Int>().add { _ in }

        expect(token.id, equals: foreign.id)
        expect(tokens.count, equals: 2)
        expect([names[token], names[foreign]], equals: ["token", nil])
        expect(tokens.remove(foreign), equals: nil)
        expect(tokens.remove(token), equals: token)
        expect(tokens, equals: [other])
    }

    @Test("A token's description shows its id and its registration, and whether that has ended")
    func description() {
        let owner = Tracked()
        let line = #line + 1
        let token = set.add(owner) { _, _ in }
        let name = "ObserverToken(#\(token.id), "
        let place = "Tracked, nonisolated, registered at ObserverSetTests/ObserverTokenTests.swift:\(line)"

        expect(token.description, equals: "\(name)\(place))")
        #expect(set.add { _ in }.description != set.add { _ in }.description)
        token.remove()
        expect(token.description, equals: "\(name)inactive)")
    }

    @Test("What marks a slot's entry is no number that a function can have, on WebAssembly neither")
    func tags() {
        #expect(Registration.leastTag > UInt.max / 2 && Registration.functionKind != Registration.furtherKind)
    }

    // MARK: Several in one

    @Test("A combined token has its own identity, describes its parts, and is active while any of them is")
    func combined() async {
        let parts = [set.add { _ in }, set.add(self.set) { _, _ in }]
        let token = ObserverToken(parts)
        #expect(!parts.contains(token) && token != ObserverToken(parts))
        #expect(token.description.contains("closure") && token.description.contains("ObserverSet<Int>"))

        parts[0].remove()
        #expect(token.isActive)
        parts[1].remove()
        // Like one of no registrations.
        for ended in [token, ObserverToken([])] {
            #expect(!ended.isActive && !ended.remove() && ended.description.hasSuffix(", inactive)"))
            expect(await ended.removeAndWait(), equals: false)
        }
        #expect(ObserverToken([]) != ObserverToken([]))
    }

    @Test("Combined tokens may be nested, and contain a registration twice; each ends what is left, once")
    func combinedNested() {
        let calls = Counter()
        let parts = (0..<5).map { number in
            number == 0 ? set.once.add { _ in _ = calls.increment() } : set.add { _ in _ = calls.increment() }
        }
        let inner = ObserverToken(Array(parts[..<2]))
        let outer = ObserverToken([inner, parts[2], ObserverToken([parts[3]]), parts[3]])

        #expect(inner.remove() && outer.isActive)
        #expect(outer.remove() && !outer.isActive)
        #expect(!inner.remove() && !outer.remove())
        set.notify(1)

        expect(calls.value, equals: 1)
        expect(parts.map(\.isActive), equals: [false, false, false, false, true])
    }

    @Test("However often tokens are combined one by one, the combination is as deep as one of them all")
    func combinedOneByOne() {
        let parts = (0..<2_000).map { _ in set.add { _ in } }
        var token = ObserverToken([])
        for part in parts { token = ObserverToken([token, part]) }

        expect(token.issuer.parts, equals: parts)
        #expect(token.remove())
        #expect(set.isEmpty)
    }
}
