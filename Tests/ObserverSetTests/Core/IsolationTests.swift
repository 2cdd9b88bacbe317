import Foundation
import ObserverSet
import Testing

/// An observer runs where it belongs: in place where the notifier is already there, asynchronously otherwise.
@Suite("Isolation", .lifetimesChecked, .againstHanging)
struct IsolationTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    // MARK: The main actor

    /// Scenario 36 for the main actor, where the call is made in place.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test("On the main actor, its observers are called in place", arguments: ObserverKind.ofTheMainActor)
    @MainActor func inPlace(_ kind: ObserverKind) {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append("\($0)")
        }

        set.notify(1)
        expect(log.entries, equals: ["1"])
        set.notify(2)

        expect(log.entries, equals: (kind.isOnce ? ["1"] : ["1", "2"]))
        expect(set.isEmpty, equals: kind.isOnce)
        registration.end()
    }

    @Test(
        "In nonisolated code that runs on the main actor, its observers are called in place",
        arguments: ObserverKind.ofTheMainActor)
    @MainActor func inPlaceFromNonisolatedCode(_ kind: ObserverKind) {
        let registration = kind.add(to: set) { [log] in log.append("\($0)") }

        notifyWithoutIsolation(1)

        expect(log.entries, equals: ["1"])
        registration.end()
    }

    @Test("A `didSet` of a class that belongs to no actor calls observers in place on the main actor")
    @MainActor func inPlaceFromDidSet() {
        final class Model {
            let changed = ObserverSet<Int>()
            var value = 0 { didSet { changed.notify(value) } }
        }
        let model = Model()
        _ = model.changed.add { [log] in log.append("\($0)") }

        model.value = 1
        model.value = 2

        expect(log.entries, equals: ["1", "2"])
    }

    @Test("A notification with `isolation: nil` on the main actor still calls the main actor's observers in place")
    @MainActor func isolationKeptBack() {
        _ = set.add { [log] in log.append("\($0)") }

        set.notify(1, isolation: nil)

        expect(log.entries, equals: ["1"])
    }

    @Test("After a suspension, the main actor's observers are called in place as before")
    @MainActor func inPlaceAfterSuspension() async {
        _ = set.add { [log] in log.append("\($0)") }

        for value in 0..<10 {
            await Task.yield()
            set.notify(value)
            expect(log.count, equals: 2 * value + 1)
            notifyWithoutIsolation(value)
            expect(log.count, equals: 2 * value + 2)
        }
    }

    @Test("A call in place delivers the values enqueued before, and does not wait for those enqueued meanwhile")
    @MainActor func inPlaceBehindOthers() async {
        let set = ObserverSet<Int>()
        _ = set.add { [log, unowned set] value in
            log.append("\(value)")
            if value < 10 { join { set.notify(value + 10) } }
        }
        join { set.notify(1) }

        set.notify(2)
        log.append("notified")
        await set.settled()

        expect(log.entries, equals: ["1", "2", "notified", "11", "12"])
    }

    @Test(
        "From another thread, the main actor's observers are called asynchronously",
        arguments: ObserverKind.ofTheMainActor)
    @MainActor func asynchronously(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append("\($0)")
        }

        join { [set] in for value in 1...100 { set.notify(value) } }
        #expect(log.entries.isEmpty)
        #expect(registration.token.isActive)

        await set.settled()
        expect(log.entries, equals: (1...(kind.isOnce ? 1 : 100)).map { "\($0)" })
        expect(registration.token.isActive, equals: !kind.isOnce)
        registration.end()
    }

    @Test(
        "From another actor, the main actor's observers are called asynchronously",
        arguments: ObserverKind.ofTheMainActor)
    func fromAnActor(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append("\($0)")
        }

        await Keeper().perform { [set] _ in set.notify(1) }
        await set.settled()

        expect(log.entries, equals: ["1"])
        registration.end()
    }

    @Test("A closure belongs to the actor on which it is formed")
    @MainActor func closureInheritsIsolation() async {
        var touched = 0
        _ = set.add { _ in touched += 1 }

        set.notify(1)
        expect(touched, equals: 1)

        join { [set] in set.notify(2) }
        expect(touched, equals: 1)
        await set.settled()
        expect(touched, equals: 2)
    }

    @Test("A closure with an owner and a one-time closure belong to the actor on which they are formed")
    @MainActor func otherFormsInheritIsolation() async {
        let owner = Tracked()
        var touched = 0
        set.add(owner) { _, _ in touched += 1 }
        _ = set.once.add { _ in touched += 10 }
        set.once.add(owner) { _, _ in touched += 100 }

        join { [set] in set.notify(2) }
        expect(touched, equals: 0)
        await set.settled()
        expect(touched, equals: 111)
    }

    @Test("A method belongs to the actor of its class, wherever it is added")
    func methodKeepsIsolation() async {
        let owner = MainActorListener<Int> { [log] in
            MainActor.preconditionIsolated()
            log.append("\($0)")
        }
        set.add(method: MainActorListener.hear, of: owner)

        set.notify(1)
        await set.settled()

        expect(log.entries, equals: ["1"])
    }

    @Test(
        "Methods of a global actor other than the main one run on it, whatever their parameters, wherever they are notified"
    )
    func methodsOfAnotherGlobalActor() async {
        let archive = await Archive(log)
        let cleared = ObserverSet<Void>()
        let moved = ObserverSet<(Int, Int)>()
        set.add(method: Archive.hear, of: archive)
        set.once.add(method: Archive.hear, of: archive)
        cleared.add(method: Archive.clear, of: archive)
        moved.add(method: Archive.move, of: archive)

        await Task.detached { [set] in
            set.notify(1)
            cleared.notify()
            moved.notify((2, 3))
        }.value
        await set.settled()
        await cleared.settled()
        await moved.settled()
        expect(log.entries.sorted(), equals: ["1", "1", "2 to 3", "clear"])

        await Task { @Storage [set, log] in
            set.notify(4)
            expect(log.entries.last, equals: "4", "called in place")
        }.value
    }

    @Test("Methods of a class on no actor run on the notifying thread, whatever their parameters")
    func methodsOfNoActor() {
        let listener = PlainMethods(log)
        let cleared = ObserverSet<Void>()
        let moved = ObserverSet<(Int, Int)>()
        set.add(method: PlainMethods.hear, of: listener)
        cleared.add(method: PlainMethods.clear, of: listener)
        moved.add(method: PlainMethods.move, of: listener)

        set.notify(1)
        cleared.notify()
        moved.notify(2, 3)

        expect(log.entries, equals: ["1", "clear", "2 to 3"])
    }

    @Test("A method's owner is not kept alive", arguments: [true, false])
    func methodsHoldWeakly(isStored: Bool) async {
        weak var observed: AnyObject?
        if isStored {
            let archive = await Archive(log)
            set.add(method: Archive.hear, of: archive)
            observed = archive
        } else {
            let listener = PlainMethods(log)
            set.add(method: PlainMethods.hear, of: listener)
            observed = listener
        }
        #expect(observed == nil)
        set.notify(1)
        await set.settled()
        expect(log.entries, equals: [])
        #expect(set.isEmpty)
    }

    @Test("Methods of no parameter and of several belong to the actor of their class as well")
    @MainActor func methodsOfAnyParameters() async {
        @MainActor final class PlainListener {
            var heard: [String] = []
            func clear() { heard.append("clear") }
            func move(_ from: Int, _ to: Int) { heard.append("\(from) to \(to)") }
        }
        let cleared = ObserverSet<Void>()
        let moved = ObserverSet<(Int, Int)>()
        let owner = PlainListener()
        cleared.add(method: PlainListener.clear, of: owner)
        moved.add(method: PlainListener.move, of: owner)

        cleared.notify()
        moved.notify(1, 2)
        expect(owner.heard, equals: ["clear", "1 to 2"])

        join {
            cleared.notify()
            moved.notify(3, 4)
        }
        expect(owner.heard.count, equals: 2)
        await cleared.settled()
        await moved.settled()
        expect(Set(owner.heard.dropFirst(2)), equals: ["clear", "3 to 4"])
    }

    // MARK: Observers of no actor

    @Test("An observer that belongs to no actor runs on the notifying thread", arguments: ObserverKind.inPlace)
    func nonisolated(_ kind: ObserverKind) async {
        let threads = Log<ObjectIdentifier>()
        let registration = kind.add(to: set) { _ in threads.append(ObjectIdentifier(Thread.current)) }

        let notifier = await onThread { [set] in
            set.notify(1)
            return ObjectIdentifier(Thread.current)
        }

        expect(threads.entries, equals: [notifier])
        registration.end()
    }

    @Test("A nonisolated observer runs on the notifying thread although it was formed on the main actor")
    @MainActor func nonisolatedFormedOnTheMainActor() {
        let owner = Tracked()
        _ = set.addNonisolated { [log] in log.append("closure \($0)") }
        set.addNonisolated(owner) { [log] _, value in log.append("owner \(value)") }

        join { [set] in set.notify(1) }

        expect(log.entries, equals: ["closure 1", "owner 1"])
    }

    // MARK: Other actors

    @Test("On the actor that owns it, an observer is called in place")
    func inPlaceOnItsOwner() async {
        let keeper = Keeper()
        set.add(keeper) { [log] (keeper: isolated Keeper, value) in
            keeper.preconditionIsolated()
            log.append("\(value)")
        }

        await keeper.perform { [set, log] _ in
            set.notify(1)
            expect(log.entries, equals: ["1"])
        }
    }

    @Test("From another thread, the observer of an actor is called asynchronously, on the actor")
    func asynchronouslyOnItsOwner() async {
        let keeper = Keeper()
        set.add(keeper) { [log] (keeper: isolated Keeper, value) in
            keeper.preconditionIsolated()
            log.append("\(value)")
        }

        await keeper.perform { [set, log] _ in
            join { set.notify(1) }
            #expect(log.entries.isEmpty)
        }
        await set.settled()

        expect(log.entries, equals: ["1"])
    }

    @Test("Another instance of an actor's type is another actor")
    func anotherInstance() async {
        let keeper = Keeper()
        set.add(keeper) { [log] (keeper: isolated Keeper, value) in
            keeper.preconditionIsolated()
            log.append("\(value)")
        }

        // Called in place, the observer would run on this actor, and its precondition would fail.
        await Keeper().perform { [set] _ in set.notify(1) }
        await set.settled()

        expect(log.entries, equals: ["1"])
    }

    @Test("On a global actor, its observers are called in place, and asynchronously from elsewhere")
    @Elsewhere func globalActor() async {
        _ = set.add { [log] value in
            Elsewhere.shared.preconditionIsolated()
            log.append("\(value)")
        }

        set.notify(1)
        expect(log.entries, equals: ["1"])

        join { [set] in set.notify(2) }
        expect(log.entries, equals: ["1"])
        await set.settled()
        expect(log.entries, equals: ["1", "2"])
    }

    @Test("An actor's observer uses the actor's state without `await`")
    func actorsOwnState() async {
        actor Index {
            var words: [Int] = []

            func observe(_ set: ObserverSet<Int>) {
                set.add(self) { index, word in index.words.append(word) }
                _ = set.add { self.words.append(-$0) }
            }

            func notify(_ set: ObserverSet<Int>) -> [Int] {
                set.notify(1)
                return words
            }
        }
        let index = Index()
        await index.observe(set)

        expect(await index.notify(set), equals: [1, -1])
        await onThread { [set] in set.notify(2) }
        await set.settled()

        expect(await index.words.sorted(), equals: [-2, -1, 1, 2])
        set.removeAll()
    }

    @Test("An observer may have an owner and belong to an actor that is another object")
    func ownerAndActor() async {
        actor Index {
            var words: [Int] = []

            func observe(_ set: ObserverSet<Int>, owner: Tracked) {
                set.add(owner) { _, word in self.words.append(word) }
            }
        }
        let index = Index()
        var owner: Tracked? = Tracked()
        await index.observe(set, owner: owner!)

        set.notify(1)
        await set.settled()
        expect(await index.words, equals: [1])

        owner = nil
        set.notify(2)
        await set.settled()
        expect(await index.words, equals: [1])
    }

    /// Scenario 38 for an actor that owns its observer.
    ///
    /// Source: qcoro#168.
    @Test("An actor that everybody else has released still receives the values that wait for its observers")
    func actorLetGo() async {
        let calls = Counter()
        for _ in 0..<100 {
            let keeper = Keeper()
            set.add(keeper) { (_: isolated Keeper, _) in calls.increment() }
            set.notify(1)
        }
        await set.settled()

        // The job that delivers a value holds the actor, so each actor receives at least one value. An actor that was
        // already deallocated receives no later one.
        #expect(calls.value >= 100)
        await eventually { set.isEmpty }
        #expect(set.isEmpty)
    }

    @Test("Methods of one class each run in their own isolation, in whatever order they are added")
    func methodsOfOneClass() async {
        let sheet = Sheet(log)
        set.add(method: Sheet.note, of: sheet)
        set.add(method: Sheet.show, of: sheet)
        set.once.add(method: Sheet.note, of: sheet)
        set.once.add(method: Sheet.show, of: sheet)
        let moved = ObserverSet<(Int, Int)>()
        moved.add(method: Sheet.showMove, of: sheet)
        moved.add(method: Sheet.noteMove, of: sheet)
        moved.once.add(method: Sheet.showMove, of: sheet)
        moved.once.add(method: Sheet.noteMove, of: sheet)

        let heard = await onThread { [set, log] in
            set.notify(1)
            moved.notify(2, 3)
            return log.entries.filter { $0.hasPrefix("noted") }
        }
        await set.settled()
        await moved.settled()

        expect(heard, equals: ["noted 1", "noted 1", "noted 2, 3", "noted 2, 3"])
        expect(log.entries.count, equals: 8)
        for place in ["set", "moved"] {
            let description = place == "set" ? set.debugDescription : moved.debugDescription
            #expect(description.contains("Sheet, on MainActor"))
            #expect(description.contains("Sheet, nonisolated"))
        }
    }

    @Test("A closure of the main actor that unchecked code calls elsewhere has observers called on their actor, later")
    func calledElsewhere() async {
        struct Unchecked: @unchecked Sendable { let call: () -> Void }
        let token = set.add { @MainActor [log] value in
            MainActor.preconditionIsolated()
            log.append("\(value)")
        }
        let callback = await MainActor.run { [set] in Unchecked { set.notify(1) } }

        await onThread { callback.call() }
        await set.settled()
        expect(log.entries, equals: ["1"])

        await MainActor.run { [log] in
            callback.call()
            expect(log.entries, equals: ["1", "1"], "called in place")
        }
        token.remove()
    }

    /// Notifies from where the compiler sees no isolation.
    private nonisolated func notifyWithoutIsolation(_ value: Int) {
        set.notify(value)
    }
}

