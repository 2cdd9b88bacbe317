import Foundation
import ObserverSet
import Testing

/// An observer runs where it belongs: in place where the notifier is already there, asynchronously otherwise.
@Suite("Isolation", .lifetimesChecked, .againstHanging)
struct IsolationTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension IsolationTests {
    // MARK: The main actor

    /// Scenario 36 for the main actor, where the call is made in place.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test(
        "On the main actor, its observers are called in place, whatever the compiler knows of the notifier",
        arguments: ObserverKind.ofTheMainActor, 0..<4)
    @MainActor func inPlace(_ kind: ObserverKind, _ notifier: Int) async {
        /// A class that belongs to no actor.
        final class Model {
            let changed: ObserverSet<Int>
            var value = 0 { didSet { changed.notify(value) } }
            init(_ changed: ObserverSet<Int>) { self.changed = changed }
        }
        let sources: [any NotificationSource<Int>] = [set, set.map { $0 }]
        let registrations = sources.map { source in
            kind.add(to: source) { [log] in
                MainActor.preconditionIsolated()
                log.append("\($0)")
            }
        }

        for value in 1...2 {
            switch notifier {
            case 0: set.notify(value)
            case 1: notifyWithoutIsolation(value)
            case 2: set.notify(value, isolation: nil)
            default: Model(set).value = value
            }
            expect(log.entries, equals: (kind.isOnce ? 1...1 : 1...value).flatMap { ["\($0)", "\($0)"] })
            // After a suspension it is as before.
            await Task.yield()
        }

        expect(set.isEmpty, equals: kind.isOnce)
        registrations.forEach { $0.end() }
    }

    @Test(
        "From another thread or actor, the main actor's observers are called asynchronously",
        arguments: ObserverKind.ofTheMainActor)
    @MainActor func asynchronously(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append("\($0)")
        }

        join { [set] in for value in 1...100 { set.notify(value) } }
        #expect(log.entries.isEmpty && registration.token.isActive)
        await set.settled()
        await Keeper().perform { [set] _ in set.notify(101) }
        await set.settled()

        expect(log.entries, equals: (1...(kind.isOnce ? 1 : 101)).map { "\($0)" })
        expect(registration.token.isActive, equals: !kind.isOnce)
        registration.end()
    }

    @Test("A closure, with an owner or without, belongs to the actor on which it is formed, unless it is nonisolated")
    @MainActor func closuresInheritIsolation() async {
        let owner = Tracked()
        var touched = 0
        _ = set.add { _ in touched += 1 }
        set.add(owner) { _, _ in touched += 10 }
        _ = set.once.add { _ in touched += 100 }
        set.once.add(owner) { _, _ in touched += 1_000 }
        _ = set.addNonisolated { [log] in log.append("closure \($0)") }
        set.addNonisolated(owner) { [log] _, value in log.append("owner \(value)") }

        join { [set] in set.notify(1) }
        expect(touched, equals: 0)
        expect(log.entries, equals: ["closure 1", "owner 1"])
        await set.settled()
        expect(touched, equals: 1_111)
        set.notify(2)

        expect(touched, equals: 1_122)
    }

    // MARK: Methods

    @Test("Methods of one class each run in their own isolation, in whatever order they are added")
    func methodsOfOneClass() async {
        let sheet = Sheet(log)
        let (moved, cleared) = (ObserverSet<(Int, Int)>(), ObserverSet<Void>())
        cleared.add(method: Sheet.clear, of: sheet)
        for source in [set, set.once] as [any NotificationSource<Int>] {
            source.add(method: Sheet.note, of: sheet)
            source.add(method: Sheet.show, of: sheet)
        }
        for source in [moved, moved.once] as [any NotificationSource<(Int, Int)>] {
            source.add(method: Sheet.showMove, of: sheet)
            source.add(method: Sheet.noteMove, of: sheet)
        }

        let heard = await onThread { [set, log] in
            set.notify(1)
            moved.notify(2, 3)
            cleared.notify()
            return log.entries.filter { $0.hasPrefix("noted") }
        }
        for source in [set, moved, cleared] as [any NotificationSource] { await source.settled() }

        expect(heard, equals: ["noted 1", "noted 1", "noted 2, 3", "noted 2, 3"])
        expect(log.entries.count, equals: 9)
        for description in [set.debugDescription, moved.debugDescription] {
            #expect(description.contains("Sheet, on MainActor") && description.contains("Sheet, nonisolated"))
        }
    }

    @Test("Methods of a global actor other than the main one run on it, whatever their parameters, and hold weakly")
    func methodsOfAnotherGlobalActor() async {
        var archive: Archive? = await Archive(log)
        let cleared = ObserverSet<Void>()
        let moved = ObserverSet<(Int, Int)>()
        set.add(method: Archive.hear, of: archive!)
        set.once.add(method: Archive.hear, of: archive!)
        cleared.add(method: Archive.clear, of: archive!)
        moved.add(method: Archive.move, of: archive!)

        await Task.detached { [set] in
            set.notify(1)
            cleared.notify()
            moved.notify((2, 3))
        }.value
        for source in [set, moved, cleared] as [any NotificationSource] { await source.settled() }
        expect(log.entries.sorted(), equals: ["1", "1", "2 to 3", "clear"])

        await Task { @Storage [set, log] in
            set.notify(4)
            expect(log.entries.last, equals: "4", "called in place")
        }.value
        archive = nil
        await eventually { set.isEmpty && cleared.isEmpty && moved.isEmpty }
        #expect(set.isEmpty && cleared.isEmpty && moved.isEmpty)
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

    /// Notifies from where the compiler sees no isolation.
    private nonisolated func notifyWithoutIsolation(_ value: Int) { set.notify(value) }
}

@MainActor private final class Sheet {
    private let log: Log<String>

    nonisolated init(_ log: Log<String>) { self.log = log }

    nonisolated func note(_ value: Int) { log.append("noted \(value)") }
    nonisolated func noteMove(_ from: Int, _ to: Int) { log.append("noted \(from), \(to)") }

    func show(_ value: Int) { isShown("\(value)") }
    func showMove(_ from: Int, _ to: Int) { isShown("\(from), \(to)") }
    func clear() { isShown("nothing") }

    private func isShown(_ text: String) {
        MainActor.preconditionIsolated()
        log.append("shown \(text)")
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

    func hear(_ value: Int) { note("\(value)") }
    func clear() { note("clear") }
    func move(_ from: Int, _ to: Int) { note("\(from) to \(to)") }

    private func note(_ text: String) {
        Storage.preconditionIsolated()
        log.append(text)
    }
}
