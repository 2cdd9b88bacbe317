import Foundation
import ObserverSet
import Testing

/// Observers that await, and receive with each value how many were dropped before it.
@Suite("Observers that await, and count drops", .lifetimesChecked, .againstHanging)
struct AwaitingDropsTests {
    private let set = ObserverSet<Int>()
    private let received = Log<[Int]>()
    private let door = Door()

    /// The values with which the observer is called, and the number before each, if the first of six is being delivered
    /// when the others arrive.
    private static let outcomes: [(Buffering, called: [[Int]])] = [
        (.unbounded, called: [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]]),
        (.newest(1), called: [[0, 0], [5, 4]]), (.newest(2), called: [[0, 0], [4, 3], [5, 0]]),
        (.newest(5), called: [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0], [5, 0]]),
        (.restarting, called: [[0, 0], [5, 4]]),
        (.oldest(1), called: [[0, 0], [1, 0]]), (.oldest(2), called: [[0, 0], [1, 0], [2, 0]]),
    ]

    private func hear(_ kept: Buffering.Kept<Int>) async {
        received.append([kept.value, kept.droppedBefore])
        await door.pass()
    }

    @Test(
        "The number of dropped values comes with the first value that was kept after them",
        arguments: AwaitingForm.allCases, outcomes)
    func numbers(_ form: AwaitingForm, _ outcome: (Buffering, called: [[Int]])) async {
        let registration = form.add(to: set.countingDrops, buffering: outcome.0) { await hear($0) }

        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 1...5 { set.notify(value) }
        #expect(registration.token.droppedCount == 6 - outcome.called.count)
        door.open()
        await set.settled()

        #expect(received.entries == outcome.called)
        set.removeAll()
        registration.end()
    }

    @Test("With `.oldest`, the number is before the value that found room again")
    func oldest() async {
        set.countingDrops.addAsync(buffering: .oldest(2)) { await hear($0) }
        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 1...5 { set.notify(value) }
        door.letOnOne()
        await eventually { received.count == 2 }
        for value in 6...8 { set.notify(value) }
        door.letOnOne()
        await eventually { received.count == 3 }
        set.notify(9)
        door.open()
        await set.settled()

        #expect(received.entries == [[0, 0], [1, 0], [2, 0], [6, 3], [9, 2]])
        set.removeAll()
    }

    @Test("What a filter skips is not counted, and a limit counts what has passed it")
    func filtered() async {
        let token = set.filter { $0 % 2 == 0 }.countingDrops.addAsync(buffering: .newest(2)) { await hear($0) }
        set.countingDrops.filter { $0.value % 2 == 0 }.addAsync(buffering: .newest(2)) { await hear($0) }
        set.notify(0)
        await eventually { door.waiting == 2 }
        for value in 1...10 { set.notify(value) }
        #expect(token.droppedCount == 3)
        door.open()
        await set.settled()

        for entry in [[0, 0], [8, 3], [10, 0]] { #expect(received.entries.count { $0 == entry } == 2) }
        #expect(received.count == 6)
        set.removeAll()
    }

    @Test("An observer that is registered in two places has one number, which the end of one of them does not change")
    func twoPlaces() async {
        let other = ObserverSet<Int>()
        let both = Both(first: set, second: other)
        both.addAsync(buffering: .newest(3)) { await hear($0) }
        set.notify(0)
        await eventually { door.waiting == 1 }
        // 1 and 2 are dropped for 4 and 5.
        set.notify(1)
        other.notify(2)
        set.notify(3)
        other.notify(4)
        set.notify(5)
        // Takes 3 and 5 away, which were not dropped for want of room; 4 now is the first after the gap.
        set.removeAll()
        door.open()
        await other.settled()

        #expect(received.entries == [[0, 0], [4, 2]])
        other.removeAll()
    }

    @Test("The number is kept for the next value if all that waits is taken away")
    func allTakenAway() async {
        let other = ObserverSet<Int>()
        Both(first: set, second: other).addAsync(buffering: .newest(1)) { await hear($0) }
        other.notify(0)
        await eventually { door.waiting == 1 }
        set.notify(1)
        set.notify(2)
        set.removeAll()
        other.notify(3)
        door.open()
        await other.settled()

        #expect(received.entries == [[0, 0], [3, 1]])
        other.removeAll()
    }

    @Test("Dropped values are counted for an observer of one call, too")
    func once() async {
        let token = set.countingDrops.once.addAsync(buffering: .newest(1)) { await hear($0) }
        set.once.countingDrops.addAsync(buffering: .newest(1)) { await hear($0) }
        for value in 0..<3 { set.notify(value) }
        door.open()
        await set.settled()

        for entry in received.entries { #expect(entry[0] == entry[1], "as many as came before") }
        #expect(received.count == 2)
        #expect(!token.isActive)
        #expect(set.isEmpty)
    }

    @Test(
        "The number before each value is exactly that of the missing ones, whichever side is faster",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3), .restarting] as [Buffering])
    func exact(buffering: Buffering) async {
        for round in 0..<many(400, long: 100_000) {
            let set = ObserverSet<Int>()
            let (last, wrong) = (Counter(), Counter())
            let previous = Shared(0)
            let token = set.countingDrops.addAsync(buffering: buffering) { kept in
                if kept.droppedBefore != kept.value - previous.value - 1 { wrong.increment() }
                previous.value = kept.value
                for _ in 0..<kept.value % 3 { await Task.yield() }
                last.increment()
            }
            let sent = 1 + round % 200
            await onThread {
                for value in 1...sent {
                    set.notify(value)
                    if value % 7 == 0 { Thread.yield() }
                }
            }
            await set.settled()

            #expect(wrong.value == 0)
            #expect(last.value + token.droppedCount == sent)
            if case .oldest = buffering {} else { #expect(previous.value == sent) }
            token.remove()
        }
    }
}

/// Registers each observer with two sets.
private struct Both: NotificationSource {
    let first: ObserverSet<Int>
    let second: ObserverSet<Int>

    func register(_ observer: Observer<Buffering.Kept<Int>>) -> ObserverToken {
        ObserverToken([first.countingDrops.register(observer), second.countingDrops.register(observer)])
    }

    func settled() async {
        await first.settled()
        await second.settled()
    }
}
