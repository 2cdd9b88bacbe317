import Dispatch
import ObserverSet
import Testing

/// Guarantee 7: notifications from one thread reach each actor in the order they were sent, even across sets and
/// observers.
@Suite("Guarantee 7: one order for each actor", .lifetimesChecked, .againstHanging)
struct Guarantee07OneOrderForEachActorTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()
}

extension Guarantee07OneOrderForEachActorTests {
    // MARK: Programs of several sets

    /// A player that makes *start, stop, start, stop, start* must end as playing.
    @Test("A view, and an actor, that observe `started` and `stopped` of another actor have its last state")
    func lastState() async {
        for _ in 0..<many(20_000) {
            let player = MusicPlayer()
            let (shown, heard) = (Log<Int>(), Log<Int>())
            let keeper = Keeper()
            for set in [player.started, player.stopped] {
                _ = set.add { @MainActor in shown.append($0) }
                set.add(keeper) { (_: isolated Keeper, number) in heard.append(number) }
            }
            await player.playAndStop()
            await player.started.settled()
            expect(shown.entries, equals: [0, 1, 2, 3, 4])
            expect(heard.entries, equals: [0, 1, 2, 3, 4])
        }
    }

    @Test("What a thread notifies after it was handed on by another thread arrives after what that thread has notified")
    func handedOn() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let keeper = Keeper()
        for set in sets { set.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) } }

        let gate = Gate(2)
        await onThreads(2) { thread in
            for round in 0..<many(20_000) {
                if round % 2 == thread { sets[round % 3 % 2].notify(round) }
                gate.pass()
            }
        }
        for set in sets { await set.settled() }

        expect(log.entries, equals: Array(0..<many(20_000)))
    }

    @Test("A set that dies meanwhile loses nothing, and nothing overtakes what it has notified")
    func deadSet() async {
        let keeper = Keeper()
        let lasting = ObserverSet<Int>()
        lasting.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }

        for round in 0..<100 {
            var set: ObserverSet<Int>? = ObserverSet()
            set?.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }
            set?.notify(2 * round)
            set = nil
            lasting.notify(2 * round + 1)
        }
        await lasting.settled()

        expect(log.entries, equals: Array(0..<200))
    }

    // MARK: In place

    @Test("A notification on an actor first delivers what waits for its observer, and nothing that waits for others")
    @MainActor func takenOutOfTheMiddle() async {
        let other = ObserverSet<Int>()
        _ = other.add { @MainActor [log] in log.append(-$0) }
        _ = set.add { @MainActor [log] in log.append($0) }
        join { [set] in
            for value in 1...3 {
                other.notify(value)
                set.notify(value)
            }
        }

        set.notify(4)
        expect(log.entries, equals: [1, 2, 3, 4])
        set.notify(5)
        expect(log.entries, equals: [1, 2, 3, 4, 5])

        await other.settled()
        expect(log.entries, equals: [1, 2, 3, 4, 5, -1, -2, -3])
    }

    /// A button's handler must not deliver thousands of values first.
    @Test("Behind a long backlog, a value that is notified on the observer's actor waits like the others")
    @MainActor func longBacklog() async {
        _ = set.add { @MainActor [log] in log.append($0) }
        join { [set] in for value in 0..<10_000 { set.notify(value) } }

        set.notify(10_000)

        expect(log.count, equals: 0)
        await set.settled()
        expect(log.entries, equals: Array(0...10_000))
    }

    @Test("No stack grows with what waits")
    func noStackGrows() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let actor = BusyActor()
        let depths = Shared((now: 0, most: 0))
        for index in 0..<2 {
            sets[index].add(actor) { (_: isolated BusyActor, value) in
                depths.value.now += 1
                depths.value.most = max(depths.value.most, depths.value.now)
                if value > 0 { sets[1 - index].notify(value - 1) }
                depths.value.now -= 1
            }
        }
        let end = Signal()
        await actor.keepBusy(until: end)

        for value in 0..<500 { sets[value % 2].notify(value % 3) }
        end.set()
        for set in sets { await set.settled() }

        expect(depths.value.now, equals: 0)
        #expect((1...6).contains(depths.value.most))
        // The observers hold the sets.
        for set in sets { set.removeAll() }
    }

    // MARK: One notifying thread

    /// Scenario 13: one task for each value loses the order, a mailbox does not.
    ///
    /// Source: swift-migration-guide#69.
    @Test(
        "Values from one thread arrive in order, in bursts and over more than one turn",
        arguments: ObserverKind.allCases)
    func oneThread(_ kind: ObserverKind) async {
        var registration: KeptRegistration?
        for count in [3_000] + Array(repeating: 100, count: many(600)) + Array(repeating: 3, count: many(2_000)) {
            if registration == nil || kind.isOnce { registration = kind.add(to: set) { [log] in log.append($0) } }

            await onThread { [set] in for value in 0..<count { set.notify(value) } }
            await set.settled()

            expect(log.entries, equals: kind.isOnce ? [0] : Array(0..<count))
            log.removeAll()
        }
        registration?.end()
    }

    // MARK: Several notifying threads

    /// Scenario 11: several notifiers, several observers.
    ///
    /// Source: dotnet/reactive#455. No order is promised between two threads' notifications, nor that two observers agree on one.
    @Test(
        "Values from several threads arrive in each one's order, on an actor those of all sets",
        arguments: ObserverKind.lasting)
    func severalThreads(_ kind: ObserverKind) async {
        let isOfOneActor = kind == .actor || Self.ofTheMainActor.contains(kind)
        let sets = (0..<(isOfOneActor ? 3 : 1)).map { _ in ObserverSet<(thread: Int, index: Int)>() }
        let logs = (0..<2).map { _ in Log<(thread: Int, index: Int)>() }
        let registrations = sets.flatMap { set in logs.map { log in kind.add(to: set) { log.append($0) } } }

        for count in [500] + Array(repeating: 50, count: many(160)) {
            await onThreads(4) { thread in
                for index in 0..<count { sets[index % sets.count].notify((thread, index)) }
            }
            for set in sets { await set.settled() }

            for log in logs {
                let entries = log.entries
                for thread in 0..<4 {
                    expect(entries.filter { $0.thread == thread }.map(\.index), equals: Array(0..<count))
                }
                log.removeAll()
            }
        }
        registrations.forEach { $0.end() }
    }

    /// Scenario 12: one owner, two ways of delivery.
    @Test("An owner that observes in place and on a queue receives the values in order in both places")
    func inPlaceAndOnAQueue() async {
        let owner = Tracked()
        let inPlace = Log<Int>()
        let onQueue = Log<Int>()
        set.add(owner) { _, value in inPlace.append(value) }
        set.addNonisolated(on: DispatchQueue(label: "Q"), owner) { _, value in onQueue.append(value) }

        for value in 1...1_000 { set.notify(value) }
        expect(inPlace.entries, equals: Array(1...1_000))
        await set.settled()

        expect(onQueue.entries, equals: Array(1...1_000))
    }

    // MARK: From the observer's own actor and from elsewhere

    private static let ofTheMainActor = ObserverKind.ofTheMainActor.filter { !$0.isOnce }

    /// Scenario 14: the main actor as notifier and observer.
    @Test(
        "Values from the main actor, another thread, and the main actor again arrive in that order, in place",
        arguments: ofTheMainActor, [false, true])
    @MainActor func mainAndElsewhere(_ kind: ObserverKind, withoutIsolation: Bool) async {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append($0)
        }
        // What the compiler knows where the code of a plain class notifies: nothing.
        nonisolated func notifyWithoutIsolation(_ value: Int) { set.notify(value) }
        func notify(_ value: Int) { withoutIsolation ? notifyWithoutIsolation(value) : set.notify(value) }

        var timesInPlace = 0
        for _ in 0..<50 {
            notify(0)
            expect(log.entries, equals: [0])
            // The main actor is occupied, so these must wait …
            join { [set] in for value in 1..<100 { set.notify(value) } }
            expect(log.entries, equals: [0])
            // … and are delivered before this, in place, unless other tests have just put a thousand values behind them.
            notify(100)
            let isInPlace = log.entries == Array(0...100)
            expect(isInPlace || log.entries == [0])
            if isInPlace { timesInPlace += 1 }

            await set.settled()
            expect(log.entries, equals: Array(0...100))
            log.removeAll()
        }
        expect(timesInPlace > 0)
        registration.end()
    }

    // MARK: Nested

    /// Scenario 36: notified by the observer itself.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test(
        "A value that is notified in a delivery comes after the waiting values, never inside the observer's call",
        arguments: ObserverKind.lastingHopping)
    func duringADelivery(_ kind: ObserverKind) async {
        let allEnqueued = Signal()
        let isMain = ObserverKind.ofTheMainActor.contains(kind)
        let registration = kind.add(to: set) { [set, log] value in
            allEnqueued.wait()
            log.append(value)
            if value < 10, isMain { MainActor.assumeIsolated { set.notify(value + 100) } }
            if value < 10, !isMain { set.notify(value + 100) }
            log.append(-value)
        }

        for value in 1...3 { set.notify(value) }
        allEnqueued.set()
        await set.settled()
        // For the values that were notified meanwhile.
        await set.settled()

        expect(log.entries, equals: [1, -1, 2, -2, 3, -3, 101, -101, 102, -102, 103, -103])
        registration.end()
        set.removeAll()
    }

    // MARK: Long queues

    @Test("A value that arrives between two turns of a delivery comes after the values that the first turn left")
    @MainActor func betweenTwoTurns() async {
        _ = set.add { [log] in log.append($0) }
        join { [set] in for value in 0..<10_000 { set.notify(value) } }

        // This runs behind the first turn of the delivery, and before the second.
        let notifier = Task { @MainActor [set, log] in
            let before = log.count
            set.notify(10_000)
            return before
        }
        let before = await notifier.value
        await set.settled()

        expect(before < 10_000)
        expect(log.entries, equals: Array(0...10_000))
    }
}

/// An actor whose code calls `notify`.
private actor MusicPlayer {
    nonisolated let started = ObserverSet<Int>()
    nonisolated let stopped = ObserverSet<Int>()

    func playAndStop() {
        for number in 0..<5 { number.isMultiple(of: 2) ? started.notify(number) : stopped.notify(number) }
    }
}
