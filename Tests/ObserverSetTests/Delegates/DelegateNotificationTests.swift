import ObserverSet
import Testing

/// What delegates may do while they are called: add, remove, be deallocated, notify, throw.
@Suite("Notifying delegates", .lifetimesChecked)
struct DelegateNotificationTests {
    private let multicast = Listeners()
    private let log = Log<Int>()
}

extension DelegateNotificationTests {
    private typealias Added = (delegate: ListeningRecorder, token: ObserverToken)

    /// Delegates that log their number, and then run `action` with it.
    private func add(_ count: Int, _ action: @escaping (Int) -> Void = { _ in }) -> [Added] {
        (0..<count).map { index in
            let delegate = ListeningRecorder { [log] _ in
                log.append(index)
                action(index)
            }
            return (delegate, multicast.add(delegate))
        }
    }

    /// Notifies once, and returns the numbers that were logged.
    private func told() -> [Int] {
        log.removeAll()
        multicast.notify { $0.hear(0) }
        return log.entries
    }

    /// Notifies delegates twice that run `action`, with their number and all of them, when they are called.
    ///
    /// Returns the numbers of those that were called each time.
    private func toldTwice(_ count: Int, _ action: @escaping (Int, [Added]) -> Void) -> [[Int]] {
        let all = Box<[Added]>([])
        all.value = add(count) { action($0, all.value) }
        defer {
            multicast.removeAll()
            all.value = []
        }
        return [told(), told()]
    }

    // MARK: Adding and removing

    /// Scenario 1, with delegates.
    @Test("A delegate may remove itself in its method, and so may all; no other delegate is skipped")
    func removesItself() {
        for index in 0..<4 {
            let told = toldTwice(4) { if $0 == index { multicast.remove($1[index].delegate) } }
            expect(told, equals: [[0, 1, 2, 3], [0, 1, 2, 3].filter { $0 != index }])
        }
        expect(toldTwice(4) { multicast.remove($1[$0].delegate) }, equals: [[0, 1, 2, 3], []])
    }

    /// Scenarios 2 and 3, with delegates.
    @Test("A delegate removed by an earlier one is not called; a delegate removed by a later one has been called")
    func removesAnother() {
        let ways: [(Added) -> Void] = [{ multicast.remove($0.delegate) }, { $0.token.remove() }]
        for remove in ways {
            let told = toldTwice(4) { index, all in if index == 1 { [all[0], all[2]].forEach(remove) } }
            expect(told, equals: [[0, 1, 3], [1, 3]])
        }
    }

    /// Scenario 4, with delegates.
    @Test("A delegate may remove all delegates")
    func removesAll() {
        let told = toldTwice(5) { index, _ in
            guard index == 1 else { return }
            multicast.removeAll()
            expect(multicast.count, equals: 0)
        }

        expect(told, equals: [[0, 1], []])
    }

    /// Scenario 5, with delegates.
    @Test("A delegate added during a notification is first called by the next one")
    func addsAnother() {
        let added = Box<[ListeningRecorder]>([])
        let first = add(1) { [multicast, log] _ in
            let delegate = ListeningRecorder { _ in log.append(1) }
            added.value.append(delegate)
            multicast.add(delegate)
        }

        expect([told(), told(), told()], equals: [[0], [0, 1], [0, 1, 1]])
        expect(multicast.count, equals: 4)
        withExtendedLifetime(first) {}
    }

    /// Scenario 6, with delegates.
    @Test("A delegate that removes and adds itself again is called once, and then comes last")
    func addsItselfAgain() {
        var isFirst = true
        let told = toldTwice(3) { index, all in
            guard index == 0, isFirst else { return }
            isFirst = false
            multicast.remove(all[0].delegate)
            multicast.add(all[0].delegate)
        }

        expect(told, equals: [[0, 1, 2], [1, 2, 0]])
    }

    @Test("In a method, count, list and description are correct, and adding a delegate that is there changes nothing")
    func asksInItsMethod() {
        let told = toldTwice(3) { _, all in
            for (delegate, token) in all { expect(multicast.add(delegate), equals: token) }
            expect([multicast.count, multicast.delegates.count], equals: [3, 3])
            #expect(multicast.debugDescription.hasSuffix(" × 3"))
        }

        expect(told, equals: [[0, 1, 2], [0, 1, 2]])
    }

