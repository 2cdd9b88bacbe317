import Dispatch
import Foundation
import Testing

@testable import ObserverSet

/// Registrations that end with their bag, and so with the object that holds it.
@Suite("Bags", .lifetimesChecked, .againstHanging)
struct ObserverBagTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()
}

extension ObserverBagTests {
    // MARK: The end of a bag

    /// Scenario 20: a closure without an owner lives as long as its bag.
    @Test(
        "A bag that dies ends its registrations, and no others, and releases what they captured",
        arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) async {
        var bag: ObserverBag? = ObserverBag()
        let isReleased = Signal()
        let registration = kind.add(to: set) { [log, capture = Tracked { isReleased.set() }] in
            log.append("mine \($0), \(capture.isIntact)")
        }
        registration.token.store(in: bag!)
        _ = set.add { [log] in log.append("other \($0)") }
        expect(set.count == 2 && !isReleased.isSet)

        bag = nil
        expect(isReleased.isSet, equals: ObserverKind.held.contains(kind))
        set.notify(1)
        await set.settled()

        expect(log.entries, equals: ["other 1"])
        expect(set.count, equals: 1)
        registration.end()
    }

    @Test("Of two bags with the same token, the first to die ends the registration, or all that the token combines")
    func tokenInTwoBags() {
        let mapped = set.filter { $0 > 0 }.map { "\($0)" }.add { _ in }
        let token = ObserverToken([set.add { _ in }, mapped])
        var bags = [ObserverBag(token), ObserverBag(token)]
        expect(bags.map(\.count), equals: [1, 1])

        bags.removeLast()

        expect([set.count, bags[0].count], equals: [0, 0])
    }

    /// Scenario 61: a full bag, one of whose sets has gone.
    @Test(
        "A bag that dies drops what a dead set left pending, however many tokens came after",
        arguments: [0, 15, 16, 40])
    func afterTheSetsEnd(others: Int) async {
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        var bag: ObserverBag? = ObserverBag()
        do {
            let dying = ObserverSet<Int>()
            dying.addNonisolated(on: queue) { [log] in log.append("\($0)") }.store(in: bag!)
            dying.notify(1)
        }
        for _ in 0..<others { set.addNonisolated { _ in }.store(in: bag!) }
        expect([bag!.count, set.count], equals: [others, others])

        bag = nil

        queue.resume()
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
        expect(log.entries, equals: [])
        expect(set.count, equals: 0)
    }

    @Test("A bag that a set's producer empties ends a one-time call that hasn't begun", arguments: [0, 15, 16, 40])
    func emptiedByTheProducer(others: Int) {
        let end = Shared<(@Sendable () -> Void)?>(nil)
        let observed = ObserverSet<Int> { isObserved in if !isObserved { end.value?() } }
        let bag = ObserverBag(observed.once.addNonisolated { [log] _ in log.append("called") })
        end.value = { [set] in
            for _ in 0..<others { set.addNonisolated { _ in }.store(in: bag) }
            bag.removeAll()
        }

        observed.notify(1)

        expect(log.entries, equals: [])
        #expect(set.isEmpty && observed.isEmpty)
        end.value = nil
    }

    @Test("A bag keeps neither set nor owner alive")
    func keepsNothing() {
        let bag = ObserverBag()
        weak var weakSet: ObserverSet<Int>?
        do {
            let set = ObserverSet<Int>()
            let owner = Tracked()
            let capture = Tracked()
            set.add(owner) { [capture] _, _ in _ = capture.value }.store(in: bag)
            set.add { [capture] _ in _ = capture.value }.store(in: bag)
            weakSet = set
        }

        expect(weakSet == nil)
        expect([Lifetimes.current.count, bag.count], equals: [0, 0])
    }

    // MARK: Using a bag

    @Test("A bag that was emptied may be used again, and tokens of what has ended, or of nothing, do it no harm")
    func reuse() {
        let before = set.add { [log] in log.append("before \($0)") }
        let bag = ObserverBag(before, before)
        expect(bag.count, equals: 1, "a token that is inserted twice is held once")

        for _ in 0..<2 { bag.removeAll() }
        set.add { [log] in log.append("after \($0)") }.store(in: bag)
        for token in [before, ObserverToken([])] { bag.insert(token) }
        set.notify(1)

        expect(log.entries, equals: ["after 1"])
        expect([bag.count, set.count], equals: [1, 1])
        bag.removeAll()
        expect([bag.count, set.count], equals: [0, 0])
    }

    @Test("Registrations are ended in the order of insertion")
    func orderOfRemoval() {
        let bag = ObserverBag()
        for number in 0..<40 {
            let farewell = Tracked(number) { [log] in log.append("\(number)") }
            set.add { _ in _ = farewell.value }.store(in: bag)
        }

        bag.removeAll()

        expect(log.entries, equals: (0..<40).map { "\($0)" })
    }

    @Test("Only registrations that the bag would end are counted")
    func count() {
        let bag = ObserverBag()
        var owner: Tracked? = Tracked()
        let token = set.add { _ in }
        token.store(in: bag)
        set.add(owner!) { _, _ in }.store(in: bag)
        set.once.add { _ in }.store(in: bag)
        var other: ObserverSet<Void>? = ObserverSet()
        other!.add {}.store(in: bag)
        var counts = [bag.count]

        token.remove()
        counts.append(bag.count)
        owner = nil
        counts.append(bag.count)
        set.notify(1)
        counts.append(bag.count)
        other = nil
        counts.append(bag.count)

        expect(counts, equals: [4, 3, 2, 1, 0])
    }

    // MARK: Costs, as counts

    /// Which registrations end while tokens are inserted, and how many tokens of three thousand are kept then, at most.
    enum Ends: CaseIterable, Sendable {
        case never, atOnce, everyOther, firstIn, lastIn, firstHalf, isOneToken

