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
    /// The forms that an actor may use; the compiler passes the isolation on only for the first.
    enum Form: CaseIterable, Sendable {
        case capturing, appliedMethod, weak, capturingNothing, ownerAppliedMethod, ownerCapturingNothing

        var capturesTheActor: Bool { self == .capturing || self == .appliedMethod || self == .ownerAppliedMethod }
    }

    private actor Hearer {
        private let life = Tracked()
        private(set) var heard: [Int] = []
        private let calls: Log<Int>

        init(_ calls: Log<Int>) {
            self.calls = calls
        }

        func hear(_ value: Int) {
            heard.append(value)
            calls.append(value)
        }

        func hear(_ owner: Tracked, _ value: Int) {
            hear(value)
        }

        func observe(_ set: ObserverSet<Int>, _ form: Form, owner: Tracked) {
            switch form {
            case .capturing: _ = set.add { value in self.hear(value) }
            case .appliedMethod: _ = set.add(hear)
            case .weak:
                _ = set.add { [weak self] value in
                    if let self {
                        self.assumeIsolated { $0.hear(value) }
                    }
                }
            case .capturingNothing: _ = set.add { [calls] value in calls.append(value) }
            case .ownerAppliedMethod: set.add(owner, hear)
            case .ownerCapturingNothing: set.add(owner) { [calls] _, value in calls.append(value) }
            }
        }

        func observeOnce(_ set: ObserverSet<Int>, _ form: Form, owner: Tracked) {
            switch form {
            case .capturing: _ = set.once.add { value in self.hear(value) }
            case .appliedMethod: _ = set.once.add(hear)
            case .weak:
                _ = set.once.add { [weak self] value in
                    if let self {
                        self.assumeIsolated { $0.hear(value) }
                    }
                }
            case .capturingNothing: _ = set.once.add { [calls] value in calls.append(value) }
            case .ownerAppliedMethod: set.once.add(owner, hear)
            case .ownerCapturingNothing: set.once.add(owner) { [calls] _, value in calls.append(value) }
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

    private let set = ObserverSet<Int>()
    private let calls = Log<Int>()
    private let owner = Tracked()

    @Test(
        "An observer added on an actor is called in place there, and on the actor when notified from elsewhere",
        arguments: Form.allCases)
    func onTheActor(_ form: Form) async {
        let hearer = Hearer(calls)
        await hearer.observe(set, form, owner: owner)

        expect(await hearer.notify(set, 1), equals: [1])

        expect(await hearer.letNotify(set, 2), equals: [1], "value 2 waits, since the actor is busy")
        await set.settled()
        expect(calls.entries, equals: [1, 2])
        set.removeAll()
    }

    @Test(
        "An observer added on an actor runs on the actor each time, even if many threads notify at once",
        arguments: Form.allCases)
    func fromManyThreads(_ form: Form) async {
        let hearer = Hearer(calls)
        await hearer.observe(set, form, owner: owner)

        await onThreads(4) { [set] thread in
            for number in 0..<many(5_000) { set.notify(thread * many(5_000) + number) }
        }
        await set.settled()

        expect(calls.count, equals: 4 * many(5_000))
        if form.capturesTheActor { expect(await hearer.heard, equals: calls.entries) }
        for thread in 0..<4 {
            let ofOne = calls.entries.filter { $0 / many(5_000) == thread }
            #expect(zip(ofOne, ofOne.dropFirst()).allSatisfy(<))
        }
        set.removeAll()
    }

    @Test("A one-time observer added on an actor runs on the actor", arguments: Form.allCases)
    func once(_ form: Form) async {
        let hearer = Hearer(calls)
        await hearer.observeOnce(set, form, owner: owner)

        await onThread { [set] in
            set.notify(1)
            set.notify(2)
        }
        await set.settled()

        expect(calls.entries, equals: [1])
        #expect(set.isEmpty)
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

    @Test("When the actor is gone, a function is called before `notify` returns, however long its calls take")
    func longCalls() async {
        weak var observed: Adder?
        do {
            let adder = Adder()
            observed = adder
            await adder.add(to: set) { [calls] value in
                spin(for: .milliseconds(5))
                calls.append(value)
            }
        }
        await eventually { observed == nil }

        let counts = await onThread { [set, calls] in
            (1...20).map { value in
                set.notify(value)
                return calls.count
            }
        }

        expect(counts, equals: Array(1...20))
        set.removeAll()
    }

    @Test("While a thread delivers what waited for a gone actor, another actor at its address makes no calls in place")
    func addressOfAGoneActor() async throws {
        let (isInCall, mayEnd) = (Signal(), Signal())
        weak var observed: Adder?
        do {
            let adder = Adder()
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
        var atItsAddress = Notifier(claiming: try #require(registry.mailboxes().first).identity)
        registry.forEachLiving { slot in
            _ = slot.send(3, by: &atItsAddress)
        }

        expect(calls.entries, equals: [])
        mayEnd.set()
        await delivery
        // The first value reaches the second observer last: the thread that notified it delivered the others meanwhile.
        expect(calls.entries, equals: [2, 3, 1])
        set.removeAll()
    }

    @Test("An observer that an actor adds with an owner ends with the owner")
    func withAnOwner() async {
        let hearer = Hearer(calls)
        var owner: Tracked? = Tracked()
        await hearer.observe(set, .ownerCapturingNothing, owner: owner!)

        owner = nil
        await onThread { [set] in set.notify(1) }
        await set.settled()

        expect(calls.entries, equals: [])
        #expect(set.isEmpty)
    }

    @Test(
        "An observer that an instance of a global actor's type adds for itself runs on that instance", .serialized,
        arguments: Archive.Form.allCases)
    fileprivate func onAGlobalActorsInstance(_ form: Archive.Form) async {
        for archive in [Archive.shared, Archive()] {
            await archive.observe(set, form)

            await onThreads(2) { [set] _ in
                for _ in 0..<many(200) { set.notify(1) }
            }
            await set.settled()

            expect(await archive.takeCount(), equals: (form == .once ? 1 : 2 * many(200)))
            set.removeAll()
        }
    }

    @Test("The main actor may be an owner, and its observer runs on it")
    func mainActorAsOwner() async {
        set.add(MainActor.shared) { [calls] (_: isolated MainActor, value) in
            MainActor.assertIsolated()
            calls.append(value)
        }
        set.once.add(MainActor.shared) { [calls] (_: isolated MainActor, value) in
            MainActor.assertIsolated()
            calls.append(value)
        }

        await onThread { [set] in set.notify(1) }
        await set.settled()

        expect(calls.entries, equals: [1, 1])
    }

    @Test("An explicitly nonisolated observer that the main actor adds runs on the notifying thread")
    @MainActor func onTheMainActor() async {
        let observer: @Sendable (Int) -> Void = { [calls] value in calls.append(value) }
        _ = set.add(observer)

        let heard = await onThread { [set, calls] in
            set.notify(1)
            return calls.entries
        }

        expect(heard, equals: [1])
    }

    @Test("An actor that owns a one-time observer receives one value, on the actor")
    func actorOwnsAOneTimeObserver() async {
        let hearer = Hearer(calls)
        let cleared = ObserverSet<Void>()
        set.once.add(hearer) { hearer, value in
            hearer.hear(value)
            if value == 0 { return }
        }
        cleared.once.add(hearer) { hearer in
            hearer.hear(7)
            hearer.hear(8)
        }

        await onThread { [set] in
            set.notify(1)
            set.notify(2)
            cleared.notify()
            cleared.notify()
        }
        await set.settled()
        await cleared.settled()

        expect(await hearer.heard.sorted(), equals: [1, 7, 8])
        #expect(set.isEmpty && cleared.isEmpty)
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
    func add(to set: ObserverSet<Int>, _ observer: @escaping @Sendable (Int) -> Void) { _ = set.add(observer) }
}
