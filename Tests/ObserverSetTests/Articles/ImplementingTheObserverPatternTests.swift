import ObserverSet
import Testing

/// The system of the article "Implementing the observer pattern in Swift", as its reader would write it with this
/// library: observers of a protocol type, weakly held, behind an existential, that need no clean-up.
@Suite("Article: Implementing the observer pattern in Swift", .lifetimesChecked)
struct ImplementingTheObserverPatternTests {
    private let clock = KitchenClock()

    @Test("Every observer receives each event, and reacts to it in its own way")
    func told() {
        let display = Display()
        let bell = Bell()
        clock.observers.add(display)
        clock.observers.add(bell)

        clock.run(minutes: 2)

        expect(display.shown, equals: ["2 left", "1 left", "0 left"])
        expect(bell.rings, equals: 1)
    }

    @Test("The list of observers contains them as values of the observers' protocol, in order")
    func listed() {
        let display = Display()
        let bell = Bell()
        clock.observers.add(display)
        clock.observers.add(bell)

        let observers: [any ClockObserver] = clock.observers.delegates

        expect(observers.count, equals: 2)
        #expect(observers[0] === display && observers[1] === bell)
    }

    @Test("An observer is removed by identity; removing an observer that was never added returns false")
    func removedByIdentity() {
        let display = Display()
        clock.observers.add(display)

        #expect(!clock.observers.remove(Display()))
        #expect(clock.observers.remove(display))
        clock.run(minutes: 1)

        expect(display.shown, equals: [])
    }

    @Test("An observer is removed by its token, once")
    func removedByToken() {
        let display = Display()
        let token = clock.observers.add(display)
        clock.run(minutes: 0)

        #expect(token.remove())
        #expect(!token.remove())
        clock.run(minutes: 0)

        expect(display.shown, equals: ["0 left"])
    }

    @Test("An observer that is added twice is called once")
    func addedTwice() {
        let bell = Bell()

        expect(clock.observers.add(bell), equals: clock.observers.add(bell))
        clock.run(minutes: 0)

        expect(bell.rings, equals: 1)
    }

    @Test("An observer is deallocated when its last owner releases it, and its entry is gone without a removal")
    func notKeptAlive() {
        weak var gone: Display?
        do {
            let display = Display()
            gone = display
            clock.observers.add(display)
            expect(clock.observers.count, equals: 1)
        }

        #expect(gone == nil)
        #expect(clock.observers.isEmpty)
        clock.run(minutes: 1)
    }

    @Test("An observer may still deregister in its `deinit`, by its token or by its identity")
    func deregistersInItsDeinit() {
        let bell = Bell()
        do {
            let tidy = TidyObserver(clock)
            clock.observers.add(bell)
            clock.run(minutes: 0)
            expect(tidy.minutes, equals: [0])
        }

        clock.run(minutes: 0)

        expect(clock.observers.count, equals: 1)
        expect(bell.rings, equals: 2)
    }

    @Test("An observer may deregister while it is called, and the other observers are still called")
    func deregistersInItsMethod() {
        let once = OnceObserver()
        let bell = Bell()
        once.token = clock.observers.add(once)
        clock.observers.add(bell)

        clock.run(minutes: 3)

        expect(once.minutes, equals: [3])
        expect(bell.rings, equals: 1)
    }

    @Test("An observer may be added to an object that is known only by a protocol")
    func existential() {
        let display = Display()
        let observable: any ClockObservable = clock
        let token = observable.observers.add(display)

        clock.run(minutes: 0)
        expect(display.shown, equals: ["0 left"])
        #expect(token.remove())
        #expect(observable.observers.isEmpty)
    }
}

private protocol ClockObserver: AnyObject {
    func clock(_ clock: KitchenClock, has minutes: Int)
    func clockRings(_ clock: KitchenClock)
}

extension ClockObserver {
    func clock(_ clock: KitchenClock, has minutes: Int) {}
    func clockRings(_ clock: KitchenClock) {}
}

/// Anything that can be observed.
private protocol ClockObservable {
    var observers: MulticastDelegate<any ClockObserver> { get }
}

private final class KitchenClock: ClockObservable {
    let observers = MulticastDelegate<any ClockObserver>()

    func run(minutes: Int) {
        for left in (0...minutes).reversed() { observers.notify { $0.clock(self, has: left) } }
        observers.notify { $0.clockRings(self) }
    }
}

private final class Display: ClockObserver {
    var shown: [String] = []
    private let tracked = Tracked()

    func clock(_ clock: KitchenClock, has minutes: Int) { shown.append("\(minutes) left") }
}

private final class Bell: ClockObserver {
    var rings = 0
    private let tracked = Tracked()

    func clockRings(_ clock: KitchenClock) { rings += 1 }
}

/// Removes itself in its `deinit`, although it need not.
private final class TidyObserver: ClockObserver {
    var minutes: [Int] = []
    private let clock: KitchenClock
    private var token: ObserverToken?

    init(_ clock: KitchenClock) {
        self.clock = clock
        token = clock.observers.add(self)
    }

    func clock(_ clock: KitchenClock, has minutes: Int) { self.minutes.append(minutes) }

    deinit {
        clock.observers.remove(self)
        token?.remove()
    }
}

/// Removes itself when it is called for the first time.
private final class OnceObserver: ClockObserver {
    var minutes: [Int] = []
    var token: ObserverToken?

    func clock(_ clock: KitchenClock, has minutes: Int) {
        self.minutes.append(minutes)
        token?.remove()
    }
}
