import Synchronization
import Testing

@testable import ObserverSet

/// Guarantee 12: `add` and `remove` take amortised constant time plus at most a logarithmic search, and `notify` takes
/// linear time.
///
/// These tests don't measure time. They count the blocks of slots that a registry makes, and the slots in them. Each
/// slot is written when its block is made, so the number of slots in all blocks that were made shows what the changes
/// have cost. The tests also count the slots that are in use, because a notification visits each of these.
@Suite("Guarantee 12: blocks, counted", .lifetimesChecked, .againstHanging)
struct Guarantee12BlockTests {
    private let registry = Registry()
}

extension Guarantee12BlockTests {
    // MARK: Many

    /// Scenario 33: very many observers.
    @Test("A million observers are added, notified, and then removed with one call, or die with their set")
    func million() {
        let calls = Counter()
        for end in SourceEnd.allCases {
            var set: ObserverSet<Int>? = ObserverSet()
            for _ in 0..<many(1_000_000) { _ = set?.addNonisolated { _ in calls.increment() } }
            let before = calls.value

            set?.notify(1)
            expect(calls.value - before, equals: many(1_000_000))

            end.end(&set)
            set?.notify(2)
            expect(calls.value - before, equals: many(1_000_000))
        }
    }

    @Test("Adding n observers makes O(log n) blocks of slots, with at most eight slots for each observer")
    func added() {
        var made = BlockCount(of: registry)
        var dear = 0

        for count in 1...50_000 {
            registry.appendClosure()
            made.look()
            if made.slots > 8 * (count + 1) || made.blocks > 3 * logarithm(count + 1) { dear += 1 }
        }

        expect(dear, equals: 0, "\(made.blocks) blocks, \(made.slots) slots")
        expect(registry.room, atMost: 50_000 * 5 / 4)
    }

    enum Order: CaseIterable, Sendable {
        case firstIn, lastIn, fromTheMiddle, everyOther, random

        /// Puts the elements, which are in the order of their addition, into the order in which they are removed.
        func callAsFunction<Element>(_ added: [Element]) -> [Element] {
            let middle = added.count / 2
            return switch self {
            case .firstIn: added
            case .lastIn: added.reversed()
            case .fromTheMiddle: added[middle...] + added[..<middle].reversed()
            case .everyOther: [0, 1].flatMap { stride(from: $0, to: added.count, by: 2).map { added[$0] } }
            case .random: added.shuffled()
            }
        }
    }

    @Test(
        "Removing n observers, in any order, makes O(log n) blocks of slots, and never keeps much room, nor a backlog",
        arguments: Order.allCases, [31, 32, 100, 10_000])
    func removed(_ order: Order, count: Int) {
        let ids = order((0..<count).map { _ in registry.appendClosure() })
        var made = BlockCount(of: registry)

        var wasteful = 0
        for id in ids {
            if !registry.remove(id) || !isFrugal { wasteful += 1 }
            made.look()
        }

        expect(wasteful, equals: 0)
        expect(made.blocks <= 2 * logarithm(count) && made.slots <= 2 * count)
        expect(registry.taken, equals: 0)
        expect(registry.lock.withLock { $0.rare == nil })

        // Many at once.
        _ = registry.remove(order((0..<count).map { _ in registry.appendClosure() }).dropLast(3))
        expect(registry.registered, equals: 3)
        expect(isFrugal)
    }

    // MARK: Adding and removing in turn

    enum Turn: CaseIterable, Sendable { case oldest, latest, secondLatest, middle, several }

    private static let sizes =
        Array(0...9) + [14, 15, 16, 30, 31, 32, 33, 48, 63, 64, 65, 80, 81, 127, 128, 129, 1_000]

    @Test("Adding and removing in turn costs a few slots per change, whichever is removed", arguments: Turn.allCases)
    func byTurns(_ turn: Turn) {
        for size in Self.sizes {
            let registry = Registry()
            let made = churn(registry, size: size, changes: 400, turn)
            expect(made.slots, atMost: 12 * 400 + 2 * size, "\(size)")
            expect(registry.taken, atMost: max(32, 2 * size + 2), "\(size)")
        }
    }

    @Test("Filling and emptying a set in turn makes a few blocks per round, and none for a single observer")
    func filledAndEmptied() {
        for size in [1, 2, 4, 5, 100] {
            let registry = Registry()
            var made = BlockCount(of: registry)
            for _ in 0..<20 {
                for _ in 0..<size {
                    registry.appendClosure()
                    made.look()
                }
                registry.removeAll(droppingPending: true)
                made.look()
            }
            expect(made.slots, atMost: 20 * 8 * (size - 1), "\(size)")
            expect(registry.room, equals: 0)
        }
    }

