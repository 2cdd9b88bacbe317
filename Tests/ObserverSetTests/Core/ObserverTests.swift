import Dispatch
import Foundation
import ObserverSet
import Testing

/// How an observer is passed to a source, and what a custom source may do with it.
@Suite("Observers and custom sources", .lifetimesChecked, .againstHanging)
struct ObserverTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    // MARK: A source that passes observers on

    @Test("A custom source has the whole `add` family")
    func wholeFamily() async {
        let source = Forwarding(source: set)
        let owner = Owner(log)
        let actor = Listener(log)
        _ = source.add { [log] in log.append("closure \($0)") }
        source.add(owner) { owner, value in owner.note("owner \(value)") }
        source.add(method: Owner.hear, of: owner)
        _ = source.once.add { [log] in log.append("once \($0)") }
        source.once.add(owner) { owner, value in owner.note("owner once \(value)") }
        _ = source.addNonisolated { [log] in log.append("nonisolated \($0)") }
        source.addNonisolated(owner) { owner, value in owner.note("nonisolated owner \(value)") }
        expect(set.count, equals: 7)
        let inPlace = [
            "closure 1", "owner 1", "hear 1", "once 1", "owner once 1", "nonisolated 1", "nonisolated owner 1",
        ]

        set.notify(1)
        expect(log.entries, equals: inPlace)
        expect(set.count, equals: 5)

        source.add(actor) { actor, value in actor.hear(value) }
        await set.notifyAndSettle(2)
        expect(log.entries.last, equals: "actor 2")
        _ = source.addNonisolated(on: DispatchQueue(label: "Q")) { [log] in log.append("queue \($0)") }
        source.addNonisolated(on: DispatchQueue(label: "R"), owner) { owner, value in
            owner.note("owner's queue \(value)")
        }
        await set.notifyAndSettle(3)

        let last = Set(log.entries.suffix(3))
        expect(last, equals: ["actor 3", "queue 3", "owner's queue 3"])
    }

    @Test("A token from a custom source ends the registration in the underlying set")
    func tokenOfForwarding() {
        let token = Forwarding(source: set).add { [log] in log.append("\($0)") }

        #expect(token.isActive)
        #expect(set.remove(token))
        set.notify(1)

        expect(log.entries, equals: [])
    }

    @Test("An existential source and an opaque one register like the set itself")
    func readOnlySide() {
        let model = Model()
        _ = model.changed.add { [log] in log.append("opaque \($0)") }
        let anySource: any NotificationSource<Int> = model.changed
        _ = anySource.add { [log] in log.append("any \($0)") }

        model.change(to: 1)

        expect(log.entries, equals: ["opaque 1", "any 1"])
    }

    // MARK: Adapting

    @Test("An adapted observer is passed the transform's result")
    func adapted() {
        let strings = Mapped(source: set) { (value: Int) in "<\(value)>" }
        _ = strings.add { [log] in log.append($0) }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["<1>", "<2>"])
    }

    @Test("A value for which the transform returns nil is skipped")
    func adaptedToNil() {
        let evens = Mapped(source: set) { (value: Int) in value.isMultiple(of: 2) ? value : nil }
        _ = evens.add { [log] in log.append("\($0)") }
        _ = set.add { [log] in log.append("all \($0)") }

        for value in 1...4 { set.notify(value) }

        expect(log.entries, equals: ["all 1", "2", "all 2", "all 3", "4", "all 4"])
    }

    @Test("A nested nil is a value and is not skipped if the parameters are optional")
    func adaptedToOptional() {
        let source = Mapped(source: set) { (value: Int) -> Int?? in
            if value < 0 { return .none }
            return .some(value == 0 ? nil : value)
        }
        _ = source.add { [log] in log.append($0.map { "\($0)" } ?? "nil") }

        for value in [-1, 0, 1] { set.notify(value) }

        expect(log.entries, equals: ["nil", "1"])
    }

    @Test("An observer may be adapted again and again")
    func adaptedTwice() {
        let doubled = Mapped(source: set) { (value: Int) in value * 2 }
        let described = Mapped(source: doubled) { (value: Int) in value > 2 ? "\(value)" : nil }
        let counted = Mapped(source: described) { (text: String) in text.count }
        _ = counted.add { [log] in log.append("\($0) digits") }

        for value in [1, 2, 50] { set.notify(value) }

        expect(log.entries, equals: ["1 digits", "3 digits"])
    }

    @Test("The transform runs on the notifying thread, before any hop")
    func transformThread() async {
        let threads = Log<ObjectIdentifier>()
        let source = Mapped(source: set) { (value: Int) in
            threads.append(ObjectIdentifier(Thread.current))
            return value
        }
        _ = source.addNonisolated(on: DispatchQueue(label: "Q")) { _ in }

        let notifier = await onThread {
            set.notify(1)
            expect(threads.count, equals: 1, "the transform has already run")
            return ObjectIdentifier(Thread.current)
        }
        await set.settled()

        expect(threads.entries, equals: [notifier])
    }

    @Test("An observer is not called if its own transform removes it")
    func transformThatRemoves() {
        let token = Shared<ObserverToken?>(nil)
        let log = Log<Int>()
        let source = Mapped(source: set) { (value: Int) -> Int? in
            if value == 2 { expect(token.value?.remove(), equals: true) }
            return value
        }
        token.value = source.add { log.append($0) }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: [1])
        #expect(set.isEmpty)
        token.value = nil
    }

    @Test("What the transform holds is released with the registration")
    func transformCaptures() {
        func register() -> ObserverToken {
            Mapped(source: set) { [capture = Tracked()] (value: Int) in value + capture.value }.add { _ in }
        }
        let token = register()
        expect(Lifetimes.current.count, equals: 1)

        #expect(token.remove())

        expect(Lifetimes.current.count, equals: 0)
    }

    // MARK: Adapting each kind

    @Test("An adapted observer with an owner ends with its owner")
    func adaptedOwner() {
        let strings = Mapped(source: set) { (value: Int) in "\(value)" }
        var owner: Owner? = Owner(log)
        let tokens = [
            strings.add(owner!) { owner, text in owner.note("closure " + text) },
            strings.add(method: Owner.note, of: owner!),
            strings.addNonisolated(owner!) { owner, text in owner.note("nonisolated " + text) },
        ]

        set.notify(1)
        expect(log.entries, equals: ["closure 1", "1", "nonisolated 1"])
        expect(set.removeAll(ownedBy: Owner(log)), equals: 0)
        owner = nil
        set.notify(2)

        #expect(owner == nil)
        expect(log.count, equals: 3)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(set.isEmpty)
    }

    @Test("`removeAll(ownedBy:)` removes all adapted observers of an owner")
    func adaptedRemovedByOwner() {
        let owner = Owner(log)
        Mapped(source: set) { (value: Int) in "\(value)" }.add(method: Owner.note, of: owner)
        set.add(method: Owner.hear, of: owner)

        expect(set.removeAll(ownedBy: owner), equals: 2)

        #expect(set.isEmpty)
    }

    @Test("An adapted one-time observer waits for the first value that is not skipped")
    func adaptedOnce() {
        let large = Mapped(source: set) { (value: Int) in value > 2 ? value : nil }
        let token = large.once.add { [log] in log.append("\($0)") }

        for value in 1...5 { set.notify(value) }

        expect(log.entries, equals: ["3"])
        #expect(!token.isActive)
        #expect(set.isEmpty)
    }

    @Test("An adapted observer of an actor is called on it, in order")
    func adaptedActor() async {
        let actor = Listener(log)
        let evens = Mapped(source: set) { (value: Int) in value.isMultiple(of: 2) ? value : nil }
        evens.add(actor) { actor, value in actor.hear(value) }

        for value in 0..<200 { set.notify(value) }
        await set.settled()

        expect(log.entries, equals: stride(from: 0, to: 200, by: 2).map { "actor \($0)" })
    }

    @Test("An adapted observer of the main actor is called in place there, and asynchronously from elsewhere")
    @MainActor
    func adaptedMainActor() async {
        _ = Mapped(source: set) { (value: Int) in "\(value)" }.add { [log] text in
            MainActor.assertIsolated()
            log.append(text)
        }

        set.notify(1)
        expect(log.entries, equals: ["1"])
        join { [set] in set.notify(2) }
        expect(log.entries, equals: ["1"])
        await set.settled()

        expect(log.entries, equals: ["1", "2"])
    }

    @Test("An adapted observer on a queue is called on it, in order")
    func adaptedQueue() async {
        let queue = DispatchQueue(label: "Q")
        let strings = Mapped(source: set) { (value: Int) in "\(value)" }
        _ = strings.addNonisolated(on: queue) { [log] text in
            dispatchPrecondition(condition: .onQueue(queue))
            log.append(text)
        }

        for value in 0..<200 { set.notify(value) }
        await set.settled()

        let expected = (0..<200).map { "\($0)" }
        expect(log.entries, equals: expected)
    }

    @Test("An adapted observer that is removed on its queue is not called again")
    func adaptedRemovedOnItsQueue() async {
        let token = Shared<ObserverToken?>(nil)
        let queue = DispatchQueue(label: "Q")
        let strings = Mapped(source: set) { (value: Int) in "\(value)" }
        token.value = strings.addNonisolated(on: queue) { [log] text in
            log.append(text)
            if text == "2" { token.value?.remove() }
        }

        queue.suspend()
        for value in 0..<100 { set.notify(value) }
        queue.resume()
        await set.settled()

        expect(log.entries, equals: ["0", "1", "2"])
    }

    // MARK: One observer in several sets

    @Test(
        "An observer registered in two sets receives their values in the order of the notifications",
        arguments: ObserverKind.lastingHopping)
    func oneMailbox(_ kind: ObserverKind) async {
        let (left, right) = (ObserverSet<Int>(), ObserverSet<String>())
        let registration = kind.add(to: Either(left: left, right: right)) { [log] in log.append($0) }

        await onThread {
            for value in 0..<500 {
                left.notify(value)
                right.notify("\(value)")
            }
        }
        await left.settled()
        await right.settled()

        expect(log.entries, equals: (0..<500).flatMap { ["left \($0)", "right \($0)"] })
        registration.end()
    }

    @Test("The token of an observer in two sets ends both registrations, and drops the waiting values")
    func oneTokenForTwo() async {
        let (left, right) = (ObserverSet<Int>(), ObserverSet<String>())
        let queue = DispatchQueue(label: "Q")
        let token = Either(left: left, right: right).addNonisolated(on: queue) { [log] in log.append($0) }
        #expect(left.count == 1 && right.count == 1)

        queue.suspend()
        left.notify(1)
        right.notify("1")
        #expect(token.remove())
        queue.resume()
        await left.settled()
        await right.settled()

        expect(log.entries, equals: [])
        #expect(!token.isActive)
        #expect(left.isEmpty && right.isEmpty)
    }

    @Test("When one of two sets removes an observer, the values that wait from the other set are delivered")
    func oneOfTwoRemoved() async {
        let (left, right) = (ObserverSet<Int>(), ObserverSet<String>())
        let queue = DispatchQueue(label: "Q")
        let token = Either(left: left, right: right).addNonisolated(on: queue) { [log] in log.append($0) }

        queue.suspend()
        left.notify(1)
        right.notify("1")
        left.removeAll()
        queue.resume()
        await right.settled()
        right.notify("2")
        await right.settled()

        expect(log.entries, equals: ["right 1", "right 2"])
        #expect(token.isActive)
    }

    @Test("A one-time observer in two sets is called once in total")
    func onceInTwo() async {
        for _ in 0..<200 {
            let (left, right) = (ObserverSet<Int>(), ObserverSet<String>())
            let calls = Log<String>()
            let token = Either(left: left, right: right).once.add { calls.append($0) }

            await onThreads(2) { thread in
                if thread == 0 { left.notify(1) } else { right.notify("1") }
            }

            expect(calls.count, equals: 1)
            #expect(!token.isActive)
            #expect(left.isEmpty && right.isEmpty)
        }
    }

    /// Scenario 40 for an observer that was made once and registered twice.
    ///
    /// Source: boost signals2 (disconnect_equal), Qt (uniqConnection). Each `add` makes a separate registration.
    @Test("The same observer registered twice is called twice, and removing one registration leaves the other")
    func sameObserverTwice() async {
        let kept = KeptObserver<Int>()
        let log = Log<Int>()
        _ = kept.addNonisolated(on: DispatchQueue(label: "Q")) { log.append($0) }
        let tokens = (0..<2).compactMap { _ in kept.observer.value.map { set.register($0) } }

        set.notify(1)
        await set.settled()
        expect(log.entries, equals: [1, 1])
        #expect(tokens[0].remove())
        set.notify(2)
        await set.settled()

        expect(log.entries, equals: [1, 1, 2])
        expect(set.count, equals: 1)
    }
}

