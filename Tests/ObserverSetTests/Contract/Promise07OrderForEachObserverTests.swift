import Dispatch
import ObserverSet
import Testing

/// Promise 7: each observer receives the notifications of one thread in order, wherever the observer runs.
@Suite("Promise 7: each observer sees notifications in order", .lifetimesChecked, .againstHanging)
struct Promise07OrderForEachObserverTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()

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

            #expect(log.entries == Array(0..<count))
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

        #expect(log.entries == Array(0..<1_000))
        registration.end()
    }

    @Test("A one-time observer sees the first value", arguments: ObserverKind.allCases.filter(\.isOnce))
    func theFirst(_ kind: ObserverKind) async {
        for _ in 0..<50 {
            let registration = kind.add(to: set) { [log] in log.append($0) }
            for value in 0..<100 { set.notify(value) }
            await set.settled()

            #expect(log.entries == [0])
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

            #expect(log.entries == [0, 1, 2])
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
                    #expect(entries.filter { $0.thread == thread }.map(\.index) == Array(0..<count))
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

        #expect(log.entries == Array(0..<2_000))
        registration.end()
    }

    @Test("Each of several observers receives all values in order")
    func severalObservers() async {
        let logs = ObserverKind.lasting.map { _ in Log<Int>() }
        let registrations = zip(ObserverKind.lasting, logs).map { kind, log in kind.add(to: set) { log.append($0) } }

        await onThread { [set] in for value in 0..<1_000 { set.notify(value) } }
        await set.settled()

        for log in logs { #expect(log.entries == Array(0..<1_000)) }
        registrations.forEach { $0.end() }
    }

    /// Scenario 12: one owner, two ways of delivery.
    @Test("An owner that observes in place and on a queue receives the values in order in both places")
    func inPlaceAndOnAQueue() async {
        let owner = Tracked()
        let inPlace = Log<Int>()
        let onQueue = Log<Int>()
        set.add(owner) { _, value in inPlace.append(value) }
        set.add(on: DispatchQueue(label: "Q"), owner) { _, value in onQueue.append(value) }

        for value in 1...1_000 { set.notify(value) }
        #expect(inPlace.entries == Array(1...1_000))
        await set.settled()

        #expect(onQueue.entries == Array(1...1_000))
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
            #expect(log.entries == [0])
            // The main actor is occupied, so these must wait …
            join { [set] in for value in 1..<100 { set.notify(value) } }
            #expect(log.entries == [0])
            // … and are delivered before this, in place.
            set.notify(100)
            #expect(log.entries == Array(0...100))

            await set.settled()
            #expect(log.entries == Array(0...100))
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
            #expect(log.entries == [0])
            join { [set] in for value in 1..<100 { set.notify(value) } }
            notifyWithoutIsolation(100...150)
            await set.settled()

            #expect(log.entries == Array(0...150))
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
            set.add { log.append($0) }

            async let others: Void = onThreads(1) { _ in
                for value in 0..<50 { set.notify((isMain: false, value: value)) }
            }
            for value in 0..<50 {
                set.notify((isMain: true, value: value))
                if value % 10 == 0 { await Task.yield() }
            }
            await others
            await set.settled()

            #expect(log.entries.filter(\.isMain).map(\.value) == Array(0..<50))
            #expect(log.entries.filter { !$0.isMain }.map(\.value) == Array(0..<50))
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
                #expect(log.entries == Array(first..<1))
                set.notify(100)
                #expect(log.entries == Array(first...100))
            }
            await set.settled()
            #expect(log.entries == Array(first...100))
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

        #expect(log.entries == Array(0..<500))
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

        #expect(log.entries == [1, -1, 2, -2, 3, -3, 101, -101, 102, -102, 103, -103])
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
        set.add(on: DispatchQueue(label: "serial")) { [set, log] value in
            allEnqueued.wait()
            log.append(value)
            if value < 10 { set.notify(value + 100) }
            log.append(-value)
        }

        for value in 1...3 { set.notify(value) }
        allEnqueued.set()
        await set.settled()
        await set.settled()

        #expect(log.entries == [1, -1, 2, -2, 3, -3, 101, -101, 102, -102, 103, -103])
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

        #expect(log.entries == Array(0..<10_000))
        registration.end()
    }

    @Test("A value that arrives between two turns of a delivery comes after the values that the first turn left")
    @MainActor func betweenTwoTurns() async {
        set.add { [log] in log.append($0) }
        join { [set] in for value in 0..<2_500 { set.notify(value) } }

        // This runs behind the first turn of the delivery, and before the second.
        let notifier = Task { @MainActor [set, log] in
            let before = log.count
            set.notify(2_500)
            return before
        }
        let before = await notifier.value
        await set.settled()

        #expect(before < 2_500)
        #expect(log.entries == Array(0...2_500))
    }

    /// Notifies from where the compiler sees no isolation.
    private nonisolated func notifyWithoutIsolation(_ values: ClosedRange<Int>) {
        for value in values { set.notify(value) }
    }
}
