import Testing

@testable import ObserverSet

/// What an observer notifies to its own local set is delivered by the outermost `notify`, when the outer value has reached
/// everybody: each observer receives all values in the order in which they were notified.
@Suite("Local set: nested notifications", .lifetimesChecked)
struct LocalNestedTests {
    private let set = LocalObserverSet<Int>()
    private let notes = Notes<String>()
    private let owner = Plain()
}

extension LocalNestedTests {
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
    @Test(
        "Whoever notifies again, all receive the first value first",
        arguments: LocalForm.lasting, ["a", "b", "c", "ab"])
    func once(form: LocalForm, names: String) {
        for name in ["a", "b", "c"] {
            add(name, as: form) { [unowned set] value in
                if value == 0, names.contains(name) { set.notify(name == "b" ? 2 : 1) }
            }
        }

        set.notify(0)

        let values = names == "ab" ? [0, 1, 2] : names == "b" ? [0, 2] : [0, 1]
        expect(notes.entries, equals: values.flatMap { ["a\($0)", "b\($0)", "c\($0)"] })
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

    // MARK: Changes meanwhile

    @Test(
        "An observer behind that is removed, or whose owner dies, before the nested notification receives neither value"
    )
    func endedBehind() {
        var token: LocalObserverSet<Int>.Token?
        var dying: Plain? = Plain()
        add("a") { [unowned set] value in
            guard value == 0 else { return }
            expect(token?.remove(), equals: true)
            dying = nil
            set.notify(1)
        }
        token = set.add { [notes] value in notes.entries.append("b\(value)") }
        set.add(dying!) { [notes] _, value in notes.entries.append("c\(value)") }
        add("d")

        set.notify(0)

        expect(notes.entries, equals: ["a0", "d0", "a1", "d1"])
        expect(set.count, equals: 2)
    }

    @Test("An observer that is added receives what is notified afterwards, and not what waits already")
    func addedMeanwhile() {
        add("a") { [unowned set] value in
            guard value == 0 else { return }
            set.notify(1)
            self.add("n")
            set.notify(2)
        }
        add("b") { value in if value == 0 { self.add("l") } }

        set.notify(0)
        set.notify(3)

        let nested = ["a0", "b0", "a1", "b1", "a2", "b2", "n2"]
        expect(notes.entries, equals: nested + ["a3", "b3", "n3", "l3"])
        set.removeAll()
    }

    @Test("A one-time observer behind receives the first alone", arguments: [LocalForm.once, .ownerOnce])
    func oneTime(form: LocalForm) {
        add("a") { [unowned set] value in if value < 2 { set.notify(value + 1) } }
        add("b", as: form)

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "a2"])
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

    @Test(
        "After `removeAll` or the last removal, a call's next value reaches the observers added since",
        arguments: [true, false])
    func emptied(all: Bool) {
        var token: LocalObserverSet<Int>.Token?
        token = set.add { [notes, unowned set] value in
            notes.entries.append("a\(value)")
            set.notify(1)
            if all { set.removeAll() } else { expect(token?.remove(), equals: true) }
            self.add("b")
            set.notify(2)
        }

        set.notify(0)

        expect(notes.entries, equals: ["a0", "b2"])
        token = nil
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

    @Test(
        "A set that is released while values wait, or in a nested call, delivers everything first", arguments: [0, 2])
    func setDies(at last: Int) {
        var dying: LocalObserverSet<Int>? = LocalObserverSet()
        _ = dying!.add { [notes] value in
            notes.entries.append("a\(value)")
            if value == 0 { for next in 1...2 { dying!.notify(next) } }
            if value == last { dying = nil }
        }
        _ = dying!.add { [notes] value in notes.entries.append("b\(value)") }

        dying!.notify(0)

        expect(notes.entries, equals: ["a0", "b0", "a1", "b1", "a2", "b2"])
        expect(dying == nil)
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
    @Test("Twenty thousand nested notifications, also between sets, need one's stack, and keep their order")
    func deep() async {
        await #expect(processExitsWith: .success) {
            for (form, count) in [(LocalForm.closure, 1), (.owner, 1), (.closure, 3)] {
                let received = await onThread(stackSize: 512 << 10) {
                    let sets = (0..<count).map { _ in LocalObserverSet<Int>() }
                    let notes = (0..<count).map { _ in Notes<Int>() }
                    for (index, set) in sets.enumerated() {
                        let next = sets[(index + 1) % count]
                        form.add(to: set, owner: notes[index]) { [unowned next] value in
                            if value < 20_000 { next.notify(value + 1) }
                        }
                        // Behind the one that notifies again, and so sees whether all values come in order.
                        _ = set.add { value in notes[index].entries.append(value) }
                    }
                    withExtendedLifetime(sets) { sets[0].notify(0) }
                    return notes.map(\.entries)
                }
                for (index, values) in received.enumerated() {
                    expect(values, equals: Array(stride(from: index, through: 20_000, by: count)), "\(form)")
                }
            }
        }
    }
}
