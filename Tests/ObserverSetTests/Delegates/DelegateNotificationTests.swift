import ObserverSet
import Testing

/// What delegates may do while they are called: add, remove, be deallocated, notify, throw.
@Suite("Notifying delegates", .lifetimesChecked)
struct DelegateNotificationTests {
    private let multicast = Listeners()
    private let log = Log<Int>()

    /// Adds delegates that log their number, and then run `action` with it.
    private func add(_ count: Int, _ action: @escaping (Int) -> Void) -> [ListeningRecorder] {
        let delegates = (0..<count).map { index in
            ListeningRecorder { [log] _ in
                log.append(index)
                action(index)
            }
        }
        for delegate in delegates { multicast.add(delegate) }
        return delegates
    }

    /// Notifies once, and returns the numbers that were logged.
    private func told(_ value: Int = 0) -> [Int] {
        log.removeAll()
        multicast.notify { $0.hear(value) }
        return log.entries
    }

    // MARK: Adding and removing

    /// Scenario 1, with delegates.
    @Test("A delegate may remove itself in its method, and no other delegate is skipped", arguments: 0..<4)
    func removesItself(index: Int) {
        let all = Box<[ListeningRecorder]>([])
        all.value = add(4) { [multicast] in
            if $0 == index { multicast.remove(all.value[index]) }
        }

        expect(told(), equals: [0, 1, 2, 3])
        expect(told(), equals: [0, 1, 2, 3].filter { $0 != index })
        all.value = []
    }

    @Test("All delegates may remove themselves in one notification")
    func allRemoveThemselves() {
        let all = Box<[ListeningRecorder]>([])
        all.value = add(4) { [multicast] in multicast.remove(all.value[$0]) }

        expect(told(), equals: [0, 1, 2, 3])
        #expect(told() == [] && multicast.isEmpty)
        all.value = []
    }

    /// Scenarios 2 and 3, with delegates.
    @Test(
        "A delegate removed by an earlier one is not called; a delegate removed by a later one has been called",
        arguments: [true, false])
    func removesAnother(byToken: Bool) {
        let all = Box<[ListeningRecorder]>([])
        let tokens = Box<[ObserverToken]>([])
        all.value = add(4) { [multicast] index in
            guard index == 1, tokens.value.count == 4 else { return }
            for victim in [0, 2] {
                if byToken { tokens.value[victim].remove() } else { multicast.remove(all.value[victim]) }
            }
        }
        tokens.value = all.value.map { multicast.add($0) }

        expect(told(), equals: [0, 1, 3])
        expect(told(), equals: [1, 3])
        all.value = []
    }

    /// Scenario 4, with delegates.
    @Test("A delegate may remove all delegates")
    func removesAll() {
        let delegates = add(5) { [multicast] index in
            guard index == 1 else { return }
            multicast.removeAll()
            #expect(multicast.isEmpty)
        }

        expect(told(), equals: [0, 1])
        expect(told(), equals: [])
        withExtendedLifetime(delegates) {}
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

        expect(told(), equals: [0])
        expect(told(), equals: [0, 1])
        expect(told(), equals: [0, 1, 1])
        expect(multicast.count, equals: 4)
        withExtendedLifetime(first) {}
    }

    /// Scenario 6, with delegates.
    @Test("A delegate that removes and adds itself again is called once, and then comes last")
    func addsItselfAgain() {
        let all = Box<[ListeningRecorder]>([])
        var isFirst = true
        all.value = add(3) { [multicast] index in
            guard index == 0, isFirst else { return }
            isFirst = false
            multicast.remove(all.value[0])
            multicast.add(all.value[0])
        }

        expect(told(), equals: [0, 1, 2])
        expect(told(), equals: [1, 2, 0])
        all.value = []
    }

    @Test("Adding a delegate again during a notification changes nothing")
    func addsWhoIsThere() {
        let all = Box<[ListeningRecorder]>([])
        all.value = add(3) { [multicast] _ in
            for delegate in all.value { multicast.add(delegate) }
        }

        expect(told(), equals: [0, 1, 2])
        expect(told(), equals: [0, 1, 2])
        expect(multicast.count, equals: 3)
        all.value = []
    }

