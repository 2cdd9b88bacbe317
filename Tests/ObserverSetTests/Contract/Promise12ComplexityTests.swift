import Testing
@testable import ObserverSet

/// Promise 12: `add` and `remove` take amortised constant time plus at most a logarithmic search; `notify` is linear.
///
/// These tests show that large sets work, and grow step by step. The other suites of promise 12 count slots, blocks and
/// checks of entries; the benchmark shows the times.
@Suite("Promise 12: complexity", .lifetimesChecked, .againstHanging, .serialized)
struct Promise12ComplexityTests {
    private let set = ObserverSet<Int>()
    private let calls = Counter()

    @Test("A million observers are added, notified, and then removed with one call")
    func million() {
        for _ in 0..<many(1_000_000) { _ = set.addNonisolated { [calls] _ in calls.increment() } }
        expect(set.count, equals: many(1_000_000))

        set.notify(1)
        expect(calls.value, equals: many(1_000_000))

        set.removeAll()
        #expect(set.isEmpty)
        set.notify(2)
        expect(calls.value, equals: many(1_000_000))
    }

    @Test("A set with a million observers dies without exhausting the stack")
    func millionAtTheSetsEnd() {
        let capture = Tracked()
        let before = Lifetimes.current.count
        do {
            let set = ObserverSet<Int>()
            for _ in 0..<many(1_000_000) { _ = set.add { _ in _ = capture } }
        }

        expect(Lifetimes.current.count, equals: before)
    }

    enum Order: CaseIterable, Sendable { case firstIn, lastIn, random }

    @Test("A hundred thousand removals, in any order, leave the right observers", arguments: Order.allCases)
    func removals(_ order: Order) {
        let log = Log<Int>()
        let tokens = (0..<many(150_000)).map { index in set.addNonisolated { _ in log.append(index) } }
        var indices = Array(0..<many(150_000))
        var generator = SeededGenerator(seed: 12)
        switch order {
        case .firstIn: break
        case .lastIn: indices.reverse()
        case .random: indices.shuffle(using: &generator)
        }

        for index in indices.prefix(many(100_000)) { #expect(tokens[index].remove()) }

        expect(set.count, equals: many(50_000))
        set.notify(1)
        expect(log.entries, equals: indices.dropFirst(many(100_000)).sorted())
        for index in indices.prefix(many(100_000)) { #expect(!tokens[index].remove()) }
    }

    @Test("Removals inside an observer take no longer than outside")
    func removalsInsideAnObserver() {
        let tokens = Shared<[ObserverToken]>([])
        _ = set.once.add { _ in
            for token in tokens.exchange([]) { #expect(token.remove()) }
        }
        tokens.value = (0..<many(60_000)).map { _ in set.addNonisolated { [calls] _ in calls.increment() } }

        set.notify(1)

        expect(calls.value, equals: 0)
        #expect(set.isEmpty)
    }

    @Test(
        "Additions and removals during a long notification take no longer than without one")
    func churnDuringAPass() {
        _ = set.once.add { [set] _ in
            for _ in 0..<many(60_000) { #expect(set.add { _ in }.remove()) }
        }

        set.notify(1)

        #expect(set.isEmpty)
    }

    @Test("Notifying a few living observers is not slower after many others have been removed")
    func manyRemoved() {
        let tokens = (0..<many(100_000)).map { _ in set.addNonisolated { _ in } }
        _ = set.addNonisolated { [calls] _ in calls.increment() }
        for token in tokens { token.remove() }

        // Each notification walks only the observer that is left. To walk the others as well would take ten thousand
        // million steps.
        for value in 0..<many(100_000) { set.notify(value) }

        expect(calls.value, equals: many(100_000))
    }

    @Test("Adding and removing an owner beside many closures rarely causes a sweep for dead owners")
    func ownerBesideClosures() {
        let captures = Lifetimes()
        for _ in 0..<10_000 { _ = set.addNonisolated { _ in } }
        set.add(Tracked()) { [capture = Tracked(in: captures)] _, _ in _ = capture }
        let owner = Tracked()

        for _ in 0..<1_000 { #expect(set.add(owner) { _, _ in }.remove()) }
        expect(captures.count, equals: 1, "there has been no sweep for dead owners")

        for _ in 0..<10_000 { set.add(owner) { _, _ in }.remove() }
        expect(captures.count, equals: 0, "after as many additions as there are observers, there has been a sweep")
    }

    @Test("Many threads that add owners at once sweep for dead owners as rarely as a single thread")
    func ownersByManyThreads() async {
        let owner = Tracked()

        await onThreads(16) { [set] _ in
            for _ in 0..<many(100_000) / 16 { set.add(owner) { _, _ in } }
        }

        expect(set.count, equals: many(100_000) / 16 * 16)
    }

    @Test("Adding many owners causes few enough sweeps for dead ones")
    func owners() {
        let owners = (0..<many(100_000)).map { Tracked($0) }
        for owner in owners { set.add(owner) { [calls] _, _ in calls.increment() } }

        set.notify(1)

        expect(calls.value, equals: many(100_000))
        expect(set.count, equals: many(100_000))
        withExtendedLifetime(owners) {}
    }

    @Test("A long queue of values is delivered in linear time", arguments: ObserverKind.lastingHopping)
    func longQueue(_ kind: ObserverKind) async {
        let registration = kind.add(to: set) { [calls] _ in calls.increment() }

        for value in 0..<many(100_000) { set.notify(value) }
        await set.settled()

        expect(calls.value, equals: many(100_000))
        registration.end()
    }

    @Test("Emptying a set again and again inside a notification leaves nobody to call in the blocks that were replaced")
    func removedAllAgainAndAgain() throws {
        let set = ObserverSet<Int>()
        _ = set.add { [set] _ in
            for _ in 0..<3 {
                for _ in 0..<2 { _ = set.add { _ in } }
                set.removeAll()
            }
            let living = set.registry?.lock.withLock { contents in
                let blocks = unsafe contents.rare.map { unsafe $0.older.blocks + $0.newer.blocks } ?? []
                return unsafe blocks.map { block in
                    unsafe (0..<block.capacity).count { unsafe block.slots[$0].isLiving }
                }
            }
            expect(living, equals: [0, 0, 0])
        }

        set.notify(1)

        #expect(set.isEmpty)
    }
}
