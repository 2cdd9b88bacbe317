@testable import ObserverSet
import Synchronization
import Testing

/// A token identifies a registration, and keeps nothing alive.
@Suite("Tokens", .lifetimesChecked, .againstHanging)
struct ObserverTokenTests {
    private let set = ObserverSet<Int>()

    // MARK: Identity

    @Test("Tokens of ten thousand registrations, of several sets, are all different")
    func uniqueness() {
        let sets = (0..<10).map { _ in ObserverSet<Int>() }
        var tokens: Set<ObserverToken> = []

        for _ in 0..<1_000 {
            for set in sets {
                let token = set.add { _ in }
                tokens.insert(token)
                token.remove()
            }
        }

        expect(tokens.count, equals: 10_000)
    }

    @Test("Tokens made by many threads at once are all different")
    func uniquenessAcrossThreads() async {
        let tokens = Log<ObserverToken>()

        await onThreads(8) { _ in
            for _ in 0..<500 { tokens.append(set.add { _ in }) }
        }

        expect(Set(tokens.entries).count, equals: 4_000)
        expect(set.count, equals: 4_000)
    }

    /// Scenario 58: tokens are compared and hashed, without user code.
    @Test("A token may be in a `Set` and a dictionary key, and an equal copy removes it")
    func inCollections() {
        let token = set.add { _ in }
        let other = set.add { _ in }
        var tokens: Set = [token, other, token]
        let names = [token: "token", other: "other"]

        expect(tokens.count, equals: 2)
        expect(names[token], equals: "token")
        expect(tokens.remove(token), equals: token)
        expect(tokens, equals: [other])
    }

    // MARK: Activity

    @Test(
        "A token removes its observer and no other, wherever the observer is in the set",
        arguments: [1, 2, 31, 32, 33, 1_000])
    func removesItsOwn(count: Int) {
        var random = SeededGenerator(seed: UInt64(count))
        let log = Log<Int>()
        var tokens = (0..<count).map { index in (index: index, token: set.add { _ in log.append(index) }) }

        while !tokens.isEmpty {
            let gone = tokens.remove(at: Int.random(in: tokens.indices, using: &random))
            #expect(gone.token.remove())
            guard tokens.count % 50 == 0 || count < 50 else { continue }
            log.removeAll()
            set.notify(0)
            expect(log.entries, equals: tokens.map(\.index))
            #expect(tokens.allSatisfy { $0.token.isActive })
        }

        #expect(set.isEmpty)
    }

    // MARK: Descriptions

    @Test("A token's description shows its id and its registration")
    func description() {
        let owner = Tracked()
        let line = #line + 1
        let token = set.add(owner) { _, _ in }

        #expect(token.description.hasPrefix("ObserverToken(#"))
        #expect(token.description.contains("Tracked"))
        #expect(token.description.contains("ObserverSetTests/ObserverTokenTests.swift:\(line)"))
        #expect(!token.description.contains("inactive"))
    }

    @Test("An inactive token's description says that it is inactive, and still shows its id")
    func descriptionWhenInactive() {
        let token = set.add { _ in }
        let name = token.description.prefix { $0 != "," }

        token.remove()

        expect(token.description, equals: "\(name), inactive)")
    }

    @Test("The descriptions of two tokens differ")
    func descriptionsDiffer() {
        let tokens = (0..<2).map { _ in set.add { _ in } }

        #expect(tokens[0].description != tokens[1].description)
    }

    // MARK: Keeping nothing alive

    @Test("A closure may hold its own token, and is still released with its set")
    func closureHoldsItsToken() {
        do {
            let set = ObserverSet<Int>()
            let token = Shared<ObserverToken?>(nil)
            token.value = set.add { [capture = Tracked()] _ in _ = (capture, token.value?.isActive) }
            set.notify(1)
            expect(Lifetimes.current.count, equals: 1)
        }

        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("A token may be used on a thread other than the one that made it")
    func acrossThreads() async {
        let token = await onThread { set.add { _ in } }

        let wasActive = await Task.detached { token.isActive }.value
        let wasRemoved = await onThread { token.remove() }

        #expect(wasActive)
        #expect(wasRemoved)
        #expect(!token.isActive)
        #expect(set.isEmpty)
    }

    // MARK: Several in one

    @Test("A combined token is active while any of its registrations is active")
    func combinedIsActive() {
        let parts = [set.add { _ in }, set.add { _ in }]
        let token = ObserverToken(parts)
        #expect(token.isActive)

        parts[0].remove()
        #expect(token.isActive)

        parts[1].remove()
        #expect(!token.isActive)
        #expect(!token.remove())
    }

    @Test("A combined token of no registrations is inactive")
    func combinedOfNone() {
        let token = ObserverToken([])

        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(token.description.hasSuffix(", inactive)"))
        #expect(token != ObserverToken([]))
    }

    @Test("A combined token has its own identity, and describes its parts")
    func combinedIdentity() {
        let parts = [set.add { _ in }, set.add(self.set) { _, _ in }]
        let token = ObserverToken(parts)

        #expect(!parts.contains(token))
        #expect(token != ObserverToken(parts))
        #expect(token.description.contains("closure"))
        #expect(token.description.contains("ObserverSet<Int>"))
    }

    @Test("Tokens with the same number that two sets have issued are not equal, and remove nothing in the other set")
    func sameNumberOfAnotherIssuer() {
        let (set, other) = (ObserverSet<Int>(), ObserverSet<Int>())
        let (token, foreign) = (set.add { _ in }, other.add { _ in })

        let names = [token, foreign].map { $0.description.prefix { $0 != "," } }
        expect(names[0], equals: names[1])
        #expect(token != foreign)
        expect(Set([token, foreign]).count, equals: 2)
        #expect(!set.remove(foreign))
        #expect(token.isActive && foreign.isActive)
        #expect(foreign.remove())
        #expect(token.isActive && other.isEmpty)
    }

    @Test("What marks a slot's entry is no number that a function can have, on WebAssembly neither")
    func tags() {
        for tag in [Registration.leastTag] { #expect(tag > UInt.max / 2) }
        #expect(Registration.functionKind != Registration.furtherKind)
    }

    @Test("Combined tokens may be nested")
    func combinedNested() {
        let parts = (0..<4).map { _ in set.add { _ in } }
        let token = ObserverToken([ObserverToken(Array(parts[..<2])), parts[2], ObserverToken([parts[3]])])
        #expect(token.isActive)

        #expect(token.remove())

        #expect(set.isEmpty)
        #expect(!token.isActive)
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

    @Test("A combined token in another one ends nothing more once the other one has been removed, and the reverse")
    func combinedInAnother() {
        let tokens = (0..<3).map { _ in set.add { _ in } }
        let inner = ObserverToken(Array(tokens[..<2]))
        let outer = ObserverToken([inner, tokens[2]])

        #expect(inner.remove())
        #expect(outer.isActive)
        #expect(outer.remove())
        #expect(!inner.remove())
        #expect(!outer.remove())
        #expect(set.isEmpty)
    }

    @Test("A combined token of observers that are called once ends them before they are called")
    func combinedOnce() {
        let calls = Counter()
        let token = ObserverToken((0..<3).map { _ in set.once.add { _ in calls.increment() } })

        #expect(token.remove())
        set.notify(1)

        expect(calls.value, equals: 0)
        #expect(!token.remove())
    }

    @Test("A combined token that contains one registration twice removes it once")
    func combinedTwice() {
        let part = set.add { _ in }
        let token = ObserverToken([part, part])

        #expect(token.remove())
        #expect(!token.remove())
        #expect(!part.isActive)
    }
}
