import Dispatch
import Foundation
import Synchronization
import Testing

@testable import ObserverSet

/// Lifetimes that other libraries got wrong: what is kept alive, how long, and what a `deinit` may do (promises 5, 8
/// and 10).
@Suite("Lifetimes", .lifetimesChecked, .againstHanging)
struct LifetimeTests {
    // MARK: Owners

    /// Scenario 15: the owner dies between building the registration and making it.
    ///
    /// Source: boost dead_slot_test.cpp, track_test.cpp (automatic disconnection of a slot before it is connected).
    @Test("An observer whose owner died before it was registered is never called nor counted")
    func ownerDeadBeforeRegistration() {
        let set = ObserverSet<Void>()
        let kept = KeptObserver<Void>()
        let log = Log<Int>()
        do {
            let owner = Tracked()
            kept.add(owner) { _, _ in log.append(0) }
        }

        let token = kept.observer.value.map { set.register($0) }
        expect(set.count, equals: 0)
        expect(token?.isActive, equals: false)
        set.notify()

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
    @Test("A million owners that come and go without a notification leave no memory behind", .measuringMemory)
    func deadOwnersLeaveNoMemory() async {
        await #expect(processExitsWith: .success) {
            let count = many(200_000, long: 1_000_000)
            let set = ObserverSet<Int>()
            let queue = DispatchQueue(label: "Q")
            func churn(_ count: Int) {
                for index in 0..<count {
                    let owner = Tracked()
                    switch index % 3 {
                    case 0: set.add(owner) { _, _ in }
                    case 1: set.addNonisolated(owner) { _, _ in }
                    default: set.addNonisolated(on: queue, owner) { _, _ in }
                    }
                }
            }

            let growth = await AllocatedMemory.growth {
                churn(20_000)
            } _: {
                churn(count)
            }

            #expect(growth < 1 << 20)
            #expect(set.isEmpty)
        }
    }

    @Test("Sets that come and go with their observers leave no memory behind", .measuringMemory)
    func deadSetsLeaveNoMemory() async {
        await #expect(processExitsWith: .success) {
            let owner = Tracked()
            func churn(_ count: Int) {
                for index in 0..<count {
                    let set = ObserverSet<Int>()
                    for _ in 0...(index % 10) { set.add(owner) { _, _ in } }
                    _ = set.addNonisolated { _ in }
                    set.notify(index)
                }
            }

            let growth = await AllocatedMemory.growth {
                churn(1_000)
            } _: {
                churn(20_000)
            }

            #expect(growth < 1 << 20)
        }
    }

    @Test(
        "Observers whose release a notification has delayed leave no memory behind when it has ended", .measuringMemory)
    func keptByAPass() async {
        await #expect(processExitsWith: .success) {
            let set = ObserverSet<Void>()
            _ = set.add {
                let tokens = (0..<1_000).map { _ in set.addNonisolated {} }
                for token in tokens { token.remove() }
            }

            let growth = await AllocatedMemory.growth {
                for _ in 0..<10 { set.notify() }
            } _: {
                for _ in 0..<100 { set.notify() }
            }

            #expect(growth < 1 << 20)
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
    @Test("A notification by a new actor at a dead actor's address does not reach the dead actor's observer")
    func actorAddressReuse() async {
        let set = ObserverSet<Void>()
        let log = Log<Int>()
        do {
            let owner = Keeper()
            set.add(owner) { _, _ in log.append(0) }
        }

        let strangers = (0..<1_000).map { _ in Keeper() }
        for stranger in strangers { await stranger.perform { _ in set.notify() } }
        await set.settled()

        expect(log.entries, equals: [])
        #expect(set.isEmpty)
    }

    // MARK: Closures and tokens

    /// Scenario 20: a closure without an owner, whose token is dropped.
    ///
    /// Source: notes#74, kickstarter/ios-oss#314, WordPress-iOS#20994 (block observers that live for ever).
    @Test("A closure without an owner lives as long as its set, even if its token is discarded")
    func closureLivesWithTheSet() {
        var set: ObserverSet<Void>? = ObserverSet()
        let log = Log<Int>()
        _ = set?.add { [capture = Tracked(1)] in log.append(capture.value) }

        set?.notify()
        expect(log.entries, equals: [1])
        expect(Lifetimes.current.count, equals: 1)
        set = nil

        expect(Lifetimes.current.count, equals: 0)
    }

    // MARK: What a deinit may do

    @Test("Emptying an empty set during a traversal leaves nothing waiting to be released")
    func emptiedWhileEmpty() {
        let registry = Registry()
        let traversal = registry.traversal()

        registry.removeAll(dropping: true)

        let isWaiting = registry.reclamation.isWaiting.load(ordering: .relaxed)
        #expect(!isWaiting)
        extendLifetime(traversal)
    }
}
