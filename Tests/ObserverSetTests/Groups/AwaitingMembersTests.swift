import ObserverSet
import Testing

/// An observer that awaits, of several sources at once: one mailbox, one token.
@Suite("Observers that await, on several sources", .lifetimesChecked, .againstHanging)
struct AwaitingMembersTests {
    private let left = ObserverSet<Int>()
    private let right = ObserverSet<Int>()
    private let log = Log<String>()
    private let door = Door()

    @Test("A merged source's observer is called one at a time, in the order of one thread, whichever member notifies")
    func merged() async {
        _ = left.merge(with: right.map { 10 * $0 }).addAsync { [log, door] value in
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
        await left.merge(with: right).settled()

        expect(log.entries, equals: [1, 20, 3].flatMap { ["in \($0)", "out \($0)"] })
    }

    @Test("A group's observer that an actor owns is called one at a time, whichever member notifies")
    func group() async {
        let words = ObserverSet<String>()
        let group = ObserverGroup(left, words)
        let keeper = Keeper()
        let calls = Counter()
        group.addAsync(keeper) { [log] (keeper: isolated Keeper) in
            keeper.assertIsolated()
            let number = calls.increment()
            log.append("in \(number)")
            await Task.yield()
            log.append("out \(number)")
        }
        _ = group.addAsync { calls.increment() }

        for number in 0..<50 {
            left.notify(number)
            words.notify("so")
        }
        await group.settled()

        expect(calls.value, equals: 200)
        expect(log.count, equals: 200)
        let pairs = stride(from: 0, to: 200, by: 2).map { log.entries[$0..<$0 + 2].map { $0.split(separator: " ")[1] } }
        #expect(pairs.allSatisfy { $0[0] == $0[1] }, "each call ends before the next begins")
    }

    @Test("One token ends all registrations, drops the waiting values of each member, and cancels the current call")
    func removed() async {
        let token = left.merge(with: right).addAsync { [log, door] value in
            await door.pass()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        for value in 1...3 {
            left.notify(value)
            right.notify(10 * value)
        }
        await eventually { door.waiting == 1 }

        #expect(token.remove())
        #expect(!token.remove())
        #expect(left.isEmpty && right.isEmpty)
        let waiting = [await taskThatWaits(for: left), await taskThatWaits(for: right)]
        for _ in 0..<50 { await Task.yield() }
        expect(log.count, equals: 0)
        door.open()
        for task in waiting { await task.value }

        expect(log.entries, equals: ["1, cancelled"])
    }

    @Test("The limit applies to the waiting values of all members together, and so does the count of dropped values")
    func limit() async {
        let token = left.merge(with: right).addAsync(buffering: .newest(2)) { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        left.notify(0)
        await eventually { door.waiting == 1 }

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
        _ = left.merge(with: right).once.addAsync(buffering: .latest) { [log, door] value in
            await door.pass()
            log.append("\(value)" + (Task.isCancelled ? ", cancelled" : ""))
        }
        left.notify(1)
        await eventually { door.waiting == 1 }
        right.notify(2)
        door.open()
        await left.merge(with: right).settled()

        expect(log.entries, equals: ["1"])
        #expect(left.isEmpty && right.isEmpty)
    }

    @Test("An owner that dies in its call for one member ends the registrations with all members")
    func ownerDies() async {
        var owner: PlainListener<Int>? = PlainListener { _ in }
        let token = left.merge(with: right).addAsync(owner!) { [log, door] _, value in
            await door.pass()
            log.append("\(value)")
        }
        left.notify(1)
        right.notify(2)
        await eventually { door.waiting == 1 }

        owner = nil
        door.open()
        await left.settled()
        await right.settled()

        expect(log.entries, equals: ["1"])
        await eventually { !token.isActive }
        #expect(!token.isActive)
    }

    @Test("A member's waiting values are delivered after its death, and the other member's registration continues")
    func memberDies() async {
        var member: ObserverSet<Int>? = ObserverSet()
        let token = left.merge(with: member!).addAsync { [log, door] value in
            await door.pass()
            log.append("\(value)")
        }
        left.notify(1)
        member?.notify(2)
        await eventually { door.waiting == 1 }

        member = nil
        left.notify(3)
        door.open()
        await left.settled()

        expect(log.entries, equals: ["1", "2", "3"])
        #expect(token.isActive)
    }

    @Test("An observer that awaits the merged values of several sets receives them in one order")
    func oneOrder() async {
        enum Step: Equatable, Sendable { case word(Int), end }
        let words = ObserverSet<Int>()
        let ends = ObserverSet<Void>()
        let steps = Log<Step>()
        _ = words.map { Step.word($0) }.merge(with: ends.map { Step.end }).addAsync { step in
            await Task.yield()
            steps.append(step)
        }

        await onThread {
            for number in 0..<200 {
                words.notify(number)
                ends.notify()
            }
        }
        await words.settled()

        expect(steps.entries, equals: (0..<200).flatMap { [Step.word($0), .end] })
    }
}
