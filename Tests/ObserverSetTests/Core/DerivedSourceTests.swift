import ObserverSet
import Testing

/// Sources that are held weakly, whatever they are made of.
@Suite("Sources held weakly", .lifetimesChecked)
struct DerivedSourceTests {
    @Test("A set that is held weakly is the same set, as long as it lives")
    func set() {
        var set: ObserverSet<Int>? = ObserverSet()
        let held = set!.heldWeakly()
        #expect(held() === set)

        set = nil

        #expect(held() == nil)
    }

    @Test("Sources that are made of a set do the same when they are made again, and keep nothing alive")
    func madeAgain() {
        let log = Log<String>()
        var set: ObserverSet<Int>? = ObserverSet()
        let capture = Tracked()
        var sources: [any NotificationSource<Int>] = [
            set!.map { [capture] (value: Int) in capture.isIntact ? 10 * value : 0 },
            set!.filter { $0 > 1 }.compactMap { (value: Int) -> Int? in value < 3 ? value : nil },
            set!.once,
            set!.map { (value: Int) in value + 1 }.once.filter { $0 > 1 },
        ]
        let held = sources.map { weakly($0) }
        for (index, make) in held.enumerated() {
            make()?.addNonisolated { log.append("\(index): \($0)") }
        }

        for value in 1...3 { set?.notify(value) }
        sources = []
        set = nil

        #expect(log.entries == ["0: 10", "2: 1", "3: 2", "0: 20", "1: 2", "0: 30"])
        for make in held { #expect(make() == nil) }
        withExtendedLifetime(capture) {}
    }

    @Test("Another source that is a value is held")
    func value() {
        var set: ObserverSet<Int>? = ObserverSet()
        weak let weakSet = set
        let log = Log<Int>()
        do {
            let held = Mapped(source: set!) { (value: Int) in value }.heldWeakly()
            set = nil
            held()?.addNonisolated { log.append($0) }
            weakSet?.notify(1)
        }

        #expect(log.entries == [1])
        #expect(weakSet == nil)
    }
}

private func weakly(
    _ source: some NotificationSource<Int>
) -> @Sendable () -> (any NotificationSource<Int>)? {
    let held = source.heldWeakly()
    return { held() }
}
