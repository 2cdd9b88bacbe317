import Dispatch
import ObserverSet
import Testing

/// What has broken others: the same observer added twice (promise 9).
@Suite("Duplicates", .lifetimesChecked, .againstHanging)
struct DuplicateTests {
    /// Scenario 40: one owner twice.
    ///
    /// Source: boost signals2 (disconnect_equal), Qt (uniqConnection). Each `add` is a registration of its own.
    @Test("The same owner and method added twice are two registrations, and removing one leaves the other")
    func sameOwnerTwice() {
        let set = ObserverSet<Int>()
        let counter = Summer()
        let first = set.add(counter, Summer.count)
        let second = set.add(counter, Summer.count)

        set.notify(1)
        #expect(counter.sum.value == 2)
        #expect(first != second)
        #expect(set.count == 2)

        #expect(first.remove())
        set.notify(1)
        #expect(counter.sum.value == 3)
        #expect(!first.isActive && second.isActive)

        #expect(second.remove())
        set.notify(1)
        #expect(counter.sum.value == 3)
        #expect(set.isEmpty)
    }

    /// Scenario 40 for an observer that was made once and registered twice.
    ///
    /// Source: as before.
    @Test(
        "The same observer registered twice is called twice, and removing one registration leaves the other")
    func sameObserverTwice() async {
        let set = ObserverSet<Int>()
        let twice = Twice(set: set)
        let log = Log<Int>()
        twice.add(on: DispatchQueue(label: "Q")) { log.append($0) }

        set.notify(1)
        await set.settled()
        #expect(log.entries == [1, 1])
        #expect(twice.tokens.value[0].remove())
        set.notify(2)
        await set.settled()

        #expect(log.entries == [1, 1, 2])
        #expect(set.count == 1)
    }
}

/// An owner with a method that counts.
private final class Summer: Sendable {
    let sum = Shared(0)

    func count(_ value: Int) { sum.value += value }
}

/// A source that registers what it is given twice.
private struct Twice: NotificationSource {
    let set: ObserverSet<Int>
    let tokens = Shared<[ObserverToken]>([])

    func register(_ observer: Observer<Int>) -> ObserverToken {
        tokens.value = [set.register(observer), set.register(observer)]
        return ObserverToken(tokens.value)
    }
}
