import ObserverSet
import Testing

/// A local set that is changed by the observers it is calling (guarantees 2, 3, 4, 6 and 9).
@Suite("Local set: mutation during a notification", .lifetimesChecked, .againstHanging)
struct LocalMutationTests {}

extension LocalMutationTests {
    /// Scenario 1: an observer removes itself, or all do.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_self, "Mass suicide").
    @Test("Observers that remove themselves are called once, and no neighbour is skipped", arguments: LocalForm.lasting)
    func removesItself(form: LocalForm) {
        for leavers in [[0], [1], [2], [3], [0, 1, 2, 3]] {
            let row = Row(form: form)
            let during = row.notify { row, index in
                if leavers.contains(index) { #expect(row.remove(index)) }
            }

            expect(during, equals: [0, 1, 2, 3])
            expect(row.notify(), equals: [0, 1, 2, 3].filter { !leavers.contains($0) })
        }
    }

    /// Scenarios 2 and 3: an observer removes another one, later or earlier in the order.
    ///
    /// Source: boost signals2 test/deletion_test.cpp (test_remove_after, test_remove_prior); node#1182, eventemitter3#262, tseep#28.
    @Test(
        "A later observer that is removed is not called, and removing an earlier one neither skips nor repeats any",
        arguments: LocalForm.lasting, [0, 100])
    func removesAnother(form: LocalForm, growth: Int) {
        for (remover, removed) in [(0, 1), (1, 3), (2, 3), (1, 0), (3, 2), (3, 0)] {
            let row = Row(form: form)
            let rest = [0, 1, 2, 3].filter { $0 != removed }
            let during = row.notify { row, index in
                guard index == remover else { return }
                // With so many that the block of slots is replaced first.
                for _ in 0..<growth { _ = row.set.add {} }
                #expect(row.remove(removed))
            }

            expect(during, equals: (removed > remover ? rest : [0, 1, 2, 3]))
            expect(row.notify(), equals: rest)
            expect(row.set.count, equals: 3 + growth)
        }
    }

    /// Scenario 4: an observer removes all.
    @Test(
        "After `removeAll` in an observer, no later one is called, and the set is empty",
        arguments: LocalForm.lasting)
    func removesAll(form: LocalForm) {
        let row = Row(5, form: form)

        let during = row.notify { row, index in
            guard index == 1 else { return }
            row.set.removeAll()
            expect(row.set.count, equals: 0)
        }

        expect([during, row.notify()], equals: [[0, 1], []])
    }

    /// Scenario 5: observers are added during a notification, also so many that the block of slots is replaced
    /// meanwhile.
    ///
    /// Source: argent#870, boost regression_test.cpp slot_connect_test.
    @Test("Observers added during a notification are first called by the next one, in order", arguments: [1, 5_000])
    func adds(count: Int) {
        let set = LocalObserverSet<Void>()
        let notes = Notes<Int>()
        _ = set.add { notes.entries.append(-1) }
        _ = set.once.add { [unowned set] in
            for index in 0..<count { _ = set.add { notes.entries.append(index) } }
        }
        _ = set.add { notes.entries.append(-2) }

        set.notify()
        expect(notes.entries, equals: [-1, -2])
        notes.entries = []
        set.notify()

        expect(notes.entries, equals: [-1, -2] + Array(0..<count))
        expect(set.count, equals: count + 2)
    }

    @Test("A one-time observer is called once, even if it notifies the set in its call", arguments: LocalForm.allCases)
    func once(form: LocalForm) {
        let set = LocalObserverSet<Int>()
        let owner = Plain()
        let notes = Notes<Int>()
        var token: LocalObserverSet<Int>.Token?
        token = form.add(to: set, owner: owner) { [unowned set] value in
            notes.entries.append(value)
            expect(token?.isActive, equals: !form.isOnce)
            expect(set.count, equals: (form.isOnce ? 0 : 1))
            if value < 2 { set.notify(value + 1) }
        }

        set.notify(1)
        set.notify(2)

        expect(notes.entries, equals: (form.isOnce ? [1] : [1, 2, 2]))
        expect(token?.remove(), equals: !form.isOnce)
        token = nil
        set.removeAll()
    }
}

/// Observers 0, 1, 2, … of one set, which note their number and then do what a test asks of them.
private final class Row {
    let set = LocalObserverSet<Void>()
    private var called: [Int] = []
    private var tokens: [LocalObserverSet<Void>.Token] = []
    private var action: (Row, Int) -> Void = { _, _ in }

    init(_ count: Int = 4, form: LocalForm) {
        tokens = (0..<count).map { index in
            form.add(to: set, owner: self) { [unowned self] in
                called.append(index)
                action(self, index)
            }
        }
    }

    /// Notifies once, and returns the observers that were called, in order.
    func notify(_ action: @escaping (Row, Int) -> Void = { _, _ in }) -> [Int] {
        called = []
        self.action = action
        set.notify()
        return called
    }

    @discardableResult
    func remove(_ index: Int) -> Bool { tokens[index].remove() }
}
