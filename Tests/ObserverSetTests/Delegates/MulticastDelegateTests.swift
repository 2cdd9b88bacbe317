import ObserverSet
import Testing

/// What can be a delegate, for how long, and how a multicast describes its delegates.
@Suite("Multicast delegates", .lifetimesChecked, .againstHanging)
struct MulticastDelegateTests {
    private let multicast = Listeners()
}

extension MulticastDelegateTests {
    /// The multicast's delegates, by identity.
    private var listed: [ObjectIdentifier] { multicast.delegates.map { ObjectIdentifier($0) } }

    // MARK: What a delegate may be

    @Test("Delegates are called and listed in the order in which they were added, once however often each was added")
    func order() {
        let log = Log<Int>()
        let count = many(100_000)
        let recorders = (0..<count).map { index in ListeningRecorder { log.append(index * 10 + $0) } }
        let tokens = recorders.map { multicast.add($0) }
        expect(recorders.map { multicast.add($0) }, equals: tokens)

        multicast.notify { $0.hear(7) }

        expect(log.entries, equals: (0..<count).map { $0 * 10 + 7 })
        expect(listed, equals: recorders.map { ObjectIdentifier($0) })
        #expect(recorders.allSatisfy { multicast.remove($0) })
        expect(multicast.count, equals: 0)
    }

    @Test("An object may be a delegate as its class, a superclass, any protocol, a composition, an object or `Any`")
    func types() {
        let recorder = ListeningRecorder()
        /// Adds the delegate twice, and notifies.
        func use<Delegate>(_ delegate: Delegate, _ hear: (Delegate) -> Void) {
            let multicast = MulticastDelegate<Delegate>()
            for _ in 0..<2 { multicast.add(delegate) }
            multicast.notify(hear)
            let listed = multicast.delegates.compactMap { $0 as? ListeningRecorder }
            expect(listed.map { ObjectIdentifier($0) }, equals: [ObjectIdentifier(recorder)])
            expect(multicast.remove(delegate) && multicast.isEmpty)
        }

        use(recorder) { $0.hear(0) }
        use(recorder as ListeningBase) { $0.hear(1) }
        use(recorder as any Listening) { $0.hear(2) }
        use(recorder as any OpenListening) { $0.hear(3) }
        use(recorder as any Listening & OpenListening) { $0.hear(4) }
        use(recorder as any ListeningBase & Listening) { $0.hear(5) }
        use(recorder as any ListeningTo<Int>) { $0.hear(6) }
        use(recorder as AnyObject) { ($0 as? ListeningRecorder)?.hear(7) }
        use(recorder as Any) { ($0 as? ListeningRecorder)?.hear(8) }

        expect(recorder.heard, equals: Array(0...8))
        #expect(!MulticastDelegate<any OpenListening>().remove(ListeningValue()), "a value cannot be a delegate")
    }

    @Test("An error that is a class instance may be a delegate, though Swift keeps errors in a box")
    func boxedErrors() {
        final class Failure: Error {
            let tracked = Tracked(7)
        }
        let multicast = MulticastDelegate<any Error>()
        do {
            let failure = Failure()
            multicast.add(failure)
            multicast.add(failure as any Error)

            var values: [Int] = []
            multicast.notify { values.append(($0 as? Failure)?.tracked.value ?? 0) }
            expect(values, equals: [7])
        }

        expect(multicast.count, equals: 0)
    }

