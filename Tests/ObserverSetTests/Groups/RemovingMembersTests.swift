import Foundation
import ObserverSet
import Testing

/// `removeAndWait()` of a token of several registrations.
@Suite("Removing from several sources, and waiting", .lifetimesChecked, .againstHanging)
struct RemovingMembersTests {
    private let left = ObserverSet<Int>()
    private let right = ObserverSet<Int>()
    private let log = Log<String>()
    private let mayEnd = Signal()
    private let door = Door()

    @Test("An observer of a group is removed from each member, and released", arguments: heldKinds)
    func group(_ kind: ObserverKind) async {
        let words = ObserverSet<String>()
        for _ in 0..<many(400) {
            let isReleased = Signal()
            let group = ObserverGroup(left, ObserverGroup(words, right))
            let registration = kind.add(to: group) { [capture = Tracked { isReleased.set() }] _ in _ = capture.isIntact
            }
            left.notify(1)
            words.notify("so")
            right.notify(2)

            #expect(await registration.token.removeAndWait())

            #expect(isReleased.isSet)
            #expect(left.isEmpty && words.isEmpty && right.isEmpty)
            #expect(await !registration.token.removeAndWait())
            registration.end()
        }
    }

    @Test(
        "When the token of several registrations is removed, nothing that waits is delivered, whichever has sent it",
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
            while log.count == 1, String(reflecting: right).contains("waiting") { Thread.yield() }
        }
        left.notify(consume dropped)
        right.notify(Tracked())
        await eventually { door.waiting == 1 }

        #expect(await onThread { token.remove() })
        await ObserverGroup(left, right).settled()

        expect(log.entries, equals: ["called"])
    }

    @Test("It waits for the call that any member makes", arguments: [0, 1], [false, true])
    func merged(_ caller: Int, isOnce: Bool) async {
        let isCalled = Signal()
        let both = left.merge(with: right)
        let source: any NotificationSource<Int> = isOnce ? both.once : both
        let token = source.add { [log, mayEnd] _ in
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
        // All registrations end before any is waited for.
        #expect(left.isEmpty && right.isEmpty)
        for _ in 0..<100 { await Task.yield() }
        mayEnd.set()
        await waiting.value

        expect(log.entries, equals: ["called", "over"])
        await notifying.value
    }

    @Test("In its own call an observer of several sources that awaits does not wait for itself")
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

    @Test(
        "If one of several registrations ends, the values of the others are delivered, and `settled()` waits for them")
    func oneOfSeveral() async {
        let source = await inCallOfTheFirst()

        let waiting = await taskThatWaits { [log] in
            await source.tokens.value[0].removeAndWait()
            log.append("over")
        }
        let settling = await taskThatWaits(for: right)
        for _ in 0..<50 { await Task.yield() }
        expect(log.count, equals: 0)
        door.open()
        await settling.value
        await waiting.value

        expect(log.entries.filter { $0 != "over" }, equals: ["1, true", "2, false"])
        right.removeAll()
    }

    @Test("While it waits for a cancelled call, other registrations of the observer may end")
    func othersEnd() async {
        let source = await inCallOfTheFirst()
        let tokens = source.tokens.value

        let waiting = await taskThatWaits { [log] in
            await tokens[0].removeAndWait()
            log.append("over")
        }
        tokens[1].remove()
        for _ in 0..<100 { await Task.yield() }
        expect(log.count, equals: 0)
        door.open()
        await waiting.value

        expect(log.entries, equals: ["1, true", "over"])
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

    @Test("A call that another member has made is not cancelled when a member is emptied")
    func callOfAnother() async {
        _ = left.merge(with: right).addAsync { [log, door] value in
            await door.pass()
            log.append("\(value), \(Task.isCancelled)")
        }
        right.notify(1)
        await eventually { door.waiting == 1 }
        left.notify(2)

        left.removeAll()
        door.open()
        await right.settled()
        await left.settled()

        expect(log.entries, equals: ["1, false"])
    }

    /// A source of two, whose observer is in a call with the value of the first, while one of the second waits.
    private func inCallOfTheFirst() async -> Several {
        let source = Several(left, right)
        _ = source.addAsync { [log, door] value in
            await door.pass()
            log.append("\(value), \(Task.isCancelled)")
        }
        left.notify(1)
        await eventually { door.waiting == 1 }
        right.notify(2)
        return source
    }

    private static let heldKinds = ObserverKind.held.filter { !$0.isOnce }
}

/// A source that registers each observer with two others, and keeps their tokens apart.
private final class Several: NotificationSource {
    let tokens = Shared<[ObserverToken]>([])
    private let members: [ObserverSet<Int>]

    init(_ members: ObserverSet<Int>...) { self.members = members }

    func register(_ observer: Observer<Int>) -> ObserverToken {
        tokens.value = members.map { $0.register(observer) }
        return ObserverToken([])
    }

    func settled() async {
        for member in members { await member.settled() }
    }
}
