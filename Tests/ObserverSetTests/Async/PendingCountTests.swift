import Testing

@testable import ObserverSet

/// How many values wait for an observer, as its token says.
@Suite("Values that wait", .lifetimesChecked, .againstHanging)
struct PendingCountTests {
    private let set = ObserverSet<Int>()
}

extension PendingCountTests {
    @Test("Values for another actor count until their calls begin")
    func actor() async {
        let keeper = Keeper()
        let seen = Log<Int>()
        let token = Shared<ObserverToken?>(nil)
        token.value = set.add(keeper) { (_: isolated Keeper, _) in seen.append(token.value?.pendingCount ?? -1) }
        await keeper.perform { [set] _ in
            join { [set] in for value in 0..<5 { set.notify(value) } }
            expect(token.value?.pendingCount, equals: 5)
        }
        await set.settled()

        expect(seen.entries, equals: [4, 3, 2, 1, 0])
        expect(token.value?.pendingCount, equals: 0)
    }

    @Test("It is zero for observers in place, which drop nothing either, and for registrations that have ended")
    func zero() {
        let owner = Tracked()
        let tokens = [set.addNonisolated { _ in }, set.addNonisolated(owner) { _, _ in }]
        for isActive in [true, false] {
            set.notify(1)
            let counts = (tokens + [ObserverToken([])]).map { [$0.pendingCount, $0.droppedCount] }
            expect(counts, equals: [[0, 0], [0, 0], [0, 0]], "\(isActive)")
            tokens.forEach { $0.remove() }
        }
    }

    @Test("While values are posted and delivered it is never negative, and exact when nothing moves")
    func meanwhile() async {
        let keeper = Keeper()
        let token = set.add(keeper) { (_: isolated Keeper, _) in }
        let isOver = Signal()
        let values = many(100_000)
        let least = Shared(0)
        async let looking: Void = onThread {
            while !isOver.isSet { least.value = min(least.value, token.pendingCount) }
        }
        await onThreads(3) { [set] _ in for value in 0..<values { set.notify(value) } }
        await set.settled()
        isOver.set()
        await looking

        expect(least.value, equals: 0)
        expect(token.pendingCount, equals: 0)
    }
}
