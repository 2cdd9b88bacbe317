import Dispatch
import ObserverSet
import Testing

/// Uses that no program should contain, although some do: none of them crashes, hangs or corrupts anything.
@Suite("Bad input", .lifetimesChecked, .againstHanging)
struct BadInputTests {
    // MARK: Owners

    @Test("Two sets may each own an observer of the other")
    func setsOwnOneAnother() {
        let log = Log<String>()
        do {
            let left = ObserverSet<Int>()
            let right = ObserverSet<Int>()
            left.add(right) { [capture = Tracked()] right, value in
                log.append("left \(value + capture.value)")
                right.notify(value)
            }
            right.add(left) { [capture = Tracked()] left, value in
                log.append("right \(value + capture.value)")
                if value > 0 { left.notify(value - 1) }
            }

            left.notify(1)
        }

        expect(log.entries, equals: ["left 1", "right 1", "left 0", "right 0"])
        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("A token that an owner keeps may be removed in the owner's `deinit`")
    func ownerKeepsItsToken() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        do {
            let token = Shared<ObserverToken?>(nil)
            let owner = Tracked { token.value?.remove() }
            token.value = set.add(owner) { _, value in log.append(value) }
            set.notify(1)
        }

        set.notify(2)

        expect(log.entries, equals: [1])
        #expect(set.isEmpty)
    }

    // MARK: Numbers

    @Test(
        "A set with zero, one or a thousand observers counts them all, and calls the last one",
        arguments: [0, 1, 1_000])
    func numberOfObservers(count: Int) {
        let set = ObserverSet<Int>()
        let last = Log<Int>()
        for index in 0..<count {
            _ = set.addNonisolated { value in
                if index == count - 1 { last.append(value) }
            }
        }

        set.notify(7)

        expect(set.count, equals: count)
        expect(set.isEmpty, equals: (count == 0))
        expect(last.entries, equals: (count == 0 ? [] : [7]))
        set.removeAll()
        #expect(set.isEmpty)
    }

    @Test("A set that was never observed may be notified, emptied, counted and described")
    func neverObserved() async {
        let set = ObserverSet<Int>()

        set.notify(1)
        set.removeAll()
        await set.settled()

        expect(set.count, equals: 0)
        #expect(set.isEmpty)
        expect(set.debugDescription, equals: set.description)
    }

    // MARK: Places to notify from

    @Test("A cancelled task may add and notify, and its `settled()` returns at once")
    func cancelledTask() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let queue = DispatchQueue(label: "Q")

        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                #expect(Task.isCancelled)
                _ = set.addNonisolated(on: queue) { log.append($0) }
                set.notify(1)
                await set.settled()
            }
        }
        await set.settled()

        expect(log.entries, equals: [1])
        expect(set.count, equals: 1)
    }
}
