import ObserverSet
import Testing

/// What can be a delegate, for how long, and how a multicast describes its delegates.
@Suite("Multicast delegates", .lifetimesChecked, .againstHanging)
struct MulticastDelegateTests {
    private let multicast = Listeners()
    private let file = "ObserverSetTests/MulticastDelegateTests.swift"

    // MARK: What a delegate may be

    @Test("Delegates of a class-bound protocol are called in the order in which they were added")
    func order() {
        let log = Log<Int>()
        let delegates = (0..<100).map { index in ListeningRecorder { log.append(index * 10 + $0) } }
        for delegate in delegates { multicast.add(delegate) }

        multicast.notify { $0.hear(7) }

        expect(log.entries, equals: (0..<100).map { $0 * 10 + 7 })
        expect(multicast.count, equals: 100)
        #expect(multicast.delegates.elementsEqual(delegates, by: { $0 === $1 }))
    }

    @Test("Instances of a class and of its subclasses may be delegates")
    func classes() {
        let multicast = MulticastDelegate<ListeningBase>()
        let concrete = MulticastDelegate<ListeningRecorder>()
        let recorder = ListeningRecorder()
        let base = ListeningBase()
        multicast.add(recorder)
        multicast.add(base)
        concrete.add(recorder)

        multicast.notify { $0.hear(1) }
        concrete.notify { $0.hear(2) }

        expect(recorder.heard, equals: [1, 2])
        #expect(multicast.delegates.elementsEqual([recorder, base], by: { $0 === $1 }))
        #expect(multicast.remove(recorder) && multicast.remove(base))
    }

    @Test("A protocol that is not class-bound accepts class instances that conform to it")
    func opaqueExistentials() {
        let multicast = MulticastDelegate<any OpenListening>()
        let recorder = ListeningRecorder()
        multicast.add(recorder)
        multicast.add(recorder)

        multicast.notify { $0.hear(1) }

        expect(recorder.heard, equals: [1])
        expect(multicast.count, equals: 1)
        #expect(multicast.delegates.first as? ListeningRecorder === recorder)
        #expect(!multicast.remove(ListeningValue()), "a value cannot be a delegate")
        #expect(multicast.remove(recorder))
    }

    @Test("Compositions, parameterised protocols, `AnyObject` and `Any` may be the type of delegates")
    func otherTypes() {
        let recorder = ListeningRecorder()
        let both = MulticastDelegate<any Listening & OpenListening>()
        let classAndProtocol = MulticastDelegate<any ListeningBase & Listening>()
        let parameterised = MulticastDelegate<any ListeningTo<Int>>()
        let objects = MulticastDelegate<AnyObject>()
        let anything = MulticastDelegate<Any>()
        both.add(recorder)
        classAndProtocol.add(recorder)
        parameterised.add(recorder)
        objects.add(recorder)
        anything.add(recorder)

        both.notify { $0.hear(1) }
        classAndProtocol.notify { $0.hear(2) }
        parameterised.notify { $0.hear(3) }
        objects.notify { ($0 as? ListeningRecorder)?.hear(4) }
        anything.notify { ($0 as? ListeningRecorder)?.hear(5) }

        expect(recorder.heard, equals: [1, 2, 3, 4, 5])
        let copies: [[Any]] = [
            both.delegates, classAndProtocol.delegates, parameterised.delegates, objects.delegates, anything.delegates,
        ]
        #expect(copies.count == 5 && copies.allSatisfy { $0.count == 1 && $0[0] as AnyObject === recorder })
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

        #expect(multicast.isEmpty)
    }

