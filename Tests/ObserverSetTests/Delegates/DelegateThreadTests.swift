import ObserverSet
import Testing

/// Delegates that are `Sendable`, used by many threads at once; and tokens of those that are not.
@Suite("Delegates on threads", .lifetimesChecked, .againstHanging)
struct DelegateThreadTests {
    private let multicast = MulticastDelegate<any SharedListening>()

    @Test("A multicast of a Sendable protocol is Sendable")
    func isSendable() {
        func send(_ value: some Sendable) {}
        send(multicast)
        send(MulticastDelegate<SharedListener>())
    }

    @Test("Threads that add the same delegate get the same token, and the delegate is held once")
    func sameDelegate() async {
        for _ in 0..<100 {
            let listener = SharedListener()
            let tokens = Log<ObserverToken>()
            let odd = Log<Int>()

            await onThreads(16) { [multicast] _ in
                tokens.append(multicast.add(listener))
                let count = multicast.delegates.count
                if count != 1 { odd.append(count) }
            }

            expect(Set(tokens.entries).count, equals: 1)
            expect(odd.entries, equals: [])
            expect(multicast.count, equals: 1)
            multicast.notify { $0.hear(1) }
            expect(listener.calls.value, equals: 1)
            #expect(multicast.remove(listener))
            #expect(multicast.isEmpty)
        }
    }

    @Test("Of many threads that remove a delegate, exactly one gets true", arguments: [true, false])
    func removedAtOnce(byToken: Bool) async {
        for _ in 0..<50 {
            let listener = SharedListener()
            let token = multicast.add(listener)
            let removals = Counter()

            await onThreads(16) { [multicast] index in
                let isRemoved = byToken || index.isMultiple(of: 2) ? token.remove() : multicast.remove(listener)
                if isRemoved { removals.increment() }
            }

            expect(removals.value, equals: 1)
            #expect(multicast.isEmpty)
        }
    }

    @Test("A delegate that is added and removed by several threads is held once or not at all")
    func addedAndRemoved() async {
        let listener = SharedListener()
        let added = Counter()
        let odd = Log<Int>()

        await onThreads(8) { [multicast] index in
            for _ in 0..<many(2_000) {
                switch index % 4 {
                case 0: multicast.add(listener)
                case 1: if multicast.remove(listener) { added.increment() }
                case 2: multicast.removeAll()
                default:
                    let count = multicast.delegates.count
                    if count > 1 { odd.append(count) }
                }
            }
        }

        expect(odd.entries, equals: [])
        multicast.add(listener)
        expect(multicast.count, equals: 1)
        multicast.removeAll()
        #expect(multicast.isEmpty)
    }

    @Test("Eight threads notify, add, remove and let delegates die")
    func everythingAtOnce() async {
        let lasting = SharedListener()
        multicast.add(lasting)
        let lifetimes = Lifetimes.current
        let broken = Counter()
        let notified = Counter()

        await onThreads(8) { [multicast] index in
            for round in 0..<many(2_000) {
                switch index % 4 {
                case 0:
                    multicast.notify { if !$0.hear(1) { broken.increment() } }
                    notified.increment()
                case 1:
                    let listener = SharedListener(in: lifetimes)
                    let token = multicast.add(listener)
                    multicast.add(listener)
                    if round.isMultiple(of: 2) { token.remove() } else { multicast.remove(listener) }
                case 2:
                    // It is sometimes deallocated while it is being called.
                    multicast.add(SharedListener(in: lifetimes))
                default:
                    for delegate in multicast.delegates where !delegate.isIntact { broken.increment() }
                    _ = multicast.debugDescription
                }
            }
        }

        expect(broken.value, equals: 0)
        #expect(lasting.calls.value >= notified.value)
        expect(multicast.count, equals: 1)
        #expect(multicast.delegates.first === lasting)
    }

    @Test("A token of delegates that are not Sendable may be removed on any thread, during their notifications")
    func tokensElsewhere() async {
        let heard = await onThread { [lifetimes = Lifetimes.current] in
            let multicast = MulticastDelegate<OneThreadListener>()
            let delegates = (0..<many(1_000)).map { _ in OneThreadListener(lifetimes) }
            let tokens = delegates.map { multicast.add($0) }
            let start = Signal()
            let end = Signal()
            Task.detached {
                start.wait()
                for token in tokens {
                    _ = token.isActive
                    _ = token.description
                    token.remove()
                }
                end.set()
            }
            start.set()
            while !end.isSet { multicast.notify { $0.hear() } }
            let before = delegates.map(\.calls)
            multicast.notify { $0.hear() }
            #expect(multicast.isEmpty)
            return delegates.map(\.calls) == before
        }

        #expect(heard, "no delegate is called after its token was removed")
    }

    @Test("A token that is queried on another thread never causes a delegate to be deallocated there")
    func tokensDoNotTouchDelegates() async {
        await onThread { [lifetimes = Lifetimes.current] in
            let multicast = MulticastDelegate<OneThreadListener>()
            let own = Here()
            let isOver = Signal()
            let token = Shared<ObserverToken?>(nil)
            let end = Signal()
            Task.detached {
                while !isOver.isSet {
                    guard let token = token.value else { continue }
                    _ = token.isActive
                    _ = token.description
                }
                end.set()
            }
            for _ in 0..<many(8_000) {
                let listener = OneThreadListener(lifetimes, here: own)
                token.value = multicast.add(listener)
            }
            isOver.set()
            end.wait()
            // Each one was deallocated on this thread, the only one that may touch the count.
            expect(own.ended, equals: many(8_000))
            #expect(multicast.isEmpty)
        }
    }
}

private protocol SharedListening: AnyObject, Sendable {
    var isIntact: Bool { get }
    /// Returns whether the delegate is alive and intact.
    @discardableResult
    func hear(_ value: Int) -> Bool
}

private final class SharedListener: SharedListening {
    let calls = Counter()
    private let tracked: Tracked

    init(in lifetimes: Lifetimes = .current) {
        tracked = Tracked(in: lifetimes)
    }

    var isIntact: Bool { tracked.isIntact }

    func hear(_ value: Int) -> Bool {
        calls.increment()
        return isIntact
    }
}

/// An object that only one thread may touch.
private final class Here {
    var ended = 0
}

/// A delegate that only one thread may use.
private final class OneThreadListener {
    var calls = 0
    private let tracked: Tracked
    private let here: Here?

    init(_ lifetimes: Lifetimes, here: Here? = nil) {
        tracked = Tracked(in: lifetimes)
        self.here = here
    }

    func hear() { calls += 1 }

    deinit { here?.ended += 1 }
}