/// A source that passes observers on unchanged.
private struct Forwarding<Parameters: Sendable>: NotificationSource {
    let source: any NotificationSource<Parameters>

    func register(_ observer: Observer<Parameters>) -> ObserverToken {
        source.register(observer)
    }

    func settled() async { await source.settled() }
}

/// A source that delivers the values of two sets.
private struct Either: NotificationSource {
    let left: ObserverSet<Int>
    let right: ObserverSet<String>

    func register(_ observer: Observer<String>) -> ObserverToken {
        ObserverToken([
            left.register(observer.adapted { "left \($0)" }),
            right.register(observer.adapted { "right \($0)" }),
        ])
    }

    func settled() async {
        await left.settled()
        await right.settled()
    }
}

/// A model that can be observed from outside, but not notified.
private final class Model: Sendable {
    private let observers = ObserverSet<Int>()
    var changed: some NotificationSource<Int> { observers }

    func change(to value: Int) { observers.notify(value) }
}

private final class Owner: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func note(_ text: String) { log.append(text) }
    func hear(_ value: Int) { log.append("hear \(value)") }
}

private actor Listener {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear(_ value: Int) { log.append("actor \(value)") }
}

extension ObserverSet {
    fileprivate func notifyAndSettle(_ parameters: Parameters) async {
        notify(parameters)
        await settled()
    }
}