    @Test("Generic code that knows the type of delegates only as a parameter may use a multicast")
    func genericClient() {
        func told<Delegate>(_ delegates: [Delegate], _ body: (Delegate) -> Void) -> [Delegate] {
            let multicast = MulticastDelegate<Delegate>()
            for delegate in delegates { multicast.add(delegate) }
            multicast.notify(body)
            return multicast.delegates
        }
        let recorder = ListeningRecorder()

        let listeners = told([recorder, recorder] as [any Listening]) { $0.hear(1) }
        let anyListeners = told([recorder] as [any OpenListening]) { $0.hear(2) }
        let recorders = told([recorder]) { $0.hear(3) }

        expect(recorder.heard, equals: [1, 2, 3])
        #expect(listeners.count == 1 && anyListeners.count == 1 && recorders.count == 1)
    }

    @Test("A delegate that the caller stores during a notification is kept alive until the caller releases it")
    func keptFromANotification() {
        var kept: [any Listening] = []
        weak var recorder: ListeningRecorder?
        do {
            let delegate = ListeningRecorder()
            recorder = delegate
            multicast.add(delegate)
        }
        #expect(recorder == nil)
        do {
            let delegate = ListeningRecorder()
            recorder = delegate
            multicast.add(delegate)
            multicast.notify { kept.append($0) }
        }

        #expect(recorder != nil)
        kept.first?.hear(1)
        expect(recorder?.heard, equals: [1])
        kept = []
        #expect(recorder == nil)
    }

    // MARK: What cannot be a delegate

    @Test("Adding a value traps, and says why")
    func valueTraps() async throws {
        let result = try await #require(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            MulticastDelegate<any OpenListening>().add(ListeningValue())
        }

