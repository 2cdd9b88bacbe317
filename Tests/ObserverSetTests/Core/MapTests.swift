import Dispatch
import Foundation
import ObserverSet
import Testing

/// Sources that transform or filter the values of another source.
@Suite("Mapped sources", .lifetimesChecked, .againstHanging)
struct MapTests {
    private let set = ObserverSet<Int>()
    private let words = ObserverSet<(word: String, line: Int)>()
    private let log = Log<String>()

    // MARK: Values

    @Test("`map` delivers the transform's result for each notification")
    func map() {
        _ = set.map { "<\($0)>" }.add { [log] in log.append($0) }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["<1>", "<2>"])
    }

    @Test("`compactMap` skips values for which the transform returns nil")
    func compactMap() {
        let texts = ObserverSet<String>()
        _ = texts.compactMap { Int($0) }.add { [log] in log.append("\($0 + 1)") }

        for text in ["1", "one", "2"] { texts.notify(text) }

        expect(log.entries, equals: ["2", "3"])
    }

    @Test("`filter` skips values for which the condition is false")
    func filter() {
        _ = set.filter { $0.isMultiple(of: 2) }.add { [log] in log.append("\($0)") }

        for value in 1...4 { set.notify(value) }

        expect(log.entries, equals: ["2", "4"])
    }

    @Test("Key paths work with `map`, `compactMap` and `filter`")
    func keyPaths() {
        struct Mail: Sendable {
            let title: String
            let sender: String?
            let isUrgent: Bool
        }
        let received = ObserverSet<Mail>()
        _ = received.map(\.title).add { [log] in log.append("title \($0)") }
        _ = received.compactMap(\.sender).add { [log] in log.append("sender \($0)") }
        _ = received.filter(\.isUrgent).add { [log] in log.append("urgent \($0.title)") }

        received.notify(Mail(title: "a", sender: nil, isUrgent: true))
        received.notify(Mail(title: "b", sender: "c", isUrgent: false))

        expect(log.entries, equals: ["title a", "urgent a", "title b", "sender c"])
    }

    @Test("An optional that `map` returns is delivered, nil or not")
    func mapToOptional() {
        _ = set.map { $0 == 0 ? nil : $0 }.add { [log] in log.append("\($0 ?? -1)") }

        set.notify(0)
        set.notify(1)

        expect(log.entries, equals: ["-1", "1"])
    }

    @Test("Tuple labels can be read and created by transforms, and are passed on by `filter`")
    func labelledTuples() {
        _ = words.map(\.word).add { [log] in log.append($0) }
        _ = words.filter { $0.line > 1 }.add { [log] item in log.append("\(item.word) in \(item.line)") }
        _ = words.map { (length: $0.word.count, at: $0.line) }.add { [log] item in
            log.append("\(item.length)-\(item.at)")
        }

        words.notify((word: "so", line: 1))
        words.notify((word: "what", line: 2))

        expect(log.entries, equals: ["so", "2-1", "what", "what in 2", "4-2"])
    }

    @Test("A method receives the elements of a tuple that a transform returns")
    func methodOfTuple() {
        let owner = Hearer(log)
        words.map { ($0.line, $0.word) }.add(method: Hearer.hearBoth, of: owner)

        words.notify((word: "so", line: 1))

        expect(log.entries, equals: ["1 so"])
    }

    @Test("A transform that returns `Void` gives the forms of `add` for `Void`")
    func mapToVoid() async {
        let owner = Hearer(log)
        let actor = ActingHearer(log)
        let told = set.map { _ in }
        _ = told.add { [log] in log.append("closure") }
        told.add(owner) { owner in owner.note("owner") }
        told.add(method: Hearer.hear, of: owner)
        told.addNonisolated(owner) { owner in owner.note("nonisolated") }
        told.once.add(owner) { owner in owner.note("once") }
        told.add(actor) { actor in actor.hear("actor") }

        set.notify(1)
        await set.settled()

        expect(log.entries.filter { $0 != "actor" }, equals: ["closure", "owner", "method", "nonisolated", "once"])
        expect(log.count, equals: 6)
    }

    @Test("A chain of transforms runs from the source on, and stops where a value is skipped")
    func chain() {
        let chain =
            set
            .map { [log] value in
                log.append("map \(value)")
                return value * 2
            }
            .filter { [log] value in
                log.append("filter \(value)")
                return value > 2
            }
            .map { [log] value in
                log.append("map again \(value)")
                return "\(value)"
            }
        _ = chain.add { [log] text in log.append("told \(text)") }

        set.notify(1)
        expect(log.entries, equals: ["map 1", "filter 2"])
        log.removeAll()
        set.notify(2)

        expect(log.entries, equals: ["map 2", "filter 4", "map again 4", "told 4"])
    }

    @Test("A class may publish only a part of its set's parameters")
    func projection() {
        let model = Model()
        _ = model.titleChanged.add { [log] title in log.append(title) }

        model.change(to: "So What")

        expect(log.entries, equals: ["So What"])
    }

    // MARK: Order and threads

    @Test("An observer of a mapped source is called in registration order among all other observers")
    func registrationOrder() {
        _ = set.add { [log] in log.append("first \($0)") }
        _ = set.map { -$0 }.add { [log] in log.append("mapped \($0)") }
        _ = set.filter { $0 > 0 }.add { [log] in log.append("filtered \($0)") }
        _ = set.add { [log] in log.append("last \($0)") }

        set.notify(1)

        expect(log.entries, equals: ["first 1", "mapped -1", "filtered 1", "last 1"])
    }

    @Test("The transform is called once for each observer, on the notifying thread, before any hop")
    func transformCalls() async {
        let actor = ActingHearer(log)
        let threads = Log<ObjectIdentifier>()
        let mapped = set.map { value in
            threads.append(ObjectIdentifier(Thread.current))
            return "\(value)"
        }
        _ = mapped.add { _ in }
        _ = mapped.addNonisolated(on: DispatchQueue(label: "Q")) { _ in }
        mapped.add(actor) { actor, text in actor.hear(text) }
        expect(threads.count, equals: 0)

        let notifier = await onThread { [set] in
            set.notify(1)
            expect(threads.count, equals: 3, "all three transforms have already run")
            return ObjectIdentifier(Thread.current)
        }
        await set.settled()

        expect(threads.entries, equals: [notifier, notifier, notifier])
        expect(log.entries, equals: ["1"])
    }

    @Test("Without an observer the transform is not called")
    func withoutObservers() {
        let calls = Counter()
        let mapped = set.map { _ in calls.increment() }
        let token = mapped.add { _ in }
        token.remove()

        set.notify(1)

        expect(calls.value, equals: 0)
    }

    @Test("An observer on another actor receives the values that are not skipped, in order")
    func orderElsewhere() async {
        let numbers = Log<Int>()
        _ = set.filter { $0.isMultiple(of: 3) }.map { $0 / 3 }.add { @Elsewhere number in
            Elsewhere.assertIsolated()
            numbers.append(number)
        }

        for value in 0..<3_000 { set.notify(value) }
        await set.settled()

        expect(numbers.entries, equals: Array(0..<1_000))
    }

    @Test("An observer on the notifier's own actor is called in place")
    @MainActor func inPlace() {
        _ = set.map { "\($0)" }.add { [log] text in
            MainActor.assertIsolated()
            log.append(text)
        }

        set.notify(1)

        expect(log.entries, equals: ["1"])
    }

    // MARK: Tokens and owners

    @Test("The token of a mapped source ends the registration, and may be removed through the set")
    func token() {
        let token = set.map { "\($0)" }.filter { !$0.isEmpty }.add { [log] in log.append($0) }
        let other = set.filter { _ in true }.add { [log] in log.append("other \($0)") }

        set.notify(1)
        #expect(token.isActive)
        #expect(set.remove(token))
        #expect(!token.isActive)
        #expect(!token.remove())
        set.notify(2)
        #expect(other.remove())

        expect(log.entries, equals: ["1", "other 1", "other 2"])
        #expect(set.isEmpty)
    }

    @Test("An owner's death ends its observers")
    func ownerDeath() {
        var owner: Hearer? = Hearer(log)
        let texts = set.map { "\($0)" }
        let tokens = [
            texts.add(owner!) { owner, text in owner.note(text) },
            texts.add(method: Hearer.note, of: owner!),
        ]
        set.notify(1)
        expect(set.count, equals: 2)

        owner = nil
        set.notify(2)

        expect(log.entries, equals: ["1", "1"])
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(set.isEmpty)
    }

    @Test("`removeAll(ownedBy:)` of the set removes an owner's observers of a mapped source")
    func removedByOwner() {
        let owner = Hearer(log)
        set.map { "\($0)" }.filter { _ in true }.add(method: Hearer.note, of: owner)

        expect(set.removeAll(ownedBy: owner), equals: 1)
        set.notify(1)

        expect(log.entries, equals: [])
    }

    @Test("A one-time observer waits for the first value that is not skipped")
    func once() {
        let token = set.filter { $0 > 2 }.map { "\($0)" }.once.add { [log] in log.append($0) }

        for value in 1...5 { set.notify(value) }

        expect(log.entries, equals: ["3"])
        #expect(!token.isActive)
        #expect(set.isEmpty)
    }

    @Test("The set's description shows where an observer was added through a mapped source")
    func description() {
        let owner = Hearer(log)
        set.map { "\($0)" }.add(owner) { @MainActor owner, text in owner.note(text) }

        #expect(set.debugDescription.contains("Hearer, on MainActor, registered at ObserverSetTests/MapTests.swift"))
    }

    @Test("A mapped source's description has the observers of its set")
    func descriptionOfTheSource() {
        _ = set.add { _ in }

        expect(String(reflecting: set.map { "\($0)" }), equals: "adapted from " + set.debugDescription)
    }

    // MARK: Lifetimes

    @Test("A mapped source keeps its set alive, and an observer added through it does not need the mapped source")
    func keepsItsSource() {
        weak var weakSet: ObserverSet<Int>?
        var mapped: (any NotificationSource<String>)?
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            mapped = set.map { "\($0)" }
        }
        #expect(weakSet != nil)
        let token = mapped?.add { [log] in log.append($0) }
        let set = weakSet

        mapped = nil
        set?.notify(1)

        expect(log.entries, equals: ["1"])
        expect(token?.isActive, equals: true)
    }

    @Test("A registration keeps neither the mapped source nor the set")
    func registrationKeepsNothing() {
        weak var weakSet: ObserverSet<Int>?
        let token: ObserverToken
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            token = set.map { "\($0)" }.filter { _ in true }.add { _ in }
        }

        #expect(weakSet == nil)
        #expect(!token.isActive)
    }

    @Test("What a transform captures is released with the source and the last registration")
    func captures() {
        let lifetimes = Lifetimes.current
        func mapped() -> some NotificationSource<Int> {
            let capture = Tracked(1)
            return set.map { $0 + capture.value }
        }
        var tokens = { () -> [ObserverToken] in
            let mapped = mapped()
            return [mapped.add { _ in }, mapped.add { _ in }]
        }()
        expect(lifetimes.count, equals: 1)

        tokens.removeLast().remove()
        expect(lifetimes.count, equals: 1)
        tokens.removeLast().remove()

        expect(lifetimes.count, equals: 0)
    }

    // MARK: Settled

    @Test("`settled()` of a set, of a mapped source and of a custom source waits for an actor's observer")
    func settled() async {
        #expect(await settledWaitsForAnActor(set) { set.notify(1) })
        #expect(await settledWaitsForAnActor(set.map { "\($0)" }) { set.notify(1) })
        #expect(await settledWaitsForAnActor(set.compactMap { $0 }) { set.notify(1) })
        #expect(await settledWaitsForAnActor(set.filter { $0 > 0 }) { set.notify(1) })
        #expect(await settledWaitsForAnActor(set.map { $0 + 1 }.filter { $0 > 0 }.map { _ in }) { set.notify(1) })
        #expect(await settledWaitsForAnActor(Mapped(source: set) { (value: Int) in "\(value)" }) { set.notify(1) })
    }
}

/// A model that publishes only a part of what its set delivers.
private final class Model: Sendable {
    private let observers = ObserverSet<(title: String, length: Int)>()
    var titleChanged: some NotificationSource<String> { observers.map(\.title) }

    func change(to title: String) { observers.notify((title: title, length: title.count)) }
}

private final class Hearer: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear() { log.append("method") }
    func hearBoth(_ line: Int, _ word: String) { log.append("\(line) \(word)") }
    func note(_ text: String) { log.append(text) }
}

private actor ActingHearer {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear(_ text: String) { log.append(text) }
}
