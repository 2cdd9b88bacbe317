import Foundation
import ObserverSet
import Testing

/// What has broken others: a set that is changed by the observers it is calling (promises 2, 3 and 4).
@Suite("Mutation during a notification", .lifetimesChecked, .againstHanging)
struct MutationDuringNotificationTests {
    /// Scenario 1: one removes itself.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_self); thor#95, minivents#29, tiny-emitter#1, cytoscape.js#1953
    /// (the neighbour was skipped).
    @Test(
        "An observer that removes itself is called once, and its neighbours are not skipped",
        arguments: InPlaceForm.allCases, 0..<4)
    func removesItself(form: InPlaceForm, leaver: Int) {
        let row = Row(form: form)

        let during = row.notify { row, index in
            if index == leaver { #expect(row.remove(leaver)) }
        }
        let after = row.notify()

        #expect(during == [0, 1, 2, 3])
        #expect(after == [0, 1, 2, 3].filter { $0 != leaver })
    }

    /// Scenario 1: all remove themselves.
    ///
    /// Source: boost signals2 test/deletion_test.cpp ("Mass suicide").
    @Test(
        "Observers that all remove themselves are each called once, and none is left", arguments: InPlaceForm.allCases)
    func allRemoveThemselves(form: InPlaceForm) {
        let row = Row(form: form)

        let during = row.notify { row, index in row.remove(index) }
        let after = row.notify()

        #expect(during == [0, 1, 2, 3])
        #expect(after == [])
        #expect(row.set.count == 0)
        #expect(row.set.isEmpty)
    }

    /// Scenario 2: one removes a later one.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_after); node#1182, eventemitter3#262 (the removed one was still
    /// called), tseep#28 (a crash: the live array indexed by its old length), Foundation's NotificationCenter.
    @Test("An observer removed by an earlier one is not called", arguments: InPlaceForm.allCases)
    func removesLater(form: InPlaceForm) {
        let row = Row(form: form)

        let first = row.notify { row, index in
            if index == 0 { row.remove(1) }
        }
        let second = row.notify { row, index in
            if index == 2 { row.remove(3) }
        }

        #expect(first == [0, 2, 3])
        #expect(second == [0, 2])
    }

    /// Scenario 2, the other order: the removed one is not the neighbour.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_after).
    @Test("An observer removed by one two places before it is not called, and those between are")
    func removesLaterAtADistance() {
        let row = Row()

        let during = row.notify { row, index in
            if index == 1 { row.remove(3) }
        }

        #expect(during == [0, 1, 2])
    }

    /// Scenario 3: one removes an earlier one.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_prior).
    @Test(
        "Removing an observer that was called already neither skips nor repeats another",
        arguments: InPlaceForm.allCases, [(1, 0), (3, 2), (3, 0)])
    func removesEarlier(form: InPlaceForm, removal: (by: Int, of: Int)) {
        let row = Row(form: form)

        let during = row.notify { row, index in
            if index == removal.by { row.remove(removal.of) }
        }
        let after = row.notify()

        #expect(during == [0, 1, 2, 3])
        #expect(after == [0, 1, 2, 3].filter { $0 != removal.of })
    }

    /// Scenario 4: one removes all.
    @Test(
        "After `removeAll` inside an observer the rest is not called, and the set is empty at once",
        arguments: InPlaceForm.allCases)
    func removesAll(form: InPlaceForm) {
        let row = Row(5, form: form)

        let during = row.notify { row, index in
            guard index == 1 else { return }
            row.set.removeAll()
            #expect(row.set.count == 0)
            #expect(row.set.isEmpty)
        }

        #expect(during == [0, 1])
        #expect(row.notify() == [])
    }

    /// Scenario 5: each notification adds one.
    ///
    /// Source: argent#870 (called in the same emission), boost regression_test.cpp slot_connect_test (a slot that connects a slot).
    @Test("An observer added during a notification is first called by the next one", arguments: InPlaceForm.allCases)
    func addsOne(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let calls = Log<Int>()
        let owner = Tracked()
        form.add(to: set, owner: owner) { [weak set] in
            calls.append(0)
            guard let set else { return }
            form.add(to: set, owner: owner) { calls.append(set.count) }
        }

        for round in 1...20 {
            calls.removeAll()
            set.notify()

            #expect(calls.count == round)
            #expect(set.count == 1 + round)
        }
        set.removeAll()
    }

    /// Scenario 5: so many are added that the set must grow under the pass.
    @Test("Observers added in thousands during a notification are called by the next one, in order")
    func addsThousands() {
        let set = ObserverSet<Void>()
        let calls = Log<Int>()
        set.addOnce { [weak set] in
            calls.append(-1)
            for index in 0..<5_000 { set?.addNonisolated { calls.append(index) } }
        }

        set.notify()
        let during = calls.entries
        set.notify()

        #expect(during == [-1])
        #expect(calls.entries == [-1] + Array(0..<5_000))
    }

    /// Scenario 6: one removes itself and comes again.
    @Test(
        "An observer that removes and adds itself again is called once now, and last from then on",
        arguments: InPlaceForm.allCases)
    func comesAgain(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let log = Log<String>()
        let owner = Tracked()
        let token = Shared<ObserverToken?>(nil)
        let old = form.add(to: set, owner: owner) { [weak set] in
            log.append("first")
            #expect(token.value?.remove() == true)
            guard let set else { return }
            token.value = form.add(to: set, owner: owner) { log.append("again") }
        }
        token.value = old
        form.add(to: set, owner: owner) { log.append("second") }

        set.notify()
        let during = log.entries
        log.removeAll()
        set.notify()

        #expect(during == ["first", "second"])
        #expect(log.entries == ["second", "again"])
        #expect(token.value != old)
        #expect(!old.remove())
        #expect(set.count == 2)
    }

    /// Scenario 7: the entry that is being called is removed, and with it what its closure holds.
    ///
    /// Source: nano-signal-slot#7, pbhogan/Signals#4, godot#34752 (a list node used after it was freed).
    @Test("A closure removed by its own call keeps its captures until it returns", arguments: InPlaceForm.allCases)
    func capturesOutliveTheCall(form: InPlaceForm) {
        let set = ObserverSet<Void>()
        let owner = Tracked()
        let token = Shared<ObserverToken?>(nil)
        let wasIntact = Shared(false)
        token.value = form.add(to: set, owner: owner) { [capture = Tracked()] in
            token.value?.remove()
            wasIntact.value = capture.isIntact
        }

        set.notify()

        #expect(wasIntact.value)
        #expect(Lifetimes.current.count == 1, "only the owner: the capture is released with the pass")
    }

    /// Scenario 7: the same with many, which remove and replace one another while they are being walked.
    ///
    /// Source: as before; this one is for the address sanitizer.
    @Test("Observers that remove and replace one another at random are never called on released captures")
    func randomReplacement() {
        var random = SeededGenerator(seed: 7)
        let world = ReplacingWorld()
        for _ in 0..<100 { world.addOne(seed: random.next()) }

        for _ in 0..<200 { world.set.notify() }

        #expect(world.calls.value > 5_000)
        #expect(world.brokenCalls.value == 0)
        #expect(world.set.count == 100)
        world.set.removeAll()
        #expect(Lifetimes.current.count == 0)
    }
}

/// Observers 0, 1, 2, … of one set, which log their number and then do what a test asks of them.
private final class Row: Sendable {
    typealias Action = @Sendable (Row, Int) -> Void

