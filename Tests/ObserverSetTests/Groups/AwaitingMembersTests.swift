import Foundation
import ObserverSet
import Testing

/// An observer of several sources at once that awaits: one mailbox, one token; and how long its removal waits.
@Suite("Observers that await, on several sources", .lifetimesChecked, .againstHanging)
struct AwaitingMembersTests {
    private let left = ObserverSet<Int>()
    private let right = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()
}

extension AwaitingMembersTests {
    /// Adds an observer that passes the door, and then logs the value, and whether it has been cancelled.
    private func add(to source: some NotificationSource<Int>, buffering: Buffering = .unbounded) -> ObserverToken {
        source.addAsync(buffering: buffering) { [log, door] value in
            await door.pass()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
    }

    /// Notifies with a value, and returns when an observer's call with it has begun, and waits at the door.
    private func begin(_ set: ObserverSet<Int>, _ value: Int) async {
        set.notify(value)
        await eventually { door.waiting == 1 }
    }

    @Test("It is called one at a time, in the order of one thread, whichever member notifies")
    func oneAtATime() async {
        let merged = left.merge(with: right.map { 10 * $0 })
        _ = merged.addAsync { [log, door] value in
            log.append("in \(value)")
            await door.pass()
            log.append("out \(value)")
        }

        left.notify(1)
        right.notify(2)
        left.notify(3)
        await eventually { door.waiting == 1 }
        for _ in 0..<50 { await Task.yield() }
        expect(log.entries, equals: ["in 1"])
        door.open()
        await merged.settled()

        expect(log.entries, equals: [1, 20, 3].flatMap { ["in \($0)", "out \($0)"] })
    }

    @Test(
        "When the owner has died, two notifications of each member release it, whatever is dropped for want of room",
        arguments: [Buffering.unbounded, .newest(1), .oldest(1), .latest])
    @MainActor func ownerDies(_ buffering: Buffering) async {
        let sets = (0..<10).map { _ in ObserverSet<Int>() }
        weak var capture: Tracked?
        do {
            let (owner, captured) = (Tracked(), Tracked())
            capture = captured
            sets[0].merge(with: sets[1...].map { $0 })
                .addAsync(owner, buffering: buffering) { @MainActor [captured] _, _ in _ = captured }
        }
        #expect(capture != nil)

        for value in 1...2 {
            for set in sets { set.notify(value) }
            for set in sets { await set.settled() }
        }

        #expect(capture == nil)
    }

    @Test("One token ends all registrations, drops the waiting values of each member, and cancels the current call")
    func removed() async {
        let token = add(to: left.merge(with: right))
        await begin(left, 1)
        for value in 2...3 {
            left.notify(value)
            right.notify(10 * value)
        }

        expect(token.remove() && !token.remove())
        expect([left.count, right.count], equals: [0, 0])
        let waiting = [await taskThatWaits(for: left), await taskThatWaits(for: right)]
        for _ in 0..<50 { await Task.yield() }
        expect(log.count, equals: 0)
        door.open()
        for task in waiting { await task.value }

        expect(log.entries, equals: ["1, cancelled"])
    }

    @Test("The limit applies to the waiting values of all members together, and so does the count of dropped values")
    func limit() async {
        let token = add(to: left.merge(with: right), buffering: .newest(2))
        await begin(left, 0)

        for value in 1...3 {
            left.notify(value)
            right.notify(10 * value)
        }
        expect(token.droppedCount, equals: 4)
        door.open()
        await left.merge(with: right).settled()

        expect(log.entries, equals: ["0", "3", "30"])
    }

    @Test("The only call of an observer of several sources is not cancelled by a later value of another")
    func onlyCall() async {
        _ = add(to: left.merge(with: right).once, buffering: .latest)
        await begin(left, 1)
        right.notify(2)
        door.open()
        await left.merge(with: right).settled()

        expect(log.entries, equals: ["1"])
        expect([left.count, right.count], equals: [0, 0])
    }

    @Test("When a member is emptied, a call for another member is not cancelled")
    func callOfAnother() async {
        _ = add(to: left.merge(with: right))
        await begin(right, 1)
        left.notify(2)

        left.removeAll()
        door.open()
        await right.settled()
        await left.settled()

        expect(log.entries, equals: ["1"])
    }

    @Test(
        "When a member is emptied, what it has notified is dropped, and what the others have notified is delivered",
        arguments: [true, false], [true, false])
    func emptiedMember(isAwaited: Bool, isFirst: Bool) async {
        let actor = Held()
        let merged = left.merge(with: right)
        if isAwaited {
            merged.addAsync(actor) { [log] (_: isolated Held, value) in log.append("\(value)") }
        } else {
            merged.add(actor) { [log] (_: isolated Held, value) in log.append("\(value)") }
        }
        for value in 1...4 { (value % 2 == 0 ? right : left).notify(value) }

        (isFirst ? left : right).removeAll()
        actor.letGo()
        await merged.settled()
        for value in 5...6 { (value % 2 == 0 ? right : left).notify(value) }
        await merged.settled()

        expect(log.entries, equals: (isFirst ? ["2", "4", "6"] : ["1", "3", "5"]))
    }

    @Test(
        "When the token of several registrations is removed, nothing that waits is delivered",
        arguments: [false, true])
    func nothingInBetween(isOnce: Bool) async {
        let (left, right) = (ObserverSet<Tracked>(), ObserverSet<Tracked>())
        let second: any NotificationSource<Tracked> = isOnce ? right.once : right
        let token = left.merge(with: second).addAsync { [log, door] _ in
            log.append("called")
            await door.pass()
        }
        left.notify(Tracked())
        let dropped = Tracked { [log, door] in
            // On the thread that removes the observer, while only one of the members has lost it.
            door.open()
            while log.count == 1, String(reflecting: right).contains(/, 1 \w+, registered/) { Thread.yield() }
        }
        left.notify(consume dropped)
        right.notify(Tracked())
        await eventually { door.waiting == 1 }

        #expect(await onThread { token.remove() })
        await left.merge(with: right).settled()

        expect(log.entries, equals: ["called"])
    }

    // MARK: Removing, and waiting

    @Test(
        "An observer of any kind that is removed from several sources has gone from each, and is released",
        arguments: ObserverKind.held.filter { !$0.isOnce })
    func removedAndReleased(_ kind: ObserverKind) async {
        let words = ObserverSet<String>()
        let group = ObserverGroup(left, ObserverGroup(words, right))
        for _ in 0..<many(400) {
            let isReleased = Signal()
            let registration = kind.add(to: group) { [capture = Tracked { isReleased.set() }] _ in _ = capture.isIntact
            }
            left.notify(1)
            words.notify("so")
            right.notify(2)

            expect(await registration.token.removeAndWait() && isReleased.isSet)
            #expect(await !registration.token.removeAndWait())
            registration.end()
        }
        expect([left.count, words.count, right.count], equals: [0, 0, 0])
    }

    @Test("`removeAndWait()` waits for the call that any member makes", arguments: [0, 1], [false, true])
    func waitsForAnyMember(_ caller: Int, isOnce: Bool) async {
        let (isCalled, mayEnd) = (Signal(), Signal())
        let both = left.merge(with: right)
        let source: any NotificationSource<Int> = isOnce ? both.once : both
        let token = source.add { [log] _ in
            isCalled.set()
            mayEnd.wait()
            log.append("called")
        }
        let member = caller == 0 ? left : right
        let notifying = Task { await onThread { member.notify(1) } }
        await eventually { isCalled.isSet }

        let waiting = await taskThatWaits { [log] in
            expect(await token.removeAndWait(), equals: !isOnce)
            log.append("over")
        }
        expect([left.count, right.count], equals: [0, 0], "all registrations end before any is waited for")
        for _ in 0..<100 { await Task.yield() }
        mayEnd.set()
        await waiting.value
        await notifying.value

        expect(log.entries, equals: ["called", "over"])
    }

    @Test("In its own call an observer of several sources does not wait for itself")
    func insideItsCall() async {
        let token = Shared<ObserverToken?>(nil)
        token.value = left.merge(with: right).addAsync { [log] value in
            log.append("removed \(await token.value!.removeAndWait()), cancelled \(Task.isCancelled)")
        }
        left.notify(1)
        right.notify(2)
        await eventually { log.count == 1 }
        await token.value?.removeAndWait()

        expect(log.entries, equals: ["removed true, cancelled false"])
        token.value = nil
    }
}
