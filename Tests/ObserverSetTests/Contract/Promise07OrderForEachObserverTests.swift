import Dispatch
import ObserverSet
import Testing

/// Promise 7: each observer sees notifications in order, per notifying thread, whatever the hop.
@Suite("Promise 7: each observer sees notifications in order", .lifetimesChecked, .againstHanging)
struct Promise07OrderForEachObserverTests {
    private let set = ObserverSet<Int>()
    private let log = Log<Int>()

    // MARK: One notifying thread

    @Test("What one thread notifies arrives in order", arguments: ObserverKind.lasting)
    func oneThread(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        for _ in 0..<10 {
            await onThread { [set] in for value in 0..<1_000 { set.notify(value) } }
            await set.settled()

            #expect(log.entries == Array(0..<1_000))
            log.removeAll()
        }
        registration.end()
    }

    @Test("What a task notifies arrives in order, whatever threads it runs on", arguments: ObserverKind.lasting)
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

    @Test("The first value goes in order too, although it finds the mailbox idle", arguments: ObserverKind.lasting)
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

    @Test("What each of several threads notifies arrives in order", arguments: ObserverKind.lasting)
    func severalThreads(_ kind: ObserverKind) async {
        let set = ObserverSet<(thread: Int, index: Int)>()
        let log = Log<(thread: Int, index: Int)>()
        let registration = kind.add(to: set) { log.append($0) }

        await onThreads(4) { thread in
            for index in 0..<1_000 { set.notify((thread, index)) }
        }
        await set.settled()

        for thread in 0..<4 {
            #expect(log.entries.filter { $0.thread == thread }.map(\.index) == Array(0..<1_000))
        }
        registration.end()
    }

    @Test(
        "What one thread notifies after another one, which it waited for, arrives after that",
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

    @Test("Each of several observers sees all of it in order")
    func severalObservers() async {
        let logs = ObserverKind.lasting.map { _ in Log<Int>() }
        let registrations = zip(ObserverKind.lasting, logs).map { kind, log in kind.add(to: set) { log.append($0) } }

        await onThread { [set] in for value in 0..<1_000 { set.notify(value) } }
        await set.settled()

        for log in logs { #expect(log.entries == Array(0..<1_000)) }
        registrations.forEach { $0.end() }
    }

    // MARK: From here and from elsewhere

    static let ofTheMainActor: [ObserverKind] = [.mainActor, .mainActorOwner, .mainActorMethod]

    @Test(
        "The main actor, another thread and the main actor again: it arrives in that order", arguments: ofTheMainActor)
    @MainActor func mainAndElsewhere(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

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
        "On the main actor without its isolation, what is notified does not overtake either", arguments: ofTheMainActor)
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

    @Test("An actor, another thread and the actor again: it arrives in that order")
    func actorAndElsewhere() async {
        let keeper = Keeper()
        set.add(keeper) { [log] (_: isolated Keeper, value) in log.append(value) }

        for _ in 0..<50 {
            await keeper.perform { [set, log] _ in
                set.notify(0)
                join { for value in 1..<100 { set.notify(value) } }
                #expect(log.entries == [0])
                set.notify(100)
                #expect(log.entries == Array(0...100))
            }
            await set.settled()
            #expect(log.entries == Array(0...100))
            log.removeAll()
        }
    }

    @Test(
        "A task that goes to and fro between the main actor and elsewhere is heard in order", arguments: ofTheMainActor)
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
        "What is notified while a mailbox is being delivered goes behind what that delivery holds",
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

    @Test("What an observer on a queue notifies comes behind what is there, never inside its call")
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
        "A queue of values longer than a delivery's turn stays in order",
        arguments: ObserverKind.hopping.filter { !$0.isOnce })
    func longerThanATurn(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [log] in log.append($0) }

        await onThread { [set] in for value in 0..<10_000 { set.notify(value) } }
        await set.settled()

        #expect(log.entries == Array(0..<10_000))
        registration.end()
    }

    @Test("What arrives between two turns of a delivery waits behind what the first one left")
    @MainActor func betweenTwoTurns() async {
        set.add { [log] in log.append($0) }
        join { [set] in for value in 0..<2_500 { set.notify(value) } }

        // Behind the first turn, and before the second.
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
