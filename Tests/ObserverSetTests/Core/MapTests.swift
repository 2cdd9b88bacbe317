import Dispatch
import Foundation
import ObserverSet
import Testing

/// Sources that transform or filter the values of another source.
@Suite("Mapped sources", .lifetimesChecked, .againstHanging)
struct MapTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension MapTests {
    // MARK: Values

    @Test("`map` sends results, nil too; `compactMap` and `filter` skip; all call in the order of registration")
    func values() {
        func add(_ name: String, to source: some NotificationSource<some Sendable>) {
            _ = source.add { [log] in log.append("\(name) \($0)") }
        }
        add("first", to: set)
        add("map", to: set.map { "<\($0)>" })
        add("compactMap", to: set.compactMap { $0.isMultiple(of: 2) ? $0 * 10 : nil })
        add("filter", to: set.filter { $0 > 2 })
        add("optional", to: set.map { $0 == 1 ? nil : $0 })
        add("nested", to: set.compactMap { value -> Int?? in value == 1 ? .none : .some(value == 2 ? nil : value) })
        add("last", to: set.map { _ in })

        for value in 1...3 { set.notify(value) }

        expect(
            log.entries,
            equals: [
                "first 1", "map <1>", "optional nil", "last ()",
                "first 2", "map <2>", "compactMap 20", "optional Optional(2)", "nested nil", "last ()",
                "first 3", "map <3>", "filter 3", "optional Optional(3)", "nested Optional(3)", "last ()",
            ])
    }

    @Test("Tuple labels can be read and created by transforms, passed on by `filter`, and taken apart by a method")
    func labelledTuples() {
        let words = ObserverSet<(word: String, line: Int)>()
        let owner = Hearer(log)
        _ = words.map(\.word).add { [log] in log.append($0) }
        _ = words.filter { $0.line > 1 }.add { [log] item in log.append("\(item.word) in \(item.line)") }
        _ = words.map { (length: $0.word.count, at: $0.line) }.add { [log] item in
            log.append("\(item.length)-\(item.at)")
        }
        words.map { ($0.line, $0.word) }.add(method: Hearer.hearBoth, of: owner)

        words.notify((word: "so", line: 1))
        words.notify((word: "what", line: 2))

        expect(log.entries, equals: ["so", "2-1", "1 so", "what", "what in 2", "4-2", "2 what"])
    }

    // MARK: Where and when

    @Test("The transform is called once for each observer, on the notifying thread, before any hop")
    func transformCalls() async {
        let threads = Log<ObjectIdentifier>()
        let mapped = set.map { _ in threads.append(ObjectIdentifier(Thread.current)) }
        let kinds: [ObserverKind] = [.closure, .queue, .actorOwner]
        let registrations = kinds.map { kind in kind.add(to: mapped) { _ in } }

        let notifier = await onThread { [set] in
            set.notify(1)
            expect(threads.count, equals: 3, "all three transforms have already run")
            return ObjectIdentifier(Thread.current)
        }
        await set.settled()
        for registration in registrations { registration.token.remove() }
        set.notify(2)

        expect(threads.entries, equals: [notifier, notifier, notifier])
        registrations.forEach { $0.end() }
    }

    @Test(
        "An observer of any kind receives what is not skipped, in order, until it removes itself",
        arguments: ObserverKind.lasting)
    func everyKind(_ kind: ObserverKind) async {
        let numbers = Log<Int>()
        let allEnqueued = Signal()
        let registration = Shared<KeptRegistration?>(nil)
        registration.value = kind.add(to: set.filter { $0.isMultiple(of: 3) }.map { $0 / 3 }) { number in
            if !kind.mayCallInPlace { allEnqueued.wait() }
            numbers.append(number)
            if number == 50 { expect(registration.value?.token.remove(), equals: true) }
        }

        for value in 0..<300 { set.notify(value) }
        allEnqueued.set()
        await set.settled()

        expect(numbers.entries, equals: Array(0...50))
        #expect(set.isEmpty)
        registration.value = nil
    }

    // MARK: Registrations

    @Test("An observer is not called if its own transform removes it, nor if it is to be called once")
    func transformThatRemoves() {
        let token = Shared<ObserverToken?>(nil)
        let source = set.map { value in
            if value == 2 { expect(token.value?.remove(), equals: true) }
            return value
        }
        token.value = source.add { [log] in log.append("\($0)") }
        set.notify(1)
        set.notify(2)
        token.value = source.once.add { [log] in log.append("once \($0)") }
        set.notify(2)

        expect(log.entries, equals: ["1"])
        #expect(set.isEmpty)
        token.value = nil
    }

    @Test("A set removes the observers of an owner behind transforms, too")
    func owners() {
        let owner = Hearer(log)
        let texts = set.map { "\($0)" }.filter { _ in true }
        let tokens = [
            texts.add(owner) { owner, text in owner.note(text) }, texts.add(method: Hearer.note, of: owner),
        ]
        set.notify(1)
        expect(set.removeAll(ownedBy: Hearer(log)), equals: 0)
        expect(set.removeAll(ownedBy: owner), equals: 2)
        set.notify(2)

        expect(log.entries, equals: ["1", "1"])
        #expect(tokens.allSatisfy { !$0.isActive } && set.isEmpty)
    }

    @Test("A mapped source keeps its set alive, and is described by it; a registration keeps neither of them")
    func keepsItsSource() {
        weak var weakSet: ObserverSet<Int>?
        var mapped: (any NotificationSource<String>)?
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            mapped = set.map { "\($0)" }
        }
        var set = weakSet
        let token = mapped?.add { [log] in log.append($0) }
        expect(mapped.map { String(reflecting: $0) }, equals: set.map { "adapted from \($0.debugDescription)" })

        mapped = nil
        set?.notify(1)
        expect(log.entries, equals: ["1"])
        expect(token?.isActive, equals: true)
        set = nil

        #expect(weakSet == nil)
        expect(token?.isActive, equals: false)
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

    @Test("`settled()` of a set, of sources derived from it and of a custom source waits for an actor's observer")
    func settled() async {
        let sources: [any NotificationSource] = [
            set, set.map { "\($0)" }, set.compactMap { $0 }, set.filter { $0 > 0 }, set.once,
            set.map { $0 + 1 }.filter { $0 > 0 }.map { _ in }, Mapped(source: set) { (value: Int) in "\(value)" },
        ]
        for source in sources { #expect(await settledWaitsForAnActor(source) { set.notify(1) }) }
    }
}

private final class Hearer: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) { self.log = log }

    func hearBoth(_ line: Int, _ word: String) { log.append("\(line) \(word)") }
    func note(_ text: String) { log.append(text) }
}