@MainActor private final class Sheet {
    private let log: Log<String>

    nonisolated init(_ log: Log<String>) {
        self.log = log
    }

    nonisolated func note(_ value: Int) { log.append("noted \(value)") }
    nonisolated func noteMove(_ from: Int, _ to: Int) { log.append("noted \(from), \(to)") }

    func show(_ value: Int) {
        MainActor.assertIsolated()
        log.append("shown \(value)")
    }

    func showMove(_ from: Int, _ to: Int) {
        MainActor.assertIsolated()
        log.append("shown \(from), \(to)")
    }
}

/// Public, since the compiler stops at the methods of a global actor that is not.
@globalActor public actor Storage {
    /// The only one.
    public static let shared = Storage()
}

@Storage private final class Archive {
    private let log: Log<String>

    init(_ log: Log<String>) { self.log = log }

    func hear(_ value: Int) {
        Storage.preconditionIsolated()
        log.append("\(value)")
    }

    func clear() {
        Storage.preconditionIsolated()
        log.append("clear")
    }

    func move(_ from: Int, _ to: Int) {
        Storage.preconditionIsolated()
        log.append("\(from) to \(to)")
    }
}

private final class PlainMethods: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) { self.log = log }

    func hear(_ value: Int) { log.append("\(value)") }
    func clear() { log.append("clear") }
    func move(_ from: Int, _ to: Int) { log.append("\(from) to \(to)") }
}
