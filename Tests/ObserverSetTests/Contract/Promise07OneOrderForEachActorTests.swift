import Dispatch
import ObserverSet
import Testing

/// Promise 7: what one thread notifies reaches each actor in the order in which it was notified, whichever sets and observers it
/// concerns.
@Suite("Promise 7: one order for each actor", .lifetimesChecked, .againstHanging)
struct Promise07OneOrderForEachActorTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()

    // MARK: Programs of several sets

    /// A player that makes *start, stop, start, stop, start* must end as playing.
    @Test("A view that observes `started` and `stopped` of another actor shows the last state")
    func lastState() async {
        for _ in 0..<many(10_000) {
            let player = MusicPlayer()
            let view = await MusicPlayerView(player)
            await player.playAndStop()
            await player.started.settled()
            #expect(await view.isPlaying)
            expect(await view.seen, equals: [0, 1, 2, 3, 4])
        }
    }

    @Test("An actor that observes `started` and `stopped` of another one has the last state")
    func lastStateOfAnActor() async {
        for _ in 0..<many(40_000) {
            let player = MusicPlayer()
            let observer = MusicPlayerObserver()
            player.started.add(observer) { (observer: isolated MusicPlayerObserver, number) in
                observer.seen.append(number)
            }
            player.stopped.add(observer) { (observer: isolated MusicPlayerObserver, number) in
                observer.seen.append(number)
            }
            await player.playAndStop()
            await player.started.settled()
            expect(await observer.seen, equals: [0, 1, 2, 3, 4])
        }
    }

    @Test(
        "What a plain class notifies on the main thread comes in order, although something waits for one of its observers"
    )
    @MainActor func plainClass() async {
        let (started, stopped) = (ObserverSet<Void>(), set)
        _ = started.add { @MainActor [log] in log.append(0) }
        _ = stopped.add { @MainActor [log] in log.append($0) }
        join { started.notify() }

        // The code of a plain class: it has no isolation to pass.
        nonisolated func startAndStop() {
            started.notify()
            stopped.notify(1)
        }
        startAndStop()

        expect(log.entries, equals: [0, 0, 1])
        await started.settled()
    }

    @Test("Ten observers of four sets, in two views, see twenty thousand values in the order of the notifications")
    @MainActor func severalSets() async {
        let sets = (0..<4).map { _ in ObserverSet<Int>() }
        let views = (0..<2).map { _ in MainActorListener<Int> { _ in } }
        let all = Log<(observer: Int, value: Int)>()
        for observer in 0..<10 {
            sets[observer % 4].add(views[observer % 2]) { @MainActor _, value in all.append((observer, value)) }
        }

        await onThread {
            var generator = SystemRandomNumberGenerator()
            for value in 0..<20_000 { sets[Int.random(in: 0..<4, using: &generator)].notify(value) }
        }
        for set in sets { await set.settled() }

        #expect(zip(all.entries, all.entries.dropFirst()).allSatisfy { $0.value <= $1.value })
        // Observers of one set receive each value in the order in which they were added.
        #expect(
            zip(all.entries, all.entries.dropFirst()).allSatisfy { $0.value < $1.value || $0.observer < $1.observer })
        expect(Set(all.entries.map(\.value)).count, equals: 20_000)
        withExtendedLifetime(views) {}
    }

    @Test(
        "Four threads notify several sets: the actor receives what each has notified in that thread's order",
        arguments: [ObserverKind.mainActor, .mainActorOwner, .actorOwner])
    func severalThreadsAndSets(_ kind: ObserverKind) async {
        let sets = (0..<3).map { _ in ObserverSet<(thread: Int, index: Int)>() }
        let all = Log<(thread: Int, index: Int)>()
        let keeper = Keeper()
        let registrations = sets.map { set in
            kind == .actorOwner
                ? KeptRegistration(set.add(keeper) { (_: isolated Keeper, value) in all.append(value) })
                : kind.add(to: set) { all.append($0) }
        }

        await onThreads(4) { thread in
            for index in 0..<many(20_000) { sets[index % 3].notify((thread, index)) }
        }
        for set in sets { await set.settled() }

        for thread in 0..<4 {
            expect(all.entries.filter { $0.thread == thread }.map(\.index), equals: Array(0..<many(20_000)))
        }
        registrations.forEach { $0.end() }
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

    @Test("A notification on an actor calls no observers of another set, whatever waits")
    @MainActor func onlyItsOwn() async {
        let other = ObserverSet<Int>()
        _ = other.add { @MainActor [log] in log.append(-$0) }
        _ = set.add { @MainActor [log] in log.append($0) }
        join { for value in 1...3 { other.notify(value) } }

        set.notify(10)

        expect(log.entries, equals: [10])
        await other.settled()
        expect(log.entries, equals: [10, -1, -2, -3])
    }

    @Test(
        "What waits for an observer is delivered before a value that is notified on its actor, ahead of what waits for others"
    )
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
        await other.settled()
        expect(log.entries, equals: [1, 2, 3, 4, -1, -2, -3])
    }

    /// A button's handler must not deliver a hundred thousand values first.
    @Test("Behind a long backlog, a value that is notified on the observer's actor waits like the others")
    @MainActor func longBacklog() async {
        _ = set.add { @MainActor [log] in log.append($0) }
        join { [set] in for value in 0..<100_000 { set.notify(value) } }

        set.notify(100_000)

        expect(log.count, equals: 0)
        await set.settled()
        expect(log.entries, equals: Array(0...100_000))
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
    @Test("Values from one thread arrive in order, each time", arguments: ObserverKind.lasting)
    func oneThread(_ kind: ObserverKind) async {
        for count in [1_000] + Array(repeating: 100, count: 100) {
            let set = ObserverSet<Int>()
            let registration = kind.add(to: set) { [log] in log.append($0) }

            await onThread { for value in 0..<count { set.notify(value) } }
            await set.settled()

            expect(log.entries, equals: Array(0..<count))
            log.removeAll()
            registration.end()
        }
    }

    @Test("Values from one task arrive in order, whatever threads the task runs on", arguments: ObserverKind.lasting)
    func oneTask(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for value in 0..<1_000 {
            set.notify(value)
            await Task.yield()
        }
        await set.settled()

        expect(log.entries, equals: Array(0..<1_000))
        registration.end()
    }

    @Test("A one-time observer sees the first value", arguments: ObserverKind.allCases.filter(\.isOnce))
    func theFirst(_ kind: ObserverKind) async {
        for _ in 0..<50 {
            let registration = kind.add(to: set) { [log] in log.append($0) }
            for value in 0..<100 { set.notify(value) }
            await set.settled()

            expect(log.entries, equals: [0])
            log.removeAll()
            registration.end()
        }
    }

    @Test(
        "The first value of a burst arrives in order, although the mailbox is idle when it is enqueued",
        arguments: ObserverKind.lasting)
    func shortBursts(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for _ in 0..<300 {
            for value in 0..<3 { set.notify(value) }
            await set.settled()

            expect(log.entries, equals: [0, 1, 2])
            log.removeAll()
        }
        registration.end()
    }

    // MARK: Several notifying threads

    /// Scenario 11: several notifiers, several observers.
    ///
    /// Source: dotnet/reactive#455. No order is promised between two threads' notifications, nor that two observers agree on one.
    @Test("Values from each of several threads arrive in that thread's order", arguments: ObserverKind.lasting)
    func severalThreads(_ kind: ObserverKind) async {
        let set = ObserverSet<(thread: Int, index: Int)>()
        let logs = (0..<2).map { _ in Log<(thread: Int, index: Int)>() }
        let registrations = logs.map { log in kind.add(to: set) { log.append($0) } }

        for count in [1_000] + Array(repeating: 50, count: 20) {
            await onThreads(4) { thread in
                for index in 0..<count { set.notify((thread, index)) }
            }
            await set.settled()

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

    @Test(
        "Values that a thread notifies after it has waited for another thread arrive after the other thread's values",
        arguments: ObserverKind.lasting)
    func oneAfterAnother(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for round in 0..<200 {
            await onThread { [set] in for value in 0..<5 { set.notify(round * 10 + value) } }
            for value in 5..<10 { set.notify(round * 10 + value) }
        }
        await set.settled()

        expect(log.entries, equals: Array(0..<2_000))
        registration.end()
    }

    @Test("Each of several observers receives all values in order")
    func severalObservers() async {
        let logs = ObserverKind.lasting.map { _ in Log<Int>() }
        let registrations = zip(ObserverKind.lasting, logs).map { kind, log in kind.add(to: set) { log.append($0) } }

        await onThread { [set] in for value in 0..<1_000 { set.notify(value) } }
        await set.settled()

        for log in logs { expect(log.entries, equals: Array(0..<1_000)) }
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
        "Values from the main actor, then another thread, then the main actor again arrive in that order",
        arguments: ofTheMainActor)
    @MainActor func mainAndElsewhere(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in
            MainActor.preconditionIsolated()
            log.append($0)
        }

        for _ in 0..<50 {
            set.notify(0)
            expect(log.entries, equals: [0])
            // The main actor is occupied, so these must wait …
            join { [set] in for value in 1..<100 { set.notify(value) } }
            expect(log.entries, equals: [0])
            // … and are delivered before this, in place.
            set.notify(100)
            expect(log.entries, equals: Array(0...100))

            await set.settled()
            expect(log.entries, equals: Array(0...100))
            log.removeAll()
        }
        registration.end()
    }

    @Test(
        "Values that nonisolated code notifies on the main actor do not overtake those of another thread",
        arguments: ofTheMainActor)
    @MainActor func mainWithoutIsolation(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for _ in 0..<50 {
            notifyWithoutIsolation(0...0)
            expect(log.entries, equals: [0])
            join { [set] in for value in 1..<100 { set.notify(value) } }
            notifyWithoutIsolation(100...150)
            await set.settled()

            expect(log.entries, equals: Array(0...150))
            log.removeAll()
        }
        registration.end()
    }

    /// Scenario 14: both at once, repeatedly.
    @Test("Values that the main actor and a thread notify at once each arrive in their own order")
    @MainActor func mainAndElsewhereAtOnce() async {
        for _ in 0..<50 {
            let set = ObserverSet<(isMain: Bool, value: Int)>()
            let log = Log<(isMain: Bool, value: Int)>()
            _ = set.add { log.append($0) }

            async let others: Void = onThreads(1) { _ in
                for value in 0..<50 { set.notify((isMain: false, value: value)) }
            }
            for value in 0..<50 {
                set.notify((isMain: true, value: value))
                if value % 10 == 0 { await Task.yield() }
            }
            await others
            await set.settled()

            expect(log.entries.filter(\.isMain).map(\.value), equals: Array(0..<50))
            expect(log.entries.filter { !$0.isMain }.map(\.value), equals: Array(0..<50))
        }
    }

    /// Scenario 13, with the actor among the notifiers.
    @Test("Values from an actor, then another thread, then the actor again arrive in that order")
    func actorAndElsewhere() async {
        let keeper = Keeper()
        set.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }

        for round in 0..<50 {
            // In the first round, another thread is the first to notify.
            let first = round == 0 ? 1 : 0
            await keeper.perform { [set, log] _ in
                if first == 0 { set.notify(0) }
                join { for value in 1..<100 { set.notify(value) } }
                expect(log.entries, equals: Array(first..<1))
                set.notify(100)
                expect(log.entries, equals: Array(first...100))
            }
            await set.settled()
            expect(log.entries, equals: Array(first...100))
            log.removeAll()
        }
    }

    @Test(
        "Values from a task that alternates between the main actor and other threads arrive in order",
        arguments: ofTheMainActor)
    func toAndFro(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for value in 0..<500 {
            if value.isMultiple(of: 3) {
                await MainActor.run { [set] in set.notify(value) }
            } else {
                set.notify(value)
            }
        }
        await set.settled()

        expect(log.entries, equals: Array(0..<500))
        registration.end()
    }

    // MARK: Nested

    @Test(
        "A value that is notified during a mailbox's delivery comes after the values that already wait in the mailbox",
        arguments: ofTheMainActor)
    @MainActor func duringADelivery(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [set, log] value in
            log.append(value)
            if value < 10 { MainActor.assumeIsolated { set.notify(value + 100) } }
            log.append(-value)
        }
        join { [set] in for value in 1...3 { set.notify(value) } }

        await set.settled()
        // For the values that were notified meanwhile.
        await set.settled()

        expect(log.entries, equals: [1, -1, 2, -2, 3, -3, 101, -101, 102, -102, 103, -103])
        registration.end()
        set.removeAll()
    }

    /// Scenario 36: notified by the observer itself.
    ///
    /// Source: swift-corelibs-foundation#128, ETBinding#14, wire-ios-transport#168 (a deadlock in `main.sync`).
    @Test(
        "A value that an observer on a queue notifies comes after the waiting values, never inside the observer's call")
    func nestedOnAQueue() async {
        let allEnqueued = Signal()
        _ = set.addNonisolated(on: DispatchQueue(label: "serial")) { [set, log] value in
            allEnqueued.wait()
            log.append(value)
            if value < 10 { set.notify(value + 100) }
            log.append(-value)
        }

        for value in 1...3 { set.notify(value) }
        allEnqueued.set()
        await set.settled()
        await set.settled()

        expect(log.entries, equals: [1, -1, 2, -2, 3, -3, 101, -101, 102, -102, 103, -103])
        set.removeAll()
    }

    // MARK: Long queues

    @Test(
        "Values that take more than one turn to deliver stay in order",
        arguments: ObserverKind.lastingHopping)
    func longerThanATurn(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        await onThread { [set] in for value in 0..<10_000 { set.notify(value) } }
        await set.settled()

        expect(log.entries, equals: Array(0..<10_000))
        registration.end()
    }

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

        #expect(before < 10_000)
        expect(log.entries, equals: Array(0...10_000))
    }

    /// Notifies from where the compiler sees no isolation.
    private nonisolated func notifyWithoutIsolation(_ values: ClosedRange<Int>) {
        for value in values { set.notify(value) }
    }
}

/// Makes notifications on an actor of its own.
private actor MusicPlayer {
    nonisolated let started = ObserverSet<Int>()
    nonisolated let stopped = ObserverSet<Int>()

    func playAndStop() {
        for number in 0..<5 { number.isMultiple(of: 2) ? started.notify(number) : stopped.notify(number) }
    }
}

@MainActor private final class MusicPlayerView {
    private(set) var isPlaying = false
    private(set) var seen: [Int] = []

    init(_ player: MusicPlayer) {
        player.started.add(self) { view, number in
            view.isPlaying = true
            view.seen.append(number)
        }
        player.stopped.add(self) { view, number in
            view.isPlaying = false
            view.seen.append(number)
        }
    }
}

private actor MusicPlayerObserver {
    var seen: [Int] = []
}