        let message = String(decoding: result.standardErrorContent, as: UTF8.self)
        #expect(message.contains("A delegate must be a class instance"))
        #expect(message.contains("ListeningValue is none"))
    }

    @Test("Adding anything else that is not a class instance traps")
    func otherValuesTrap() async {
        await #expect(processExitsWith: .failure) { MulticastDelegate<Int>().add(1) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<Any>().add("a string") }
        await #expect(processExitsWith: .failure) { MulticastDelegate<ListeningBase?>().add(nil) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<ListeningBase?>().add(ListeningBase()) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<Any>().add(ListeningBase.self) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<any Error>().add(Refusal(number: 1)) }
        await #expect(processExitsWith: .failure) { MulticastDelegate<() -> Void>().add({}) }
    }

    // MARK: Once

    @Test("A delegate that is added again is held once, in its old position, with the same token")
    func once() {
        let log = Log<Int>()
        let first = ListeningRecorder { _ in log.append(1) }
        let second = ListeningRecorder { _ in log.append(2) }

        let token = multicast.add(first)
        multicast.add(second)
        for _ in 0..<100 { expect(multicast.add(first), equals: token) }
        multicast.notify { $0.hear(0) }

        expect(log.entries, equals: [1, 2])
        expect(multicast.count, equals: 2)
        #expect(token.remove())
        expect(multicast.count, equals: 1)
    }

    @Test("Two equal objects are two delegates")
    func equalDelegates() {
        final class Equal: Hashable {
            static func == (left: Equal, right: Equal) -> Bool { true }
            func hash(into hasher: inout Hasher) {}
        }
        let multicast = MulticastDelegate<Equal>()
        let (first, second) = (Equal(), Equal())

        #expect(multicast.add(first) != multicast.add(second))
        expect(multicast.count, equals: 2)
        #expect(multicast.remove(first))
        #expect(multicast.delegates.elementsEqual([second], by: { $0 === $1 }))
    }

    @Test("A delegate that was removed may be added again, at the end", arguments: [true, false])
    func addedAgain(byToken: Bool) {
        let log = Log<Int>()
        let first = ListeningRecorder { _ in log.append(1) }
        let second = ListeningRecorder { _ in log.append(2) }
        let token = multicast.add(first)
        multicast.add(second)

        #expect(byToken ? token.remove() : multicast.remove(first))
        let again = multicast.add(first)
        multicast.notify { $0.hear(0) }

        #expect(again != token)
        expect(log.entries, equals: [2, 1])
        #expect(!token.remove() && again.isActive)
    }

    @Test("A delegate may belong to several multicasts, each with its own token")
    func severalMulticasts() {
        let other = Listeners()
        let recorder = ListeningRecorder()
        let token = multicast.add(recorder)
        let otherToken = other.add(recorder)

        #expect(token != otherToken)
        #expect(!other.remove(token))
        #expect(multicast.remove(recorder))

        #expect(other.count == 1 && otherToken.isActive)
    }

    // MARK: Removal

    @Test("A delegate is removed by identity, once")
    func removedByIdentity() {
        let (first, second) = (ListeningRecorder(), ListeningRecorder())
        let token = multicast.add(first)
        multicast.add(second)

        #expect(multicast.remove(first))
        #expect(!multicast.remove(first))
        #expect(!multicast.remove(ListeningRecorder()), "it was never added")
        #expect(!token.isActive && !token.remove() && !multicast.remove(token))
        multicast.notify { $0.hear(1) }

        #expect(first.heard == [] && second.heard == [1])
    }

    @Test("A delegate is removed by its token, once")
    func removedByToken() {
        let (first, second, third) = (ListeningRecorder(), ListeningRecorder(), ListeningRecorder())
        let tokens = [first, second, third].map { multicast.add($0) }

        #expect(tokens[0].remove())
        #expect(multicast.remove(tokens[1]))
        #expect(!tokens[0].remove() && !multicast.remove(tokens[1]))
        #expect(!multicast.remove(first) && !multicast.remove(second))
        multicast.notify { $0.hear(1) }

        #expect(first.heard == [] && second.heard == [] && third.heard == [1])
        expect(tokens.map(\.isActive), equals: [false, false, true])
    }

    @Test("All delegates are removed at once, and the multicast may be used again")
    func removeAll() {
        let recorders = (0..<100).map { _ in ListeningRecorder() }
        defer { withExtendedLifetime(recorders) {} }
        let tokens = recorders.map { multicast.add($0) }

        multicast.removeAll()
        multicast.removeAll()
        #expect(multicast.isEmpty && tokens.allSatisfy { !$0.isActive && !$0.remove() })
        multicast.add(recorders[1])
        multicast.notify { $0.hear(1) }

        #expect(recorders[0].heard == [] && recorders[1].heard == [1])
        expect(multicast.count, equals: 1)
    }

    @Test("A token is inert after its multicast has died")
    func tokenAfterItsMulticast() {
        let recorder = ListeningRecorder()
        var short: Listeners? = Listeners()
        let token = short!.add(recorder)
        #expect(token.isActive)

        short = nil

        #expect(short == nil)
        #expect(!token.isActive && !token.remove())
        #expect(!multicast.remove(token))
    }

    // MARK: Death

    @Test("Delegates are held weakly: dead ones are not listed, counted or called")
    func weak() {
        var recorders = (0..<5).map { _ in ListeningRecorder() }
        let tokens = recorders.map { multicast.add($0) }

        recorders.remove(at: 3)
        recorders.remove(at: 1)

        expect(Lifetimes.current.count, equals: 3)
        expect(multicast.count, equals: 3)
        #expect(multicast.delegates.elementsEqual(recorders, by: { $0 === $1 }))
        expect(tokens.map(\.isActive), equals: [true, false, true, false, true])
        multicast.notify { $0.hear(1) }
        expect(recorders.map(\.heard), equals: [[1], [1], [1]])

        recorders = []
        #expect(multicast.isEmpty && multicast.count == 0 && multicast.delegates.isEmpty)
        #expect(tokens.allSatisfy { !$0.isActive && !$0.remove() })
    }

    @Test("A new delegate at a dead delegate's address is not mistaken for the dead one")
    func addressUsedAgain() {
        var reused = 0
        for _ in 0..<1_000 {
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

            #expect(!multicast.remove(recorder), "it was never added")
            let newToken = multicast.add(recorder)
            #expect(newToken != token)
            #expect(!token.remove())
            expect(multicast.add(recorder), equals: newToken)
            multicast.notify { $0.hear(1) }
            expect(recorder.heard, equals: [1])
            #expect(multicast.remove(recorder))
            #expect(multicast.isEmpty)
        }
        // A sanitizer holds freed memory back, so that addresses are not reused.
        #expect(reused > 0 || AllocatedMemory.isSanitized, "no address was used again, so this shows nothing")
    }

    @Test("A new delegate at a dead delegate's address is added, even if nothing has noticed the death")
    func addressUsedAgainAtOnce() {
        for _ in 0..<1_000 {
            do { multicast.add(ListeningRecorder()) }
            let recorder = ListeningRecorder()
            multicast.add(recorder)
            multicast.notify { $0.hear(1) }
            expect(recorder.heard, equals: [1])
        }
    }

    @Test("Delegates that are added and removed leave no memory behind", .measuringMemory)
    func removedLeaveNoMemory() async {
        await #expect(processExitsWith: .success) {
            final class Small {}
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

            #expect(growth < 64 << 10, "\(growth) bytes")
        }
    }

    @Test(
        "Short-lived delegates do not pile up, even if nobody notifies and no address is used again",
        .measuringMemory)
    func deadDoNotPileUp() async {
        await #expect(processExitsWith: .success) { await Self.addShortLivedDelegates(behind: 0) }
        await #expect(processExitsWith: .success) { await Self.addShortLivedDelegates(behind: 100_000) }
    }

    /// Adds delegates that are released at once, to a multicast delegate that has had `many` delegates before.
    private static func addShortLivedDelegates(behind many: Int) async {
        final class Small {
            var number = 0
        }
        let multicast = MulticastDelegate<Small>()
        do {
            let large = (0..<many).map { _ in Small() }
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
        let count = ObserverSetTests.many(200_000)
        let growth = await AllocatedMemory.growth {
            add(1_000)
        } _: {
            add(count)
        }
        // A blocker takes 40 bytes; the entry of a dead delegate would take five times as much.
        precondition(growth < 100 * count + 1 << 19, "\(growth) bytes more")
    }

    @Test("A delegate behind any number of dead delegates is called")
    func manyDeadInARow() {
        let multicast = MulticastDelegate<ListeningBase>()
        let recorder = ListeningRecorder()
        do {
            let short = (0..<many(200_000)).map { _ in ListeningBase() }
            for delegate in short { multicast.add(delegate) }
            multicast.add(recorder)
        }

        multicast.notify { $0.hear(1) }

        expect(recorder.heard, equals: [1])
        expect(multicast.count, equals: 1)
    }

    @Test("The token of a dead delegate stays active until the multicast has noticed the death")
    func tokenOfTheDead() {
        let token: ObserverToken
        do { token = multicast.add(ListeningRecorder()) }

        #expect(token.isActive)
        multicast.notify { $0.hear(1) }
        #expect(!token.isActive && !token.remove())
    }

    @Test("A delegate may add and remove itself in its `deinit`, and is not called any more")
    func inDeinit() {
        let answers = Log<Bool>()
        let others = ListeningRecorder()
        multicast.add(others)
        do {
            let recorder = ListeningRecorder(atEnd: { [multicast] recorder in
                answers.append(multicast.remove(recorder))
                answers.append(multicast.add(recorder).remove())
                multicast.add(recorder)
                multicast.notify { $0.hear(2) }
                answers.append(multicast.count == 1)
                answers.append(multicast.delegates.count == 1)
                expect(recorder.heard, equals: [1])
            })
            multicast.add(recorder)
            multicast.notify { $0.hear(1) }
        }
        multicast.notify { $0.hear(3) }

        expect(answers.entries, equals: [false, true, true, true])
        expect(others.heard, equals: [1, 2, 3])
        expect(multicast.count, equals: 1)
    }

    @Test("A delegate that keeps its token may end the registration in its `deinit`")
    func tokenInDeinit() {
        let token = Shared<ObserverToken?>(nil)
        do {
            let recorder = ListeningRecorder(atEnd: { _ in token.value?.remove() })
            token.value = multicast.add(recorder)
        }

        expect(token.value?.isActive, equals: false)
        #expect(multicast.isEmpty)
    }

    @Test("A delegate may own the multicast that it is a delegate of")
    func ownsItsMulticast() {
        final class Model: Listening {
            let listeners = Listeners()
            let tracked = Tracked()
            var heard = 0

            init() { listeners.add(self) }

            func hear(_ value: Int) { heard += value }
        }
        weak var weakModel: Model?
        do {
            let model = Model()
            weakModel = model
            model.listeners.notify { $0.hear(2) }
            expect(model.heard, equals: 2)
        }

        #expect(weakModel == nil)
    }

    // MARK: Descriptions

    @Test("The description names the delegates' type and counts the living delegates", arguments: [0, 1, 2, 100])
    func description(count: Int) {
        let recorders = (0..<count).map { _ in ListeningRecorder() }
        for recorder in recorders { multicast.add(recorder) }
        do { multicast.add(ListeningRecorder()) }

        let noun = count == 1 ? "delegate" : "delegates"
        expect(multicast.description, equals: "MulticastDelegate<\((any Listening).self)>(\(count) \(noun))")
        expect("\(multicast)", equals: multicast.description)
        withExtendedLifetime(recorders) {}
    }

    @Test("The debug description shows each delegate's class, and where it was added")
    func debugDescription() {
        let other = ListeningBase()
        let multicast = MulticastDelegate<ListeningBase>()
        let recorder = ListeningRecorder()
        let line = #line + 1
        multicast.add(recorder)
        multicast.add(other)
        multicast.add(recorder)

        let lines = [
            "ListeningRecorder, registered at \(file):\(line)",
            "ListeningBase, registered at \(file):\(line + 1)",
        ]
        expect(
            multicast.debugDescription,
            equals: ([multicast.description] + lines.map { "  " + $0 }).joined(separator: "\n"))
        withExtendedLifetime((recorder, other)) {}
    }

    @Test("Delegates of one class that one line has added are shown once, with their number")
    func equalLines() {
        let recorders = (0..<3).map { _ in ListeningRecorder() }
        let line = #line + 1
        for recorder in recorders { multicast.add(recorder) }

        expect(
            multicast.debugDescription,
            equals: "\(multicast.description)\n  ListeningRecorder, registered at \(file):\(line) × 3")
        withExtendedLifetime(recorders) {}
    }

    @Test("A token's description shows where its delegate was added")
    func tokenDescription() {
        let recorder = ListeningRecorder()
        let token = multicast.add(recorder)
        let line = #line - 1

        #expect(token.description.hasSuffix(", delegate, registered at \(file):\(line))"))
        multicast.remove(recorder)
        #expect(token.description.hasSuffix("inactive)"))
    }

    @Test("A multicast that never had a delegate may be notified, emptied, counted and described")
    func neverUsed() {
        multicast.notify { $0.hear(1) }
        multicast.removeAll()

        #expect(multicast.count == 0 && multicast.isEmpty && multicast.delegates.isEmpty)
        #expect(!multicast.remove(ListeningRecorder()))
        expect(multicast.debugDescription, equals: multicast.description)
    }

    @Test("A multicast holds each of many delegates once, and removes them all")
    func manyDelegates() {
        let recorders = (0..<many(100_000)).map { _ in ListeningBase() }
        let multicast = MulticastDelegate<ListeningBase>()
        for recorder in recorders { multicast.add(recorder) }
        for recorder in recorders { multicast.add(recorder) }

        expect(multicast.count, equals: many(100_000))
        #expect(recorders.allSatisfy { multicast.remove($0) })
        #expect(multicast.isEmpty)
    }
}
