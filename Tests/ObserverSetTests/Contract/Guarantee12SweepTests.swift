import Testing

@testable import ObserverSet

/// Guarantee 12: for each owner that is added, sweeps check only a few observers, whatever a client does.
///
/// A *sweep* searches all observers for dead owners. It takes place when so many owners have been added since the last
/// one that its cost is small for each of them. These tests count the checked observers, and don't measure time.
@Suite("Guarantee 12: sweeps, counted", .lifetimesChecked, .againstHanging)
struct Guarantee12SweepTests {
    private let looks = Counter()
    private let registry = Registry()
}

extension Guarantee12SweepTests {
    // MARK: One thread

    /// Which of the owners that were added die, and when.
    enum Deaths: CaseIterable, Sendable {
        case none
        /// Each owner dies as soon as it was added.
        case atOnce
        case everyOther
        /// The oldest owner dies each time, so that the last ten live.
        case firstIn
        /// Of each hundred owners, the ninety that were added last die.
        case lastIn
    }

    @Test(
        "Adding owners beside any number of closures checks at most three entries per owner, whichever owners die",
        arguments: [0, 10, 2_000], Deaths.allCases)
    func owners(closures: Int, _ deaths: Deaths) {
        let count = 3_000
        addClosures(closures)

        addOwners(count, deaths)

        expect(looks.value, atMost: 3 * count)
        expect(looks.value, atLeast: count / 2, "there are sweeps, in proportion to the owners")
    }

    @Test("Many closures are not checked for dead owners before as many owners have been added")
    func ownersBesideManyClosures() {
        let count = many(400_000)
        addClosures(count)
        let owner = WatchedTarget(looks)
        owner.die()

        for _ in 1..<count - 1 { registry.append(owner) }
        expect(looks.value, equals: 0)
        expect(registry.registered, equals: 2 * count - 2)
        registry.append(owner)

        // The closures are not asked.
        expect(looks.value, equals: count - 1)
        expect(registry.registered, equals: count)
    }

    @Test(
        "Adding and removing an owner in turn checks at most three entries each, beside any closures",
        arguments: [0, 2_000])
    func ownersThatAreRemoved(closures: Int) {
        addClosures(closures)
        let owner = WatchedTarget(looks)
        var removed = 0

        for _ in 0..<5_000 where registry.remove(registry.append(owner)) { removed += 1 }

        expect(removed, equals: 5_000)
        expect(looks.value, atMost: 3 * removed)
    }

