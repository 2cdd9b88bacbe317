import ObserverSet
import Testing

/// Delegates that are `Sendable`, used by many threads at once; and tokens of those that are not.
@Suite("Delegates on threads", .lifetimesChecked, .againstHanging)
struct DelegateThreadTests {
    private let multicast = MulticastDelegate<any SharedListening>()
}

extension DelegateThreadTests {
    @Test("Threads that add a delegate get one token; of those that remove it one gets true", arguments: [true, false])
    func sameDelegate(byToken: Bool) async {
        for _ in 0..<50 {
            let listener = SharedListener()
            let tokens = Log<ObserverToken>()
            let odd = Log<Int>()
            let removals = Counter()

            await onThreads(16) { [multicast] _ in
                tokens.append(multicast.add(listener))
                let count = multicast.delegates.count
                if count != 1 { odd.append(count) }
            }
            multicast.notify { $0.hear(1) }
            await onThreads(16) { [multicast] index in
                let isRemoved =
                    byToken || index.isMultiple(of: 2) ? tokens.entries[0].remove() : multicast.remove(listener)
                if isRemoved { removals.increment() }
            }

            expect(Set(tokens.entries).count, equals: 1)
            expect(odd.entries, equals: [])
            expect([listener.calls.value, removals.value, multicast.count], equals: [1, 1, 0])
        }
    }

    @Test("Eight threads notify, add, remove and let delegates die; one that several add is held once at most")
    func everythingAtOnce() async {
        let (lasting, shared) = (SharedListener(), SharedListener())
        multicast.add(lasting)
        let lifetimes = Lifetimes.current
        let broken = Counter()
        let notified = Counter()

        await onThreads(8) { [multicast] index in
            for round in 0..<many(2_000) {
                switch index % 6 {
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
                case 3: multicast.add(shared)
                case 4: multicast.remove(shared)
                default:
                    let delegates = multicast.delegates
                    if delegates.contains(where: { !$0.isIntact }) { broken.increment() }
                    if delegates.count(where: { $0 === shared }) > 1 { broken.increment() }
                    _ = multicast.debugDescription
                }
            }
        }
        multicast.remove(shared)

        expect(broken.value, equals: 0)
        expect(lasting.calls.value, atLeast: notified.value)
        expect(multicast.count == 1 && multicast.delegates.first === lasting)
    }

    @Test("A token of delegates that are not Sendable may be removed on any thread, during their notifications")
    func tokensElsewhere() async {
        await onThread { [lifetimes = Lifetimes.current] in
            let multicast = MulticastDelegate<OneThreadListener>()
            let own = Here()
            let delegates = (0..<many(1_000)).map { _ in OneThreadListener(lifetimes, own) }
            let tokens = delegates.map { multicast.add($0) }
            let isOver = onAnotherThread { tokens.forEach { use($0).remove() } }
            while !isOver.isSet { multicast.notify { $0.hear() } }
            let calls = own.calls
            multicast.notify { $0.hear() }

            expect([own.calls, multicast.count], equals: [calls, 0], "none is called after its token was removed")
            withExtendedLifetime(delegates) {}
        }
    }

    @Test("A token that is queried on another thread never causes a delegate to be deallocated there")
    func tokensDoNotTouchDelegates() async {
        await onThread { [lifetimes = Lifetimes.current] in
            let multicast = MulticastDelegate<OneThreadListener>()
            let own = Here()
            let mayEnd = Signal()
            let token = Shared<ObserverToken?>(nil)
            let isOver = onAnotherThread { while !mayEnd.isSet { _ = token.value.map(use) } }
            for _ in 0..<many(8_000) { token.value = multicast.add(OneThreadListener(lifetimes, own)) }
            mayEnd.set()
            isOver.wait()

            // Each one was deallocated on this thread, the only one that may touch the count.
            expect([own.ended, multicast.count], equals: [many(8_000), 0])
        }
    }
}

/// Runs `body` on another thread; the signal is set when it has returned.
private func onAnotherThread(_ body: @escaping @Sendable () -> Void) -> Signal {
    let isOver = Signal()
    Task.detached {
        body()
        isOver.set()
    }
    return isOver
}

/// Asks a token what it can tell.
@discardableResult
private func use(_ token: ObserverToken) -> ObserverToken {
    _ = (token.isActive, token.description)
    return token
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

    init(in lifetimes: Lifetimes = .current) { tracked = Tracked(in: lifetimes) }

    var isIntact: Bool { tracked.isIntact }

    func hear(_ value: Int) -> Bool {
        calls.increment()
        return isIntact
    }
}

/// What one thread counts, the only one that may touch it.
private final class Here {
    var calls = 0
    var ended = 0
}

/// A delegate that only one thread may use.
private final class OneThreadListener {
    private let tracked: Tracked
    private let here: Here

    init(_ lifetimes: Lifetimes, _ here: Here) {
        tracked = Tracked(in: lifetimes)
        self.here = here
    }

    func hear() { here.calls += 1 }

    deinit { here.ended += 1 }
}