    @Test("Adding anything that is not a class instance traps, and says why")
    func valuesTrap() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any OpenListening>().add(ListeningValue())
        }
        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        expect(message.contains("A delegate must be a class instance") && message.contains("ListeningValue is none"))

        await #expect(processExitsWith: .failure) { MulticastDelegate<Any>().add("a string") }
        await #expect(processExitsWith: .failure) { MulticastDelegate<ListeningBase?>().add(ListeningBase()) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<Any>().add(ListeningBase.self) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<any Error>().add(Refusal(number: 1)) }
    }

    @Test("Two equal objects are two delegates")
    func equalDelegates() {
        final class Equal: Hashable {
            static func == (left: Equal, right: Equal) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
        let multicast = MulticastDelegate<Equal>()
        let (first, second) = (Equal(), Equal())

        expect(multicast.add(first) != multicast.add(second) && multicast.remove(first))
        expect(multicast.delegates.elementsEqual([second], by: { $0 === $1 }))
    }

    // MARK: Removal

    @Test("A delegate is removed once, by identity or by its token, and comes last when it is added again")
    func removed() {
        let ways: [(ListeningRecorder, ObserverToken) -> Bool] = [
            { delegate, _ in multicast.remove(delegate) }, { _, token in multicast.remove(token) },
            { _, token in token.remove() },
        ]
        for remove in ways {
            let log = Log<Int>()
            let first = ListeningRecorder { _ in log.append(1) }
            let second = ListeningRecorder { _ in log.append(2) }
            let token = multicast.add(first)
            multicast.add(second)

            #expect(remove(first, token))
            expect(ways.map { $0(first, token) }, equals: [false, false, false])
            let again = multicast.add(first)
            multicast.notify { $0.hear(0) }

            expect(log.entries, equals: [2, 1])
            expect(
                [token.isActive, token.remove(), token == again, again.isActive], equals: [false, false, false, true])
            for _ in 0..<2 { multicast.removeAll() }
            expect([again.isActive, again.remove(), multicast.remove(second)], equals: [false, false, false])
            expect(multicast.count, equals: 0)
        }
    }

    @Test(
        "A delegate may belong to several multicasts, each with its own token, which is inert after its multicast's death"
    )
    func severalMulticasts() {
        let recorder = ListeningRecorder()
        var other: Listeners? = Listeners()
        let token = multicast.add(recorder)
        let otherToken = other!.add(recorder)

        expect(token != otherToken && other?.remove(token) == false)
        expect(multicast.remove(recorder) && otherToken.isActive)
        other = nil

        expect(
            [otherToken.isActive, otherToken.remove(), multicast.remove(otherToken)], equals: [false, false, false])
    }

    // MARK: Death

    @Test("Delegates are held weakly: dead ones are not listed, counted or called")
    func weak() {
        var recorders = (0..<5).map { _ in ListeningRecorder() }
        let tokens = recorders.map { multicast.add($0) }

        recorders.remove(at: 3)
        recorders.remove(at: 1)

        expect(tokens.map(\.isActive), equals: [true, true, true, true, true], "nothing has noticed the deaths")
        expect([Lifetimes.current.count, multicast.count], equals: [3, 3])
        expect(listed, equals: recorders.map { ObjectIdentifier($0) })
        expect(tokens.map(\.isActive), equals: [true, false, true, false, true])
        var kept: [any Listening] = []
        multicast.notify { kept.append($0) }
        recorders = []
        expect([Lifetimes.current.count, multicast.count], equals: [3, 3], "what the caller stores is kept alive")
        kept = []
        expect([Lifetimes.current.count, multicast.count], equals: [0, 0])
        expect(tokens.map { $0.isActive || $0.remove() }, equals: [false, false, false, false, false])
    }

    @Test("A new delegate at a dead delegate's address is not mistaken for the dead one, whoever has noticed the death")
    func addressUsedAgain() {
        var reused = 0
        for round in 0..<2_000 {
            let address: ObjectIdentifier
            let token: ObserverToken
            do {
                let recorder = ListeningRecorder()
                address = ObjectIdentifier(recorder)
                token = multicast.add(recorder)
            }
            let recorder = ListeningRecorder()
            guard ObjectIdentifier(recorder) == address else { continue }
            reused += 1

            if round.isMultiple(of: 2) { #expect(!multicast.remove(recorder), "it was never added") }
            let newToken = multicast.add(recorder)
            multicast.notify { $0.hear(1) }
            expect(recorder.heard, equals: [1])
            expect(newToken != token && !token.remove() && multicast.add(recorder) == newToken)
            expect(multicast.remove(recorder) && multicast.isEmpty)
        }
        // A sanitizer holds freed memory back, so that addresses are not reused.
        expect(reused > 0 || AllocatedMemory.isSanitized, "no address was used again, so this shows nothing")
    }

    @Test("Neither removed nor short-lived delegates pile up, even if no address comes again", .measuringMemory)
    func memory() async {
        await #expect(processExitsWith: .success) {
            final class Small {
                var number = 0
            }
            let delegate = Small()
            func churn(_ count: Int) {
                let multicast = MulticastDelegate<Small>()
                for _ in 0..<count { multicast.add(delegate).remove() }
            }
            let growth = await AllocatedMemory.growth {
                churn(100)
            } _: {
                churn(10_000)
            }
            expect(growth < 64 << 10, "\(growth) bytes")

            // The multicast has had that many delegates before.
            for before in [0, 20_000] {
                let multicast = MulticastDelegate<Small>()
                do {
                    let large = (0..<before).map { _ in Small() }
                    for delegate in large { multicast.add(delegate) }
                    multicast.removeAll()
                }
                var blockers: [Small] = []
                func add(_ count: Int) {
                    for _ in 0..<count {
                        do { multicast.add(Small()) }
                        // Takes the dead delegate's address, and stays alive.
                        blockers.append(Small())
                    }
                }
                let count = many(200_000)
                let growth = await AllocatedMemory.growth {
                    add(1_000)
                } _: {
                    add(count)
                }
                // A blocker takes 40 bytes; the entry of a dead delegate would take five times as much.
                expect(growth < 100 * count + 1 << 19, "\(growth) bytes more")
            }
        }
    }

    @Test("A delegate may use the multicast in its `deinit`, and is not called any more", arguments: [true, false])
    func inDeinit(byToken: Bool) {
        let answers = Log<Bool>()
        let token = Shared<ObserverToken?>(nil)
        let other = ListeningRecorder()
        multicast.add(other)
        do {
            let recorder = ListeningRecorder(atEnd: { [multicast] recorder in
                if byToken { token.value?.remove() }
                answers.append(multicast.remove(recorder))
                answers.append(multicast.add(recorder).remove())
                multicast.add(recorder)
                multicast.notify { $0.hear(2) }
                answers.append(multicast.count == 1 && multicast.delegates.count == 1)
                expect(recorder.heard, equals: [1])
            })
            token.value = multicast.add(recorder)
            multicast.notify { $0.hear(1) }
        }
        multicast.notify { $0.hear(3) }

        expect(answers.entries, equals: [false, true, true])
        expect(other.heard, equals: [1, 2, 3])
        expect(multicast.count == 1 && token.value?.isActive == false)
    }

    // MARK: Descriptions

    @Test(
        "A description counts the living delegates; a debug description shows the class of each, and where it was added"
    )
    func descriptions() {
        let multicast = MulticastDelegate<ListeningBase>()
        let name = "MulticastDelegate<ListeningBase>"
        let file = "ObserverSetTests/MulticastDelegateTests.swift"
        let other = ListeningBase()
        let recorders = (0..<3).map { _ in ListeningRecorder() }
        let line = #line + 1
        let token = multicast.add(other)
        expect("\(multicast)", equals: "\(name)(1 delegate)")
        for recorder in recorders { multicast.add(recorder) }
        multicast.add(other)
        do { multicast.add(ListeningRecorder()) }

        expect(multicast.description, equals: "\(name)(4 delegates)")
        expect(
            multicast.debugDescription,
            equals: """
                \(name)(4 delegates)
                  ListeningBase, registered at \(file):\(line)
                  ListeningRecorder, registered at \(file):\(line + 2) × 3
                """)
        #expect(token.description.hasSuffix(", delegate, registered at \(file):\(line))"))
        multicast.remove(other)
        #expect(token.description.hasSuffix("inactive)"))
        withExtendedLifetime(recorders) {}
    }

    @Test("A multicast that never had a delegate may be notified, emptied, counted and described")
    func neverUsed() {
        multicast.notify { $0.hear(1) }
        multicast.removeAll()

        expect(multicast.isEmpty && multicast.delegates.isEmpty && !multicast.remove(ListeningRecorder()))
        let expected = "MulticastDelegate<\((any Listening).self)>(0 delegates)"
        expect([multicast.description, multicast.debugDescription], equals: [expected, expected])
    }
}