    @Test("Any additions, deaths and removals, in any order, check at most three entries per owner")
    func anything() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var owners: [(target: WatchedTarget, id: UInt64)] = []
        var closures: [UInt64] = []
        let closure = WatchedTarget(looks, hasOwner: false)
        var (added, askedFor) = (0, 0)
        for _ in 0..<300 {
            let burst = 1 + random.below(100)
            switch random.below(12) {
            case 0..<5:
                for _ in 0..<burst {
                    let target = WatchedTarget(looks)
                    owners.append((target, registry.append(target)))
                    added += 1
                }
            case 5: for _ in 0..<burst { closures.append(registry.append(closure)) }
            case 6: for owner in owners.suffix(burst) { owner.target.die() }
            case 7: for owner in owners.prefix(burst) { owner.target.die() }
            case 8: _ = registry.remove(Array(closures.prefix(burst)))
            case 9:
                _ = registry.remove(owners.suffix(burst).map(\.id))
                owners.removeLast(min(burst, owners.count))
            case 10:
                askedFor += registry.registered
                registry.tryToRemoveDead()
            default:
                if random.below(10) == 0 { registry.removeAll(droppingPending: true) }
            }
            expect(looks.value - askedFor, atMost: 3 * added, "seed \(seed)")
        }
        registry.removeAll(droppingPending: true)
    }

    // MARK: Threads

    @Test("Threads that add living owners at once run as many sweeps as a single thread would")
    func livingOwnersOfManyThreads() async {
        let (threads, owners) = (16, 4_800)
        let alone = await sweeps(threads: 1, owners: owners)

        let together = await sweeps(threads: threads, owners: owners)

        // Which additions sweep depends only on the numbers of observers.
        expect(together, equals: alone)
        expect(alone < 20, "\(alone) sweeps: between two of them, the number of owners grows by half")
    }

    private func sweeps(threads: Int, owners: Int) async -> Int {
        let (registry, sweeps) = (Registry(), Counter())
        // Each sweep checks this target, which cannot die, once.
        registry.append(WatchedTarget(sweeps, hasOwner: false))
        let owner = WatchedTarget(looks)
        await onThreads(threads) { _ in
            for _ in 0..<owners / threads { registry.append(owner) }
        }
        return sweeps.value
    }

    @Test(
        "Threads whose owners die at once check at most twenty times as many entries as one may",
        arguments: [0, 1_000])
    func dyingOwnersOfManyThreads(closures: Int) async {
        let (threads, owners) = (16, 4_800)
        addClosures(closures)

        await onThreads(threads) { [registry, looks] _ in
            for _ in 0..<owners / threads {
                let owner = WatchedTarget(looks)
                registry.append(owner)
                owner.die()
            }
        }

        // A thread that sweeps late may also check what others have added meanwhile; a client is promised no more than
        // twenty times.
        expect(looks.value, atMost: 20 * 3 * owners)
        expect(looks.value, atLeast: owners / 2)
        addOwners(owners, .atOnce)
        expect(registry.registered, atMost: 2 * closures + 64, "no more dead ones stay behind than by a single thread")
    }

    // MARK: Notifications

    @Test("A notification that met a dead owner sweeps once, and later notifications do not sweep again")
    func notifications() {
        let set = ObserverSet<Int>()
        let owners = (0..<20).map { _ in WatchedTarget(looks) }
        for owner in owners { set.register(Observer(owner, site: Site())) }
        for value in 0..<10 { set.notify(value) }
        expect(looks.value, equals: 0)

        for owner in owners.prefix(10) { owner.die() }
        for value in 0..<10 { set.notify(value) }

        expect(looks.value, equals: owners.count)
        expect(set.registry?.registered, equals: 10)
    }

    @Test("A notification that meets no dead owner does not sweep, whomever it calls", arguments: ObserverKind.allCases)
    func notificationsOfTheLiving(kind: ObserverKind) async {
        let set = ObserverSet<Int>()
        set.register(Observer(WatchedTarget(looks), site: Site()))
        let calls = Counter()
        let kept = kind.add(to: set) { _ in calls.increment() }

        for value in 0..<5 {
            set.notify(value)
            await set.settled()
            await MainActor.run { set.notify(value) }
            await set.settled()
        }

        expect(calls.value, equals: (kind.isOnce ? 1 : 10))
        expect(looks.value, equals: 0)
        kept.end()
    }

    @Test("Nested notifications check each dead owner's entry only once in total, however many of them met it")
    func nestedNotifications() {
        let set = ObserverSet<Int>()
        let owners = (0..<10).map { _ in WatchedTarget(looks) }
        for owner in owners {
            owner.die()
            set.register(Observer(owner, site: Site()))
        }
        let depth = 10
        _ = set.addNonisolated { [weak set] value in if value < depth { set?.notify(value + 1) } }

        set.notify(1)

        // The innermost notification has removed the entries before the others check them.
        expect(looks.value, equals: owners.count)
        expect(set.registry?.registered, equals: 1)
    }

    @Test("Removing what has already been removed checks no entries, however often it is done")
    func removedTwice() {
        let set = ObserverSet<Int>()
        let owner = WatchedTarget(looks, countsEveryCheck: true)
        let tokens = (0..<1_000).map { _ in set.register(Observer(owner, site: Site())) }
        for token in tokens { #expect(token.remove()) }
        // Includes the checks during the additions, and one for each removal.
        let before = looks.value

        for _ in 0..<3 {
            for token in tokens { expect(!token.remove() && !token.isActive) }
        }

        expect(looks.value, equals: before)
    }

    // MARK: -

    private func addClosures(_ count: Int) {
        let closure = WatchedTarget(looks, hasOwner: false)
        for _ in 0..<count { registry.append(closure) }
    }

    private func addOwners(_ count: Int, _ deaths: Deaths) {
        for (owner, dying) in owners(count, deaths) {
            registry.append(owner)
            for other in dying { other.die() }
        }
    }

    /// Returns that many owners, each with those that die after it has been added.
    private func owners(_ count: Int, _ deaths: Deaths) -> [(owner: WatchedTarget, dying: [WatchedTarget])] {
        let owners = (0..<count).map { _ in WatchedTarget(looks) }
        return owners.indices.map { index in
            let dying: Range<Int> =
                switch deaths {
                case .none: index..<index
                case .atOnce: index..<index + 1
                case .everyOther: index..<index + index % 2
                case .firstIn: max(0, index - 10)..<max(0, index - 9)
                case .lastIn: index % 100 == 99 ? index - 89..<index + 1 : index..<index
                }
            return (owners[index], Array(owners[dying]))
        }
    }
}
