import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// An observer that an actor's instance adds for itself runs on that instance.
///
/// That holds whatever the closure captures, and however little of its isolation the compiler sees. An applied method
/// of an actor (`set.add(hear)`) loses its isolation when it is converted, and no signature of `add` can refuse that.
@Suite("Observers added on an actor's instance", .lifetimesChecked, .againstHanging)
struct AddedOnAnActorTests {
    private let set = ObserverSet<Int>()
    private let calls = Log<Int>()
    private let owner = Tracked()
}

extension AddedOnAnActorTests {
    /// The forms that an actor may use; the compiler passes the isolation on only for the first.
    enum Form: CaseIterable, Sendable {
        case capturing, appliedMethod, weak, capturingNothing, ownerAppliedMethod, ownerCapturingNothing

        var capturesTheActor: Bool { self == .capturing || self == .appliedMethod || self == .ownerAppliedMethod }
    }

    private actor Hearer {
        private let life = Tracked()
        private let calls: Log<Int>

        init(_ calls: Log<Int>) { self.calls = calls }

        func hear(_ value: Int) {
            preconditionIsolated()
            calls.append(value)
        }

        func hear(_ owner: Tracked, _ value: Int) { hear(value) }

        func observe(_ source: some NotificationSource<Int>, _ form: Form, owner: Tracked) {
            switch form {
            case .capturing: _ = source.add { value in self.hear(value) }
            case .appliedMethod: _ = source.add(hear)
            case .weak: _ = source.add { [weak self] value in self?.assumeIsolated { $0.hear(value) } }
            case .capturingNothing: _ = source.add { [calls] value in calls.append(value) }
            case .ownerAppliedMethod: source.add(owner, hear)
            case .ownerCapturingNothing: source.add(owner) { [calls] _, value in calls.append(value) }
            }
        }

        /// Adds an observer that has another thread notify the next number in each call, and notes the thread of the call.
        func observeAndNotify(_ set: ObserverSet<Int>, upTo total: Int, _ threads: Log<ObjectIdentifier>) {
            _ = set.add { [calls, weak set] value in
                calls.append(value)
                threads.append(ObjectIdentifier(Thread.current))
                if value < total, let set { join { set.notify(value + 1) } }
            }
        }

        /// Notifies, and returns the values that were received by the time that the notification returned.
        func notify(_ set: ObserverSet<Int>, _ value: Int) -> [Int] {
            set.notify(value)
            return calls.entries
        }

        /// Has another thread notify while this actor is busy; returns the values that were received by the end of the
        /// notification.
        func letNotify(_ set: ObserverSet<Int>, _ value: Int) -> [Int] {
            join { set.notify(value) }
            return calls.entries
        }
    }

    @Test(
        "An observer added on an actor is called in place there, and on the actor when notified from elsewhere",
        arguments: Form.allCases, [false, true])
    func onTheActor(_ form: Form, isOnce: Bool) async {
        let hearer = Hearer(calls)
        if isOnce { await hearer.observe(set.once, form, owner: owner) }
        await hearer.observe(set, form, owner: owner)

        expect(await hearer.letNotify(set, 1), equals: [], "value 1 waits, since the actor is busy")
        await set.settled()
        expect(calls.entries, equals: (isOnce ? [1, 1] : [1]))
        expect(await hearer.notify(set, 2).last, equals: 2)

        expect(calls.count, equals: (isOnce ? 3 : 2))
        expect(set.count, equals: 1)
        set.removeAll()
    }

    @Test(
        "The actor is held weakly: once it is gone, the function is called on the notifying thread",
        arguments: Form.allCases.filter { !$0.capturesTheActor })
    func heldWeakly(_ form: Form) async {
        var hearer: Hearer? = Hearer(calls)
        weak let observed = hearer
        await hearer?.observe(set, form, owner: owner)

        hearer = nil
        await eventually { observed == nil }
        #expect(observed == nil)
        #expect(set.debugDescription.contains("on an actor that is gone"))
        await onThread { [set] in set.notify(1) }

        expect(calls.entries, equals: (form == .weak ? [] : [1]))
    }