    // MARK: Dying

    /// Scenario 55: a delegate is deallocated while another one is called.
    @Test("A delegate that dies during a notification is not called, but the others are")
    func diesDuringNotification() {
        let all = Box<[Added?]>([])
        all.value = add(4) { if $0 == 1 { all.value[2] = nil } }

        expect([told(), told()], equals: [[0, 1, 3], [0, 1, 3]])
        expect(multicast.count, equals: 3)
        all.value = []
    }

    /// Scenario 55: a delegate is deallocated in its own method.
    @Test("A delegate may release its last reference in its own method, and lives until the method returns")
    func diesInItsOwnMethod() {
        let last = Box<ListeningRecorder?>(nil)
        let order = Log<String>()
        last.value = ListeningRecorder {
            last.value = nil
            order.append("told \($0)")
        } atEnd: { [multicast] recorder in
            order.append("dies after \(recorder.heard)")
            #expect(!multicast.remove(recorder))
            multicast.notify { $0.hear(9) }
        }
        multicast.add(last.value!)
        let other = ListeningRecorder { order.append("other \($0)") }
        multicast.add(other)

        multicast.notify { $0.hear(1) }

        expect(order.entries, equals: ["told 1", "dies after [1]", "other 9", "other 1"])
        expect(multicast.count, equals: 1)
    }

    @Test("The multicast may die in its own notification, which still completes")
    func multicastDies() {
        let short = Box<Listeners?>(Listeners())
        weak let weakMulticast = short.value
        let first = ListeningRecorder { _ in short.value = nil }
        let second = ListeningRecorder()
        short.value?.add(first)
        let token = short.value!.add(second)

        short.value?.notify { $0.hear(1) }

        expect([first.heard, second.heard], equals: [[1], [1]])
        expect(weakMulticast == nil && !token.isActive)
    }

    // MARK: Notifying

    /// Scenario 8, with delegates.
    @Test("Nested notifications are depth first")
    func nested() {
        let order = Log<String>()
        let first = ListeningRecorder { [multicast] value in
            order.append("a\(value)")
            if value < 3 { multicast.notify { $0.hear(value + 1) } }
        }
        let second = ListeningRecorder { order.append("b\($0)") }
        multicast.add(first)
        multicast.add(second)

        multicast.notify { $0.hear(0) }

        expect(order.entries, equals: ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
    }

    // MARK: Throwing

    /// Scenario 55: a delegate throws, all delegates are called, and the first error is thrown.
    @Test("An error of one delegate does not stop the others, and the first error is thrown after the last call")
    func throwing() {
        var delegates = add(5)
        var caught: [Refusal] = []

        // The body's error type is thrown, and no other.
        do throws(Refusal) {
            try multicast.notify { delegate throws(Refusal) in
                delegate.hear(0)
                let count = log.count
                // A delegate that throws may remove itself, or drop its last reference, first.
                if count == 2 { multicast.remove(delegate) }
                if count == 4 { delegates[3] = delegates[4] }
                if count.isMultiple(of: 2) { throw Refusal(number: count) }
            }
        } catch {
            caught.append(error)
        }

        expect(caught, equals: [Refusal(number: 2)])
        expect(log.entries, equals: [0, 1, 2, 3, 4])
        expect(told(), equals: [0, 2, 4], "the next notification calls all that are left")
    }

    @Test("A rethrowing function may pass its own argument to `notify`; an error is released when it has been caught")
    func rethrowing() async throws {
        struct Heavy: Error {
            let tracked = Tracked()
        }
        func forEach(_ body: (any Listening) throws -> Void) rethrows { try multicast.notify(body) }
        let delegates = add(2)

        forEach { $0.hear(0) }
        #expect(throws: Heavy.self) { try forEach { _ in throw Heavy() } }

        expect(log.entries, equals: [0, 1])
        // The test runner keeps weak references to all errors, and may be loading them on another thread.
        await eventually { Lifetimes.current.count == 2 }
        expect(Lifetimes.current.count, equals: 2, "only the delegates are still alive")
        withExtendedLifetime(delegates) {}
    }

}

/// A variable that the closures of a test share.
private final class Box<Value> {
    var value: Value

    init(_ value: Value) { self.value = value }
}
