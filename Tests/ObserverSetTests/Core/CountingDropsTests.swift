import ObserverSet
import Testing

/// Values with the number of those that were dropped before them.
@Suite("Counting drops", .lifetimesChecked)
struct CountingDropsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<[Int]>()

    @Test("Observers that lose nothing receive every value with the number 0")
    func nothingIsDropped() {
        let view = Tracked()
        set.countingDrops.add { [log] kept in log.append([kept.value, kept.droppedBefore]) }
        set.countingDrops.addNonisolated(view) { [log] _, kept in log.append([kept.value, kept.droppedBefore]) }

        set.notify(1)

        #expect(log.entries == [[1, 0], [1, 0]])
    }

    @Test("Numbers of dropped values add up, and values without a number stay as they are")
    func noting() {
        set.countingDrops.addNonisolated { [log] kept in
            let once = Buffering.noting(2, before: kept)
            let twice = Buffering.noting(3, before: Buffering.noting(0, before: once))
            log.append([once.value, once.droppedBefore, twice.value, twice.droppedBefore])
        }

        set.notify(7)

        #expect(log.entries == [[7, 2, 7, 5]])
        #expect(Buffering.noting(2, before: 1) == 1)
        #expect(Buffering.noting(2, before: Int?.none) == nil)
    }
}
