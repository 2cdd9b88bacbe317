import ObserverSet
import Testing

/// The system of the article "Implementing the observer pattern in Swift", as its reader would write it with this
/// library: observers of a protocol type, weakly held, behind an existential, that need no clean-up.
@Suite("Article: Implementing the observer pattern in Swift", .lifetimesChecked)
struct ImplementingTheObserverPatternTests {}

extension ImplementingTheObserverPatternTests {
    @Test("Observers are told in order until they are removed, or gone, also by an object that is known by a protocol")
    func program() {
        let clock = KitchenClock()
        let observable: any ClockObservable = clock
        let (first, bell) = (Display(), Bell())
        let token = observable.observers.add(first)
        clock.observers.add(bell)
        expect(clock.observers.add(first), equals: token, "an observer that is added twice is called once")
        let listed: [any ClockObserver] = clock.observers.delegates
        expect(listed.count == 2 && listed[0] === first && listed[1] === bell)

        clock.run(minutes: 2)
        expect(token.remove() && !token.remove())
        do {
            let second = Display()
            clock.observers.add(second)
            clock.run(minutes: 0)
            expect(second.shown, equals: ["0 left"])
        }
        expect(Lifetimes.current.count, equals: 2, "nobody has removed the second display, and it is gone")
        clock.run(minutes: 0)

        expect(first.shown, equals: ["2 left", "1 left", "0 left"])
        expect(bell.rings, equals: 3)
        expect(clock.observers.remove(bell) && !clock.observers.remove(first))
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
