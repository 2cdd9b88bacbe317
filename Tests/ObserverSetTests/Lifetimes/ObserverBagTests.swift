import Foundation
import Testing

@testable import ObserverSet

/// Registrations that end with their bag, and so with the object that holds it.
@Suite("Bags", .lifetimesChecked, .againstHanging)
struct ObserverBagTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    // MARK: The end of a bag

    @Test("A bag that dies ends its registrations and no others")
    func deathEndsRegistrations() {
        var bag: ObserverBag? = ObserverBag()
        let mine = set.add { [log] in log.append("mine \($0)") }
        mine.store(in: bag!)
        _ = set.add { [log] in log.append("other \($0)") }

        set.notify(1)
        bag = nil
        set.notify(2)

        expect(log.entries, equals: ["mine 1", "other 1", "other 2"])
        #expect(!mine.isActive)
        expect(set.count, equals: 1)
    }

    /// Scenario 20: a closure without an owner lives as long as its bag.
    @Test("What an observer captures is released with the bag")
    func captureIsReleased() {
        var bag: ObserverBag? = ObserverBag()
        do {
            let capture = Tracked()
            set.add { _ in _ = capture.value }.store(in: bag!)
        }
        expect(Lifetimes.current.count, equals: 1)

        bag = nil

        expect(Lifetimes.current.count, equals: 0)
    }

    @Test("A bag ends registrations that were made through a mapped source")
    func mappedSource() {
        var bag: ObserverBag? = ObserverBag()
        set.filter { $0 > 0 }.map { "\($0)" }.add { [log] in log.append($0) }.store(in: bag!)

        set.notify(1)
        bag = nil
        set.notify(2)

        expect(log.entries, equals: ["1"])
        #expect(set.isEmpty)
    }

    @Test("A bag ends registrations of every kind", arguments: ObserverKind.allCases)
    func everyKind(_ kind: ObserverKind) async {
        var bag: ObserverBag? = ObserverBag()
        let registration = kind.add(to: set) { [log] in log.append("\($0)") }
        registration.token.store(in: bag!)
        expect(set.count, equals: 1)

        bag = nil
        set.notify(1)
        await set.settled()

        expect(log.entries, equals: [])
        #expect(set.isEmpty)
        registration.end()
    }

    /// Scenario 26: a bag is replaced by another.
    @Test("A bag that is replaced ends its registrations, and its successor keeps its own")
    func replaced() {
        let first = set.add { [log] in log.append("first \($0)") }
        let second = set.add { [log] in log.append("second \($0)") }
        var bag = ObserverBag(first)

        bag = ObserverBag(second)
        set.notify(1)

        expect(log.entries, equals: ["second 1"])
        expect(bag.count, equals: 1)
    }

    @Test("Of two bags with the same token, the first to die ends the registration")
    func tokenInTwoBags() {
        let token = set.add { _ in }
        var bags = [ObserverBag(token), ObserverBag(token)]

        bags.removeLast()

        #expect(!token.isActive)
        expect(bags[0].count, equals: 0)
    }

    @Test("A bag keeps neither set nor owner alive")
    func keepsNothing() {
        let bag = ObserverBag()
        weak var weakSet: ObserverSet<Int>?
        weak var weakOwner: Tracked?
        do {
            let set = ObserverSet<Int>()
            let owner = Tracked()
            let capture = Tracked()
            set.add(owner) { [capture] _, _ in _ = capture.value }.store(in: bag)
            set.add { [capture] _ in _ = capture.value }.store(in: bag)
            weakSet = set
            weakOwner = owner
        }

        #expect(weakSet == nil)
        #expect(weakOwner == nil)
        expect(Lifetimes.current.count, equals: 0)
        expect(bag.count, equals: 0)
    }

    // MARK: Using a bag

    @Test("A bag that was emptied may be used again")
    func reuse() {
        let bag = ObserverBag()
        let before = set.add { [log] in log.append("before \($0)") }
        before.store(in: bag)

        bag.removeAll()
        bag.removeAll()
        set.add { [log] in log.append("after \($0)") }.store(in: bag)
        set.notify(1)

        #expect(!before.isActive)
        expect(log.entries, equals: ["after 1"])
        expect(bag.count, equals: 1)
        bag.removeAll()
        #expect(set.isEmpty)
    }

    @Test("Registrations are ended in the order of insertion")
    func orderOfRemoval() {
        let bag = ObserverBag()
        for number in 0..<40 {
            let farewell = Tracked(number) { [log] in log.append("\(number)") }
            set.add { _ in _ = farewell.value }.store(in: bag)
        }

        bag.removeAll()

        let expected = (0..<40).map { "\($0)" }
        expect(log.entries, equals: expected)
    }

    @Test("A token that is inserted twice, or a thousand times, is held once")
    func sameTokenTwice() {
        let token = set.add { _ in }
        let bag = ObserverBag(token, token)
        expect(bag.count, equals: 1)

        for _ in 0..<1_000 { bag.insert(token) }
        expect(bag.count, equals: 1)
        bag.removeAll()

        #expect(!token.isActive)
        expect(bag.count, equals: 0)
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
        expect(bag.count, equals: 4)

        token.remove()
        expect(bag.count, equals: 3)
        owner = nil
        expect(bag.count, equals: 2)
        set.notify(1)
        expect(bag.count, equals: 1)
        other = nil
        expect(bag.count, equals: 0)
    }

    @Test("A bag ends all registrations of a combined token")
    func combinedToken() {
        let other = ObserverSet<String>()
        var bag: ObserverBag? = ObserverBag(ObserverToken([set.add { _ in }, other.add { _ in }]))
        expect(bag?.count, equals: 1)

        bag = nil

        #expect(set.isEmpty)
        #expect(other.isEmpty)
    }

    @Test("A token of a registration that has ended, or of nothing, does no harm")
    func uselessTokens() {
        let ended = set.add { _ in }
        ended.remove()

        let bag = ObserverBag(ended, ObserverToken([]))

        expect(bag.count, equals: 0)
        bag.removeAll()
    }

    // MARK: Memory of ended registrations

    @Test("Ended registrations do not pile up in a long-lived bag", .measuringMemory)
    func endedRegistrationsDoNotPileUp() async {
        await #expect(processExitsWith: .success) {
            let bag = ObserverBag()
            let lasting = ObserverSet<Int>()
            lasting.add { _ in }.store(in: bag)
            func addShortLived(_ times: Int) {
                for number in 0..<times {
                    let set = ObserverSet<Int>()
                    let owner = Tracked()
                    switch number % 4 {
                    case 0: set.add { _ in }.store(in: bag)
                    case 1: set.once.add { _ in }.store(in: bag)
                    case 2: lasting.add(owner) { _, _ in }.store(in: bag)
                    default:
                        let token = lasting.add { _ in }
                        token.store(in: bag)
                        token.remove()
                    }
                }
            }

            let growth = await AllocatedMemory.growth {
                addShortLived(10_000)
            } _: {
                addShortLived(many(500_000))
            }

            #expect(growth < 1 << 20, "\(growth) bytes")
            expect(bag.count, equals: 1)
            expect(lasting.count, equals: 1)
        }
    }

    @Test("Of a thousand sets that have died, a bag keeps a few registries at most")
    func endedTokensAreForgotten() {
        struct Witness {
            weak let registry: Registry?
        }
        let bag = ObserverBag()
        var witnesses: [Witness] = []
        for _ in 0..<1_000 {
            let set = ObserverSet<Int>()
            set.add { _ in }.store(in: bag)
            witnesses.append(Witness(registry: set.registry))
        }

        #expect(witnesses.count { $0.registry != nil } <= 16)
        expect(bag.count, equals: 0)
    }

    @Test("Living registrations are kept, however many", arguments: [1, 15, 16, 17, 1_000, 10_000])
    func livingRegistrationsAreKept(_ count: Int) {
        let bag = ObserverBag()
        for number in 0..<count {
            set.add { _ in }.store(in: bag)
            let passing = set.add { _ in }
            passing.store(in: bag)
            if number % 3 == 0 { passing.remove() }
        }

        expect(bag.count, equals: set.count)
        bag.removeAll()
        #expect(set.isEmpty)
    }

    // MARK: Costs, as counts

    enum Ends: CaseIterable, Sendable { case never, atOnce, everyOther, firstIn, lastIn }

    @Test(
        "Inserting tokens into a bag checks at most two tokens per insertion, whichever registrations end",
        arguments: Ends.allCases)
    func looks(_ ends: Ends) {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()
        let count = 3_000
        for index in 0..<count {
            bag.insert(issuer.token(index))
            switch ends {
            case .never: break
            case .atOnce: issuer.end(index)
            case .everyOther: if index % 2 == 0 { issuer.end(index) }
            case .firstIn: if index >= 10 { issuer.end(index - 10) }
            case .lastIn: if index % 100 == 99 { for last in index - 89...index { issuer.end(last) } }
            }
        }

        #expect(issuer.looks.value <= 2 * count)
        #expect(issuer.looks.value >= count / 2)
    }

    @Test("Inserting one token again and again checks at most two tokens per insertion, and keeps few copies")
    func looksAtOneToken() {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()

        for _ in 0..<3_000 { bag.insert(issuer.token(0)) }

        #expect(issuer.looks.value <= 2 * 3_000)
        bag.removeAll()
        #expect(issuer.removals.value <= 16)
    }

    @Test("Threads that fill a bag at once check at most twenty times as many tokens as a single thread may")
    func looksByManyThreads() async {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()
        let (threads, count) = (8, 8_000)

        await onThreads(threads) { thread in
            for index in 0..<count / threads {
                bag.insert(issuer.token(threads * index + thread))
                if index % 2 == 0 { issuer.end(threads * index + thread) }
            }
        }

        // A thread that is late with its check also checks the tokens that others have inserted meanwhile.
        #expect(issuer.looks.value <= 20 * 2 * count)
        bag.removeAll()
        #expect(issuer.removals.value >= count / 2)
        #expect(issuer.removals.value <= count)
    }

    @Test("Many ended registrations are forgotten by the time that as many new ones have been inserted")
    func forgottenInTime() {
        let bag = ObserverBag()
        let issuer = WatchedIssuer()
        let count = 10_000
        for index in 0..<count { bag.insert(issuer.token(index)) }
        for index in 0..<count { issuer.end(index) }

        // The bag is checked when its size has doubled since the last check, so at most as many insertions are needed.
        for index in 0..<count { bag.insert(issuer.token(count + index)) }

        bag.removeAll()
        #expect(issuer.removals.value <= count, "the ended registrations were forgotten")
    }

    // MARK: Inside a notification

    /// Scenario 27: a bag dies in a callback.
    @Test(
        "A bag that dies inside an observer ends the current notification for the bag's observers",
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
        let expected = bag.count == 1 ? numbers + ["heir 1"] : numbers
        expect(log.entries, equals: expected)
        expect(Set(log.entries.dropLast(bag.count)).count, equals: 20)
        bag.removeAll()
    }

    // MARK: Threads

    /// Scenario 26: sixteen threads insert into one bag.
    @Test("No token is lost when many threads insert at once")
    func insertedByManyThreads() async {
        let bag = Shared<ObserverBag?>(ObserverBag())
        let kept = bag.value!

        await onThreads(16) { [set] thread in
            for number in 0..<200 {
                let token = set.add { _ in }
                kept.insert(token)
                if (number + thread) % 3 == 0 { token.remove() }
            }
        }

        expect(kept.count, equals: set.count)
        kept.removeAll()
        #expect(set.isEmpty)
    }

    @Test("A token inserted while the bag is emptied is ended, then or by the next `removeAll`")
    func insertAgainstRemoveAll() async {
        let bag = ObserverBag()

        await race(times: 2_000) { [set] _ in
            for _ in 0..<20 { set.add { _ in }.store(in: bag) }
        } _: { _ in
            bag.removeAll()
        }

        expect(bag.count, equals: set.count)
        bag.removeAll()
        #expect(set.isEmpty)
    }

    @Test("A bag may die while its observers are notified")
    func deathAgainstNotify() async {
        let bags = Shared<ObserverBag?>(nil)
        let lifetimes = Lifetimes.current

        await race(times: 1_000) { [set] _ in
            let bag = ObserverBag()
            for _ in 0..<4 {
                let capture = Tracked(in: lifetimes)
                set.add { _ in #expect(capture.isIntact) }.store(in: bag)
            }
            bags.value = bag
        } _: { [set] round in
            set.notify(round)
            bags.value = nil
            set.notify(round)
        }
        bags.value = nil

        #expect(set.isEmpty)
    }
}

/// Issues tokens without registrations, and counts how often a token is checked, and how often one is removed.
private final class WatchedIssuer: TokenIssuer, @unchecked Sendable {
    let looks = Counter()
    let removals = Counter()
    private let ended = Guarded<Set<UInt64>>([])
    private let registry = Registry()

    override init() {}

    func token(_ index: Int) -> ObserverToken { ObserverToken(issuer: self, id: UInt64(index)) }

    func end(_ index: Int) { _ = ended.withLock { $0.insert(UInt64(index)) } }

    override func visit(_ id: UInt64, _ body: (AnyEntry?, Place?) -> Void) {
        looks.increment()
        if ended.withLock({ !$0.contains(id) }) { body(nil, (true, Site())) }
    }

    override func remove(_ id: UInt64, _ removal: Removal?) -> Bool {
        removals.increment()
        return ended.withLock { $0.insert(id).inserted }
    }
}
