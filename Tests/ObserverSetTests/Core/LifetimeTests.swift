import Dispatch
import Foundation
import Synchronization
import Testing

@testable import ObserverSet

/// Lifetimes that other libraries got wrong: what is kept alive, how long, and what a `deinit` may do (guarantees 5, 8
/// and 10).
@Suite("Lifetimes", .lifetimesChecked, .againstHanging)
struct LifetimeTests {}

extension LifetimeTests {
    // MARK: Owners

    /// Scenario 15: the owner dies between building the registration and making it.
    ///
    /// Source: boost dead_slot_test.cpp, track_test.cpp (automatic disconnection of a slot before it is connected).
    @Test(
        "An observer whose owner died before it was registered is never called nor counted",
        arguments: ObserverKind.owned, [false, true])
    func ownerDeadBeforeRegistration(_ kind: ObserverKind, isOnce: Bool) async {
        let set = ObserverSet<Int>()
        let kept = KeptObserver<Int>()
        let source: any NotificationSource<Int> = isOnce ? kept.once : kept
        let log = Log<Int>()
        kind.add(to: source) { log.append($0) }.end()

        let token = kept.observer.value.map { set.register($0) }
        expect(set.count, equals: 0)
        expect(token?.isActive, equals: false)
        for value in 1...2 {
            set.notify(value)
            await set.settled()
        }

        expect(log.entries, equals: [])
        #expect(set.isEmpty)
        token?.remove()
        expect(token?.remove(), equals: false)
    }

    /// Scenario 18, measured as allocated memory.
    ///
    /// Source: SimpleTwoWayBindingIOS#12, cmux#7799 (registrations that stay until the next change).
    ///
    /// Scenario 31: hundreds of thousands of them, one after the other.
    @Test(
        "Owners without a notification, sets, and observers that a notification has kept come and go without a trace",
        .measuringMemory)
    func memory() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Int>()
            let queue = DispatchQueue(label: "Q")
            await isFlat(after: 20_000, many(200_000, long: 1_000_000)) { index in
                let owner = Tracked()
                switch index % 3 {
                case 0: set.add(owner) { _, _ in }
                case 1: set.addNonisolated(owner) { _, _ in }
                default: set.addNonisolated(on: queue, owner) { _, _ in }
                }
            }
            #expect(set.isEmpty)

            let owner = Tracked()
            await isFlat(after: 1_000, 20_000) { index in
                let set = ObserverSet<Int>()
                for _ in 0...(index % 10) { set.add(owner) { _, _ in } }
                _ = set.addNonisolated { _ in }
                set.notify(index)
            }

            let busy = ObserverSet<Void>()
            _ = busy.add {
                let tokens = (0..<1_000).map { _ in busy.addNonisolated {} }
                for token in tokens { token.remove() }
            }
            await isFlat(after: 10, 100) { _ in busy.notify() }

            /// Expects that so many more rounds take no more memory.
            func isFlat(after first: Int, _ count: Int, _ round: (Int) -> Void) async {
                let growth = await AllocatedMemory.growth {
                    for index in 0..<first { round(index) }
                } _: {
                    for index in 0..<count { round(index) }
                }
                #expect(growth < 1 << 20)
            }
        }
    }

    /// Scenario 24: an address that is reused.
    ///
    /// Source: Foundation's NotificationCenter, which filtered by the address of an object it did not hold.
    @Test("A new object at a dead owner's address is not mistaken for that owner")
    func addressReuse() {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        do {
            let owner = Tracked()
            set.add(owner) { _, _ in log.append(0) }
        }

        let strangers = (0..<1_000).map { _ in Tracked() }
        let removed = strangers.map { set.removeAll(ownedBy: $0) }
        set.notify()

        #expect(removed.allSatisfy { $0 == 0 })
        expect(log.entries, equals: [])
    }

    /// Scenario 24, with an actor whose identity decides where its observer is called.
    ///
    /// Source: as before.
    @Test("A new actor at a dead actor's address has its own observers called on it, and not those of the dead one")
    func actorAddressReuse() async {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        do {
            let owner = Keeper()
            set.add(owner) { _, _ in log.append(0) }
        }

        let strangers = (0..<1_000).map { _ in Keeper() }
        let theirs = ObserverSet<Void>()
        for stranger in strangers {
            theirs.add(stranger) { stranger, _ in
                stranger.preconditionIsolated()
                log.append(1)
            }
        }
        theirs.notify()
        await theirs.settled()
        for stranger in strangers { await stranger.perform { _ in set.notify() } }
        await set.settled()

        expect(log.entries, equals: Array(repeating: 1, count: 1_000))
        #expect(set.isEmpty)
    }

    // MARK: Emptied sets

    @Test("Emptying an empty set during a traversal leaves nothing waiting to be released")
    func emptiedWhileEmpty() {
        let registry = Registry()
        let traversal = registry.traversal()

        registry.removeAll(droppingPending: true)

        let isWaiting = registry.reclamation.hasRetired.load(ordering: .relaxed)
        #expect(!isWaiting)
        extendLifetime(traversal)
    }

    @Test("A set that was emptied looks for dead owners no sooner than a new one")
    func emptiedAndFilled() {
        let (registry, looks) = (Registry(), Counter())
        for _ in 0..<2 {
            for _ in 0..<31 { registry.append(WatchedTarget(looks)) }
            registry.removeAll(droppingPending: true)
        }

        expect(looks.value, equals: 0)
    }
}