    @Test("Any additions and removals cost a few slots per change, and a notification traverses slots in proportion")
    func anything() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        var ids: [UInt64] = []
        var made = BlockCount(of: registry)
        var (changes, dear) = (0, 0)
        for _ in 0..<400 {
            let isGrowing = random.below(2) == 0
            let place = random.below(3)
            for _ in 0..<1 + random.below(60) {
                changes += 1
                if isGrowing {
                    ids.append(registry.appendClosure())
                } else if !ids.isEmpty {
                    let index = [0, ids.count - 1, random.below(ids.count)][place]
                    _ = registry.remove(ids.remove(at: index))
                }
                made.look()
                if !isFrugal || made.slots > 12 * changes { dear += 1 }
            }
        }
        expect(dear, equals: 0, "seed \(seed)")
    }

    // MARK: In a traversal that does not end

    @Test(
        "In a traversal, only the removed observers and a few slots per change wait for release",
        arguments: Turn.allCases)
    func inATraversal(_ turn: Turn) {
        for size in Self.sizes {
            let registry = Registry()
            for _ in 0..<size { registry.appendClosure() }
            let traversal = registry.traversal()

            let made = churn(registry, size: 0, changes: 400, turn)

            let waiting = registry.waiting
            expect(waiting.observers, equals: 200, "\(size)")
            expect(waiting.slots, atMost: 16 * 400 + 2 * size, "\(size)")
            expect(made.slots, atMost: 16 * 400 + 2 * size, "\(size)")
            expect(registry.taken, atMost: max(32, 2 * size + 2), "\(size): a nested notification walks no more")
            _ = consume traversal
            registry.appendClosure()
            expect(registry.waiting == (0, 0), "\(size)")
        }
    }

    @Test("Removed observers are marked in all waiting blocks at a cost in proportion to the changes made before")
    func markedInEachBlock() {
        let (size, changes) = (100, 20_000)
        let ids = (0..<size).map { _ in registry.appendClosure() }
        let traversal = registry.traversal()
        _ = churn(registry, size: 0, changes: changes, .latest)

        var marks = 0
        for id in ids {
            marks += registry.lock.withLock { contents in
                let blocks = unsafe contents.rare.map { unsafe $0.older.blocks + $0.newer.blocks } ?? []
                return unsafe blocks.count { unsafe $0.slot(of: id, among: .max)?.pointee.isRegistered(id) ?? false }
            }
            _ = registry.remove(id)
        }

        expect(marks, atMost: 4 * changes)
        _ = consume traversal
    }

    @Test("Owners that die during a long traversal are removed once each, and wait for the traversal to end")
    func dyingInATraversal() {
        let looks = Counter()
        let traversal = registry.traversal()
        let count = 5_000

        for _ in 0..<count {
            let owner = WatchedTarget(looks)
            registry.append(owner)
            owner.die()
        }

        expect(looks.value, atMost: 3 * count)
        expect(registry.registered <= 64 && registry.taken <= 128)
        let waiting = registry.waiting
        expect(waiting.observers, equals: count - registry.registered)
        expect(waiting.slots, atMost: 8 * count)
        _ = consume traversal
        registry.tryToRemoveDead()
        expect(registry.waiting == (0, 0))
        expect(registry.registered, equals: 0)
    }

    @Test("Emptying a set again and again inside a notification leaves nobody to call in the blocks that were replaced")
    func removedAllAgainAndAgain() {
        let set = ObserverSet<Int>()
        _ = set.add { [set] _ in
            for _ in 0..<3 {
                for _ in 0..<2 { _ = set.add { _ in } }
                set.removeAll()
            }
            let living = set.registry?.lock.withLock { contents in
                let blocks = unsafe contents.rare.map { unsafe $0.older.blocks + $0.newer.blocks } ?? []
                return unsafe blocks.map { block in
                    unsafe (0..<block.capacity).count { unsafe block.slots[$0].isRegistered }
                }
            }
            expect(living, equals: [0, 0, 0])
        }

        set.notify(1)

        #expect(set.isEmpty)
    }

    // MARK: Counts of traversals

    @Test("The counts of traversals are spread only once, however many threads meet in a set, and however often")
    func spreadOnce() async throws {
        let set = ObserverSet<Int>()
        _ = set.add { _ in }
        let registry = try #require(set.registry)
        set.notify(0)
        #expect(!areSpread(registry))
        #expect(!areSpread(registry), "one thread does not spread the counts, however often it notifies")
        // As two threads do whose traversals overlap.
        let first = unsafe registry.reclamation.enter()
        let second = unsafe registry.reclamation.enter()
        _ = unsafe registry.reclamation.noteLeft(Reclamation.leave(first))
        _ = unsafe registry.reclamation.noteLeft(Reclamation.leave(second))
        #expect(areSpread(registry))
        let before = place(registry)

        await onThreads(16) { thread in
            for value in 0..<100 {
                set.notify(value)
                set.add { _ in }.remove()
                if value % 10 == thread % 10 { registry.reclamation.addStripes() }
            }
        }

        // There are eight stripes of two cache lines each, and this may be another thread, with another stripe.
        let after = place(registry)
        expect(max(before, after) - min(before, after) < 8 * 128)
        expect(registry.waiting == (0, 0))
    }

    @Test("A thread that removes observers in its own notifications does not spread the counts of traversals")
    func removalsInPlaceSpreadNothing() {
        // A thread is identified by the address of its stack, in steps of half a mebibyte. At most one of the two
        // notifications below runs where a step ends.
        let results = Log<Bool>()
        let nested = ObserverSet<Int>()
        _ = nested.add { [weak nested] depth in
            if depth > 0 { return nested!.notify(depth - 1) }
            let set = ObserverSet<Int>()
            _ = set.once.add { _ in }
            set.notify(0)
            results.append(areSpread(set.registry!))
        }

        nested.notify(0)
        nested.notify(200)

        #expect(results.entries.contains(false))
    }

    private func areSpread(_ registry: Registry) -> Bool {
        let count = unsafe Reclamation.leave(registry.reclamation.enter())
        _ = registry.reclamation.noteLeft(count)
        return count.before == nil
    }

    /// The address of the count at which this thread counts itself in and out.
    private func place(_ registry: Registry) -> UInt {
        let ticket = unsafe registry.reclamation.enter()
        let place = unsafe UInt(bitPattern: ticket.count)
        _ = unsafe registry.reclamation.noteLeft(Reclamation.leave(ticket))
        return place
    }

    // MARK: Objects

    @Test(
        "The table of delegates' addresses shrinks when few are left, and is rebuilt rarely",
        arguments: Order.allCases)
    func addresses(_ order: Order) {
        let count = 4_000
        let objects = (0..<count).map { Tracked($0) }
        for object in objects { add(object) }

        var (made, last, wasteful, turns) = (0, addressRoom, 0, 0)
        for object in order(objects) {
            #expect(registry.remove(object))
            if addressRoom != last {
                made += 1
                // To and fro at the boundary where it has shrunk.
                for _ in 0..<10 {
                    last = addressRoom
                    add(object)
                    if addressRoom != last { turns += 1 }
                    last = addressRoom
                    _ = registry.remove(object)
                    if addressRoom != last { turns += 1 }
                }
            }
            last = addressRoom
            if last > max(64, 8 * registry.registered + 8) { wasteful += 1 }
        }

        expect(wasteful, equals: 0)
        expect(made, atMost: logarithm(count))
        expect(turns, atMost: 2 * made)
    }

    @Test("Sweeps are in proportion to the delegates that die, and adding one delegate again and again causes none")
    func delegates() {
        let living = (0..<1_000).map { Tracked($0) }
        for object in living { add(object) }
        for _ in 0..<20 { for object in living.prefix(100) { add(object) } }
        expect(registry.registered, equals: 1_000)
        expect(registry.taken, equals: 1_000)

        var (sweeps, last) = (0, 1_000)
        var blockers: [Tracked] = []
        for _ in 0..<10_000 {
            do { add(Tracked()) }
            // Takes the dead object's address, so that the next one gets another.
            blockers.append(Tracked())
            if registry.registered < last { sweeps += 1 }
            last = registry.registered
        }

        // A sweep is due when there are as many new objects as old ones. For the first sweep, the old ones count as
        // new.
        expect(sweeps, atMost: 10_000 / 1_000 + 1)
        expect(sweeps, atLeast: 10_000 / 1_000 - 1)
        withExtendedLifetime((living, blockers)) {}
    }

    // MARK: -

    /// Whether a notification walks at most twice as many slots as there are observers, and the block is not far too large.
    private var isFrugal: Bool {
        let (living, taken, room) = (registry.registered, registry.taken, registry.room)
        return taken <= max(31, 2 * living) && room <= max(31, 4 * taken)
    }

    /// Adds observers until there are `size`, then adds and removes in turn; counts the blocks that this has made.
    private func churn(_ registry: Registry, size: Int, changes: Int, _ turn: Turn) -> BlockCount {
        var ids = (0..<size).map { _ in registry.appendClosure() }
        var made = BlockCount(of: registry)
        func change(_ body: () -> Void) {
            body()
            made.look()
        }
        for round in 0..<changes / 2 {
            change { ids.append(registry.appendClosure()) }
            // With `several`, removes seven at a time, and the rest at the end.
            if turn == .several, round % 7 != 6, round != changes / 2 - 1 { continue }
            for _ in 0..<ids.count - size {
                let index =
                    switch turn {
                    case .oldest: 0
                    case .latest, .several: ids.count - 1
                    case .secondLatest: max(0, ids.count - 2)
                    case .middle: ids.count / 2
                    }
                change { _ = registry.remove(ids.remove(at: index)) }
            }
        }
        return made
    }

    private func add(_ object: AnyObject) { _ = unsafe registry.add(object, site: Site()) { nil } }

    /// For how many addresses the table has room.
    private var addressRoom: Int { registry.lock.withLock { $0.rare?.idsByAddress.capacity ?? 0 } }

    /// The number of digits in base two.
    private func logarithm(_ number: Int) -> Int { Int.bitWidth - number.leadingZeroBitCount }
}