    let set = ObserverSet<Void>()
    private let log = Log<Int>()
    private let tokens = Shared<[ObserverToken]>([])
    private let action = Shared<Action>({ _, _ in })

    init(_ count: Int = 4, form: InPlaceForm = .closure) {
        tokens.value = (0..<count).map { index in
            form.add(to: set, owner: self) { [weak self] in self?.wasCalled(index) }
        }
    }

    /// Notifies once, and returns who was called.
    func notify(_ action: @escaping Action = { _, _ in }) -> [Int] {
        log.removeAll()
        self.action.value = action
        set.notify()
        return log.entries
    }

    @discardableResult
    func remove(_ index: Int) -> Bool { tokens.value[index].remove() }

    private func wasCalled(_ index: Int) {
        log.append(index)
        action.value(self, index)
    }
}

/// A set whose observers, each with a tracked capture, now and then remove one of them and add another.
private final class ReplacingWorld: Sendable {
    let set = ObserverSet<Void>()
    let calls = Shared(0)
    let brokenCalls = Shared(0)
    private let tokens = Shared<[ObserverToken]>([])

    func addOne(seed: UInt64) {
        let random = Shared(SeededGenerator(seed: seed))
        let token = set.add { [weak self, capture = Tracked()] in
            guard let self else { return }
            calls.value += 1
            if random.value.next() % 16 == 0 { replaceOne(&random.value) }
            if !capture.isIntact { brokenCalls.value += 1 }
        }
        tokens.value.append(token)
    }

    private func replaceOne(_ random: inout SeededGenerator) {
        let index = Int(random.next() % UInt64(tokens.value.count))
        tokens.value.remove(at: index).remove()
        addOne(seed: random.next())
    }
}