    @Test(
        "When the actor is gone, a notifier makes the calls of one turn, and does not stay while others keep notifying")
    func notForEver() async {
        let total = 1_500
        let threads = Log<ObjectIdentifier>()
        do {
            let hearer = Hearer(calls)
            await hearer.observeAndNotify(set, upTo: total, threads)
        }
        await Task.yield()

        let notifier = await onThread { [set] in
            set.notify(1)
            return ObjectIdentifier(Thread.current)
        }
        await eventually { threads.count == total }

        expect(threads.entries.count { $0 == notifier }, equals: 1_000)
        expect(calls.entries, equals: Array(1...total))
        set.removeAll()
    }

    @Test("While a thread delivers what waited for a gone actor, another actor at its address makes no calls in place")
    func addressOfAGoneActor() async throws {
        let (isInCall, mayEnd) = (Signal(), Signal())
        // The other one has its executor as well.
        let other = Adder()
        weak var observed: Adder?
        do {
            let adder = Adder(other.loop)
            observed = adder
            await adder.add(to: set) { value in
                isInCall.set()
                if value == 1 { mayEnd.wait() }
            }
            await adder.add(to: set) { [calls] value in calls.append(value) }
        }
        await eventually { observed == nil }
        async let delivery: Void = onThread { [set] in set.notify(1) }
        await eventually { isInCall.isSet }
        await onThread { [set] in set.notify(2) }

        let registry = try #require(set.registry)
        let address = try #require(registry.mailboxes().first).actorAddress
        await other.perform {
            var atItsAddress = Notifier(on: address)
            registry.forEachRegistered { slot in
                slot.send(3, by: &atItsAddress)
            }
        }

        expect(calls.entries, equals: [])
        mayEnd.set()
        await delivery
        // The first value reaches the second observer last: the thread that notified it delivered the others meanwhile.
        expect(calls.entries, equals: [2, 3, 1])
        set.removeAll()
    }

    @Test(
        "An observer that an instance of a global actor's type adds for itself runs on that instance", .serialized,
        arguments: Archive.Form.allCases)
    fileprivate func onAGlobalActorsInstance(_ form: Archive.Form) async {
        for archive in [Archive.shared, Archive()] {
            await archive.observe(set, form)

            await onThread { [set] in for _ in 0..<2 { set.notify(1) } }
            await set.settled()

            expect(await archive.takeCount(), equals: (form == .once ? 1 : 2))
            set.removeAll()
        }
    }

    @Test("An actor, the main one too, may be the owner of a one-time observer, which runs on it")
    func actorAsOwner() async {
        let keeper = Keeper()
        for source in [set, set.once] as [any NotificationSource<Int>] {
            source.add(MainActor.shared) { [calls] (_: isolated MainActor, value) in
                MainActor.preconditionIsolated()
                calls.append(value)
            }
            source.add(keeper) { [calls] keeper, value in
                keeper.preconditionIsolated()
                if value > 0 { calls.append(value) }
            }
        }

        await onThread { [set] in for value in 0...1 { set.notify(value) } }
        await set.settled()

        expect(calls.entries.sorted(), equals: [0, 0, 1, 1])
    }
}

/// A global actor with methods that observe.
@globalActor private actor Archive {
    enum Form: CaseIterable, Sendable {
        case method, once, awaitedMethod, owner, awaitedOwner
    }

    static let shared = Archive()

    private var count = 0

    func observe(_ set: ObserverSet<Int>, _ form: Form) {
        switch form {
        case .method: _ = set.add(hear)
        case .once: _ = set.once.add(hear)
        case .awaitedMethod: _ = set.addAsync(hear)
        case .owner: set.add(self) { archive, value in archive.hear(value) }
        case .awaitedOwner: set.addAsync(self) { archive, value in archive.hear(value) }
        }
    }

    func takeCount() -> Int {
        defer { count = 0 }
        return count
    }

    private func hear(_ value: Int) {
        assertIsolated()
        count += value
    }
}

/// Adds functions that have no isolation of their own.
private actor Adder {
    nonisolated let loop: EventLoop

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop = EventLoop(.neither)) { self.loop = loop }

    func perform(_ body: @Sendable () -> Void) { body() }
    func add(to set: ObserverSet<Int>, _ observer: @escaping @Sendable (Int) -> Void) { _ = set.add(observer) }
}
