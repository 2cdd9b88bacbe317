import Testing

@testable import ObserverSet

/// What an observer notifies to its own local set is delivered by the outermost `notify`, when the outer value has reached
/// everybody: each observer receives all values in the order in which they were notified.
@Suite("Local set: nested notifications", .lifetimesChecked)
struct LocalNestedTests {
    private let set = LocalObserverSet<Int>()
    private let notes = Notes<String>()
    private let owner = Plain()

    /// Adds observers `names`, which note each value behind their name.
    private func add(_ names: String, as form: LocalForm = .closure, then react: @escaping (Int) -> Void = { _ in }) {
        for name in names {
            form.add(to: set, owner: owner) { [notes] value in
                notes.entries.append("\(name)\(value)")
                react(value)
            }
        }
    }

    // MARK: Order

    /// Scenario 9: what later observers receive.
    ///
    /// Source: RxSwift SubjectConcurrencyTest, roberthein/Observable#19; ReactiveX/rxjs#6580, psygnal#281 and #292,
    /// ReSwift#519.
    @Test("An observer that notifies again lets the others receive the first value first", arguments: LocalForm.lasting)
    func once(form: LocalForm) {
        add("a", as: form) { [unowned set] value in if value < 1 { set.notify(value + 1) } }
        add("bc", as: form)

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "c0", "a1", "b1", "c1"])
    }

    /// Scenario 8.
    @Test("A nested `notify` returns before its value is delivered", arguments: LocalForm.lasting)
    func twice(form: LocalForm) {
        add("a", as: form) { [unowned set, notes] value in
            guard value == 0 else { return }
            set.notify(1)
            notes.entries.append("between")
            set.notify(2)
        }
        add("bc", as: form)

        set.notify(0)

        expect(notes.entries, equals: ["a0", "between", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"])
    }

    @Test(
        "An observer in the middle, or the last one, that notifies again changes no observer's order",
        arguments: ["b", "c"])
    func notTheFirst(name: String) {
        for observer in ["a", "b", "c"] {
            add(observer) { [unowned set] value in if observer == name, value < 2 { set.notify(value + 1) } }
        }

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"])
    }

    @Test("Values that several observers notify are delivered in that order")
    func severalNotify() {
        add("a") { [unowned set] value in if value == 0 { set.notify(1) } }
        add("b") { [unowned set] value in if value == 0 { set.notify(2) } }
        add("c")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"])
    }

    @Test("Observers that all notify again leave each of them with all values in order")
    func everyObserver() {
        let received = (0..<3).map { _ in Notes<Int>() }
        let next = Notes<Int>()
        for notes in received {
            _ = set.add { [unowned set] value in
                notes.entries.append(value)
                guard next.entries.count < 50 else { return }
                next.entries.append(value)
                set.notify(next.entries.count)
            }
        }

        set.notify(0)

        for notes in received { expect(notes.entries, equals: Array(0...50)) }
    }

    @Test("A state that an observer corrects is shown as corrected")
    func correctedState() {
        let state = Notes<Int>()
        let changed = LocalObserverSet<(old: Int, new: Int)>()
        func set(_ new: Int) {
            let old = state.entries.last ?? 0
            state.entries.append(new)
            changed.notify((old, new))
        }
        let shown = Notes<Int>()
        _ = changed.add { change in if change.new > 42 { set(42) } }
        _ = changed.add { change in shown.entries.append(change.new) }

        set(50)

        expect(state.entries.last, equals: 42)
        expect(shown.entries, equals: [50, 42])
        changed.removeAll()
    }

    @Test("Another set that is notified in between is no part of the order")
    func twoSets() {
        let other = LocalObserverSet<Int>()
        _ = other.add { [unowned set] value in if value < 3 { set.notify(value) } }
        add("a") { value in other.notify(value + 1) }
        add("b")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "a2", "b2"])
        other.removeAll()
    }

    // MARK: Changes meanwhile

    @Test("An observer behind that is removed before the nested notification receives neither value")
    func removedBehind() {
        var token: LocalObserverSet<Int>.Token?
        add("a") { [unowned set] value in
            guard value == 0 else { return }
            expect(token?.remove(), equals: true)
            set.notify(1)
        }
        token = set.add { [notes] value in notes.entries.append("b\(value)") }
        add("c")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "c0", "a1", "c1"])
    }

    @Test("An observer that is added before the nested notification receives its value, and not the first")
    func addedBefore() {
        add("a") { [unowned set, notes] value in
            guard value == 0 else { return }
            _ = set.add { value in notes.entries.append("new\(value)") }
            set.notify(1)
        }
        add("b")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "new1"])
    }

    @Test("An observer that is added while a value waits does not receive that value")
    func addedMeanwhile() {
        add("a") { [unowned set] value in if value == 0 { set.notify(1) } }
        add("b") { [unowned set, notes] value in
            if value == 0 { _ = set.add { value in notes.entries.append("new\(value)") } }
        }

        set.notify(0)
        set.notify(2)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "a2", "b2", "new2"])
    }

    @Test(
        "A one-time observer behind receives the first value, and nothing else",
        arguments: [LocalForm.once, .ownerOnce])
    func oneTime(form: LocalForm) {
        add("a") { [unowned set] value in if value < 2 { set.notify(value + 1) } }
        add("b", as: form)

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "a2"])
    }

    @Test("An owner behind that dies before the nested notification is not called")
    func deadBehind() {
        var dying: Plain? = Plain()
        add("a") { [unowned set] value in
            guard value == 0 else { return }
            dying = nil
            set.notify(1)
        }
        set.add(dying!) { [notes] _, value in notes.entries.append("b\(value)") }
        add("c")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "c0", "a1", "c1"])
        expect(set.count, equals: 2)
    }

    @Test("An observer that is added when all others have been removed does not receive a value that waits")
    func addedToAnEmptySet() {
        var token: LocalObserverSet<Int>.Token?
        token = set.add { [unowned set, notes] value in
            notes.entries.append("a\(value)")
            set.notify(1)
            expect(token?.remove(), equals: true)
            #expect(set.isEmpty)
            _ = set.add { value in notes.entries.append("new\(value)") }
        }

        set.notify(0)
        set.notify(2)

        expect(notes.entries, equals: ["a0", "new2"])
    }

    @Test("`removeAll` drops what waits, which may use the set in its `deinit`")
    func removeAll() {
        let set = LocalObserverSet<Plain>()
        _ = set.add { [unowned set, notes] value in
            notes.entries.append("a")
            for _ in 0..<3 { set.notify(Plain { notes.entries.append("gone, \(set.count) observers") }) }
            set.removeAll()
            _ = set.add { _ in notes.entries.append("new") }
        }
        _ = set.add { [notes] _ in notes.entries.append("b") }

        set.notify(Plain())

        expect(notes.entries, equals: ["a"] + Array(repeating: "gone, 0 observers", count: 3))
    }

    @Test("After `removeAll`, what is notified in the same call reaches the observers that were added since")
    func notifiedAfterRemoveAll() {
        add("a") { [unowned set] value in
            guard value == 0 else { return }
            set.notify(1)
            set.removeAll()
            add("b")
            set.notify(2)
        }

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b2"])
    }

    @Test("A value that a `deinit` notifies when the notification ends is delivered, too")
    func notifiedAtTheEnd() {
        var token: LocalObserverSet<Int>.Token?
        let capture = Plain { [set] in set.notify(1) }
        token = set.add { [capture] _ in
            expect(token?.remove(), equals: true)
            withExtendedLifetime(capture) {}
        }
        _ = consume capture
        add("b")

        set.notify(0)

        expect(notes.entries, equals: ["b0", "b1"])
    }

    @Test("A set that is released while values wait delivers them first")
    func setDiesWhileValuesWait() {
        var dying: LocalObserverSet<Int>? = LocalObserverSet()
        _ = dying!.add { [notes] value in
            notes.entries.append("a\(value)")
            guard value == 0 else { return }
            for next in 1...2 { dying!.notify(next) }
            dying = nil
        }
        _ = dying!.add { [notes] value in notes.entries.append("b\(value)") }

        dying!.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "a2", "b2"])
        #expect(dying == nil)
    }

    @Test("A set that is released in a nested call delivers everything first")
    func setDies() {
        var dying: LocalObserverSet<Int>? = LocalObserverSet()
        _ = dying!.add { [notes] value in
            notes.entries.append("a\(value)")
            if value < 2 { dying!.notify(value + 1) } else { dying = nil }
        }
        _ = dying!.add { [notes] value in notes.entries.append("b\(value)") }

        dying!.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "a2", "b2"])
        #expect(dying == nil)
    }

    @Test("An observer that is removed when a value that waited is delivered is not called any more, and is released")
    func removalInTheQueue() {
        let set = LocalObserverSet<Int>()
        let notes = Notes<Int>()
        var victim: LocalObserverSet<Int>.Token?
        _ = set.add { [unowned set] depth in
            if depth < 5 { set.notify(depth + 1) } else { expect(victim?.remove(), equals: true) }
            expect(Lifetimes.current.count, equals: 2, "the traversal may still reach the removed observer")
        }
        victim = set.add { [capture = Plain()] depth in notes.entries.append(depth + capture.heard.count) }

        set.notify(0)

        expect(notes.entries, equals: [0, 1, 2, 3, 4])
        expect(Lifetimes.current.count, equals: 1)
    }

    // MARK: Depth

    /// Scenario 10: how deep notifications nest on an ordinary stack.
    ///
    /// Source: canjs#27, brs-engine#905, ResInsight#14306. Runs in its own process, since a stack that is too small
    /// ends the process.
    @Test("A hundred thousand nested notifications need no more stack than one")
    func deep() async {
        await #expect(processExitsWith: .success) {
            for form in [LocalForm.closure, .owner] {
                let received = await onThread(stackSize: 512 << 10) {
                    let set = LocalObserverSet<Int>()
                    let owner = Notes<Int>()
                    form.add(to: set, owner: owner) { [unowned set] value in
                        if value < 100_000 { set.notify(value + 1) }
                    }
                    // Behind the one that notifies again, and so sees whether all values come in order.
                    _ = set.add { value in owner.entries.append(value) }
                    set.notify(1)
                    return owner.entries
                }
                expect(received, equals: Array(1...100_000), "\(form)")
            }
        }
    }

    @Test(
        "Sets that notify each other need no more stack, either, and each observer receives its set's values in order")
    func deepBetweenSets() async {
        await #expect(processExitsWith: .success) {
            let received = await onThread(stackSize: 512 << 10) {
                let sets = (0..<3).map { _ in LocalObserverSet<Int>() }
                let notes = (0..<3).map { _ in Notes<Int>() }
                for (index, set) in sets.enumerated() {
                    let next = sets[(index + 1) % 3]
                    _ = set.add { [unowned next] value in if value < 100_000 { next.notify(value + 1) } }
                    _ = set.add { value in notes[index].entries.append(value) }
                }
                withExtendedLifetime(sets) { sets[0].notify(0) }
                return notes.map(\.entries)
            }
            for (index, values) in received.enumerated() {
                expect(values, equals: Array(stride(from: index, through: 100_000, by: 3)))
            }
        }
    }
}