    // MARK: Dying

    /// Scenario 55: a delegate is deallocated while another one is called.
    @Test("A delegate that dies during a notification is not called, but the others are")
    func diesDuringNotification() {
        let all = Box<[ListeningRecorder?]>([])
        all.value = add(4) { index in
            if index == 1 { all.value[2] = nil }
        }

        expect(told(), equals: [0, 1, 3])
        expect(multicast.count, equals: 3)
        expect(told(), equals: [0, 1, 3])
        all.value = []
    }

    /// Scenario 55: a delegate is deallocated in its own method.
    @Test("A delegate may release its last reference in its own method, and lives until the method returns")
    func diesInItsOwnMethod() {
        let last = Box<ListeningRecorder?>(nil)
        let order = Log<String>()
        let multicast = multicast
        last.value = ListeningRecorder {
            last.value = nil
            order.append("told \($0)")
        } atEnd: { recorder in
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

        #expect(first.heard == [1] && second.heard == [1])
        #expect(weakMulticast == nil)
        #expect(!token.isActive)
    }

    // MARK: Notifying

    /// Scenario 8, with delegates.
    @Test("Nested notifications are depth first")
    func nested() {
        let order = Log<String>()
        let multicast = multicast
        let first = ListeningRecorder { value in
            order.append("a\(value)")
            if value < 3 { multicast.notify { $0.hear(value + 1) } }
        }
        let second = ListeningRecorder { order.append("b\($0)") }
        multicast.add(first)
        multicast.add(second)

        multicast.notify { $0.hear(0) }

        expect(order.entries, equals: ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
        first.atCall = { _ in }
    }

    @Test("The multicast's count, list and description are correct inside a delegate's method")
    func asksInItsMethod() {
        let delegates = add(3) { [multicast] index in
            #expect(multicast.count == 3 && !multicast.isEmpty)
            expect(multicast.delegates.count, equals: 3)
            #expect(multicast.debugDescription.hasSuffix(" × 3"))
        }

        expect(told(), equals: [0, 1, 2])
        withExtendedLifetime(delegates) {}
    }

    @Test(
        "The body of `notify` may collect results in captured variables, and pass values that are not Sendable")
    func bodiesCapture() {
        final class Request {
            var answers = 0
        }
        let delegates = add(3) { _ in }
        let request = Request()
        var sum = 0

        multicast.notify { delegate in
            delegate.hear(4)
            request.answers += 1
            sum += (delegate as? ListeningRecorder)?.heard.last ?? 0
        }

        #expect(request.answers == 3 && sum == 12)
        withExtendedLifetime(delegates) {}
    }

    // MARK: Throwing

    /// Scenario 55: a delegate throws, all delegates are called, and the first error is thrown.
    @Test("An error of one delegate does not stop the others, and the first error is thrown after the last call")
    func throwing() {
        let delegates = add(5) { _ in }

        let error = #expect(throws: Refusal.self) {
            try multicast.notify { delegate in
                delegate.hear(0)
                let count = log.count
                if count.isMultiple(of: 2) { throw Refusal(number: count) }
            }
        }

        expect(error, equals: Refusal(number: 2))
        expect(log.entries, equals: [0, 1, 2, 3, 4])
        expect(told(), equals: [0, 1, 2, 3, 4], "the next notification calls all delegates again")
        withExtendedLifetime(delegates) {}
    }

    @Test("`notify` throws the error type of its body")
    func typedThrows() {
        let delegates = add(2) { _ in }
        var caught: [Refusal] = []

        do throws(Refusal) {
            try multicast.notify { _ throws(Refusal) in throw Refusal(number: 1) }
        } catch {
            caught.append(error)
        }

        expect(caught, equals: [Refusal(number: 1)])
        withExtendedLifetime(delegates) {}
    }

    @Test("A rethrowing function may pass its own argument to `notify`")
    func rethrowing() throws {
        func forEach(_ body: (any Listening) throws -> Void) rethrows { try multicast.notify(body) }
        let delegates = add(2) { _ in }

        forEach { $0.hear(0) }
        #expect(throws: Refusal.self) { try forEach { _ in throw Refusal(number: 3) } }

        expect(log.entries, equals: [0, 1])
        withExtendedLifetime(delegates) {}
    }

    @Test("A delegate that throws may remove itself, or drop its last reference, first")
    func throwsAndLeaves() {
        let all = Box<[ListeningRecorder?]>([])
        all.value = add(4) { _ in }

        #expect(throws: Refusal(number: 0)) {
            try multicast.notify { delegate in
                delegate.hear(0)
                let index = log.count - 1
                if index == 0 { multicast.remove(delegate) }
                if index == 1 { all.value[1] = nil }
                if index < 2 { throw Refusal(number: index) }
            }
        }

        expect(log.entries, equals: [0, 1, 2, 3])
        expect(told(), equals: [2, 3])
        all.value = []
    }