        var kept: Int {
            switch self {
            case .never, .everyOther, .firstIn, .lastIn: 3_000
            // The bag is checked when its size has doubled since the last check: in time for as many new ones.
            case .firstHalf: 1_500
            case .atOnce, .isOneToken: 16
            }
        }
    }

    @Test("Inserting a token checks at most two on average, and those ended are forgotten", arguments: Ends.allCases)
    func looks(_ ends: Ends) {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()
        for index in 0..<3_000 {
            bag.insert(issuer.token(ends == .isOneToken ? 0 : index))
            switch ends {
            case .never, .isOneToken: break
            case .atOnce: issuer.end(index)
            case .everyOther: if index % 2 == 0 { issuer.end(index) }
            case .firstIn: if index >= 10 { issuer.end(index - 10) }
            case .lastIn: if index % 100 == 99 { for last in index - 89...index { issuer.end(last) } }
            case .firstHalf: if index == 1_499 { for first in 0...index { issuer.end(first) } }
            }
        }

        #expect((1_500...6_000).contains(issuer.looks.value))
        bag.removeAll()
        expect(issuer.removals.value, atMost: ends.kept)
    }

    // MARK: Inside a notification

    /// Scenario 27: a bag dies in a callback.
    @Test(
        "A bag that dies inside an observer ends the notification for its observers",
        arguments: ObserverKind.lastingInPlace)
    func deathInsideObserver(_ kind: ObserverKind) {
        let bag = Shared<ObserverBag?>(ObserverBag())
        let registrations = [
            kind.add(to: set) { [log] in log.append("earlier \($0)") },
            kind.add(to: set) { [log] in
                log.append("ender \($0)")
                bag.value = nil
            },
            kind.add(to: set) { [log] in log.append("later \($0)") },
        ]
        for registration in registrations { registration.token.store(in: bag.value!) }
        let other = kind.add(to: set) { [log] in log.append("other \($0)") }

        set.notify(1)
        set.notify(2)

        expect(log.entries, equals: ["earlier 1", "ender 1", "other 1", "other 2"])
        registrations.forEach { $0.end() }
        other.end()
    }

    /// Scenario 27: a bag dies on another thread during a notification.
    @Test("A bag that dies on another thread ends the current notification for the bag's observers")
    func deathOnAnotherThread() async {
        await onThread { [set, log] in
            let bag = Shared<ObserverBag?>(ObserverBag())
            set.add { log.append("ender \($0)") }.store(in: bag.value!)
            _ = set.add { _ in join { bag.value = nil } }
            set.add { log.append("later \($0)") }.store(in: bag.value!)

            set.notify(1)
            set.notify(2)
        }

        expect(log.entries, equals: ["ender 1"])
    }

    @Test("A `deinit` that uses the bag that is being emptied does no harm")
    func reentrantUse() {
        let bag = ObserverBag()
        for number in 0..<20 {
            let farewell = Tracked(number) { [set, log, weak bag] in
                log.append("\(number)")
                bag?.removeAll()
                if number == 3 { set.add { log.append("heir \($0)") }.store(in: bag!) }
                _ = bag?.count
            }
            set.add { _ in _ = farewell.value }.store(in: bag)
        }

        bag.removeAll()
        set.notify(1)

        let numbers = (0..<20).map { "\($0)" }
        expect(log.entries, equals: (bag.count == 1 ? numbers + ["heir 1"] : numbers))
        bag.removeAll()
    }

    // MARK: Threads

    /// Scenario 26: sixteen threads insert into one bag.
    @Test("When many threads insert at once no token is lost, and few are checked more often than one thread would")
    func insertedByManyThreads() async {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()
        let (threads, count) = (16, 8_000)

        await onThreads(threads) { thread in
            for index in 0..<count / threads {
                bag.insert(issuer.token(threads * index + thread))
                if index % 2 == 0 { issuer.end(threads * index + thread) }
            }
        }

        // A thread that is late with its check also checks the tokens that others have inserted meanwhile.
        expect(issuer.looks.value, atMost: 20 * 2 * count)
        bag.removeAll()
        expect(issuer.ended, equals: count)
        #expect((count / 2...count).contains(issuer.removals.value))
    }

    @Test("A token inserted while the bag is emptied is ended, then or by the next `removeAll`")
    func insertAgainstRemoveAll() async {
        let bag = ObserverBag()

        await race(times: many(10_000)) { [set] _ in
            for _ in 0..<20 { set.add { _ in }.store(in: bag) }
        } _: { _ in
            bag.removeAll()
        }

        expect(bag.count, equals: set.count)
        bag.removeAll()
        expect(set.count, equals: 0)
    }
}

/// Issues tokens without registrations, and counts how often a token is checked, and how often one is removed.
private final class WatchedIssuer: TokenIssuer, @unchecked Sendable {
    let looks = Counter()
    let removals = Counter()
    private let endedIDs = Guarded<Set<UInt64>>([])

    override init() {}

    /// The number of tokens that have been ended, or removed.
    var ended: Int { endedIDs.withLock { $0.count } }

    func token(_ index: Int) -> ObserverToken { ObserverToken(issuer: self, id: UInt64(index)) }

    func end(_ index: Int) { _ = endedIDs.withLock { $0.insert(UInt64(index)) } }

    override func visitOwn(_ id: UInt64, _ body: (Registration?, RegistrationInfo?) -> Void) {
        looks.increment()
        if endedIDs.withLock({ !$0.contains(id) }) { body(nil, (true, Site())) }
    }

    override func remove(_ id: UInt64, _ removal: RemovalWait?) -> Bool {
        removals.increment()
        return endedIDs.withLock { $0.insert(id).inserted }
    }
}