    @Test("An error is released, with its contents, after it has been caught")
    func errorsAreReleased() async {
        struct Heavy: Error {
            let tracked: Tracked
        }
        let delegates = add(3) { _ in }

        #expect(throws: Heavy.self) { try multicast.notify { _ in throw Heavy(tracked: Tracked()) } }

        // The test runner keeps weak references to all errors, and may be loading them on another thread.
        await eventually { Lifetimes.current.count == 3 }
        expect(Lifetimes.current.count, equals: 3, "only the delegates are still alive")
        withExtendedLifetime(delegates) {}
    }

    // MARK: Isolation

    @Test("The delegates of a protocol on the main actor are called there, without annotation")
    @MainActor
    func mainActor() {
        let multicast = MulticastDelegate<any MainActorListening>()
        do {
            let delegate = MainActorDelegate()
            let token = multicast.add(delegate)
            multicast.notify { $0.hear(1) }
            multicast.notify { $0.hear(2) }
            expect(delegate.heard, equals: [1, 2])
            #expect(multicast.remove(delegate))
            #expect(!token.isActive)
            multicast.add(delegate)
        }
        #expect(multicast.isEmpty)
    }

    @Test("An actor may have its own delegates that are not Sendable")
    func actor() async {
        let owner = DelegatingActor()

        let heard = await owner.run()

        expect(heard, equals: [1, 2])
    }

    @Test("An actor may be a delegate, whose nonisolated methods are called synchronously")
    func actorsAsDelegates() async {
        let multicast = MulticastDelegate<any SendableListening>()
        do {
            let delegate = ListeningActor()
            multicast.add(delegate)
            multicast.notify { $0.hear(1) }
            multicast.notify { delegate in Task { await delegate.later() } }
            expect(delegate.log.entries.first, equals: 1)
            await eventually { delegate.log.count == 2 }
            expect(delegate.log.entries, equals: [1, 2])
        }
        await eventually { multicast.isEmpty }
        #expect(multicast.isEmpty)
    }
}

/// A variable that the closures of a test share.
private final class Box<Value> {
    var value: Value

    init(_ value: Value) {
        self.value = value
    }
}

@MainActor private protocol MainActorListening: AnyObject {
    func hear(_ value: Int)
}

@MainActor private final class MainActorDelegate: MainActorListening {
    private let tracked = Tracked()
    var heard: [Int] = []

    func hear(_ value: Int) { heard.append(value) }
}

private actor DelegatingActor {
    private let listeners = Listeners()

    func run() -> [Int] {
        let delegate = ListeningRecorder()
        listeners.add(delegate)
        listeners.notify { $0.hear(1) }
        notifyAgain()
        return delegate.heard
    }

    private func notifyAgain() {
        listeners.notify { $0.hear(2) }
    }
}

private protocol SendableListening: AnyObject, Sendable {
    func hear(_ value: Int)
    func later() async
}

private actor ListeningActor: SendableListening {
    private let tracked = Tracked()
    nonisolated let log = Log<Int>()

    nonisolated func hear(_ value: Int) { log.append(value) }
    func later() { log.append(2) }
}
