import ObserverSet
import Synchronization
import Testing

/// What the article "Recipes" says about its programs, except for what these print.
@Suite("Recipes", .lifetimesChecked, .againstHanging)
struct RecipesArticleTests {}

extension RecipesArticleTests {
    @MainActor private final class TitleView {
        private let log: Log<String>
        private var token: ObserverToken?

        init(_ log: Log<String>) { self.log = log }

        func show(_ name: String, _ titleChanged: ObserverSet<Int>) {
            token?.remove()
            token = titleChanged.add(self) { view, title in view.log.append("\(name) \(title)") }
        }
    }

    @Test("A view that removes the token it keeps, and then adds again, has one observer, which receives nothing older")
    @MainActor func oneObserverAtATime() async {
        let (first, second) = (ObserverSet<Int>(), ObserverSet<Int>())
        let log = Log<String>()
        let view = TitleView(log)
        for set in [first, first, second] {
            view.show(set === first ? "first" : "second", set)
            join {
                first.notify(1)
                second.notify(1)
            }
        }
        expect(first.isEmpty && second.count == 1)

        await second.settled()
        view.show("again", second)
        second.notify(2)

        expect(log.entries, equals: ["second 1", "again 2"])
        expect(second.count, equals: 1)
    }

    @Test("A call ends by itself or is cancelled at its limit; either way the next one begins after that")
    func timeLimit() async {
        let source = ObserverSet<Int>()
        let log = Log<String>()
        let limit = Door()
        _ = source.addAsync { value in
            await withTaskGroup { group in
                group.addTask {
                    log.append("begin \(value)")
                    if value.isMultiple(of: 2) { await cancellation() }
                    log.append("end \(value)")
                }
                let isAtItsLimit = Signal()
                group.addTask {
                    await limit.pass()
                    isAtItsLimit.set()
                }
                await group.next()
                group.cancelAll()
                if !isAtItsLimit.isSet { limit.letOnOne() }
            }
        }
        let rounds = many(2_000, long: 100_000)

        for value in 1...rounds { source.notify(value) }
        for value in 1...rounds where value.isMultiple(of: 2) {
            await eventually { log.count >= 2 * value - 1 }
            limit.letOnOne()
        }
        limit.open()
        await source.settled()

        expect(log.entries, equals: (1...rounds).flatMap { ["begin \($0)", "end \($0)"] })
    }

    @Test("A shutdown with a time limit ends although a client never answers, and its description says who is late")
    func shutdown() async {
        let said = ObserverSet<String>()
        let door = Door()
        let token = said.addAsync { _ in await door.pass() }
        said.notify("hello")
        said.notify("is anybody there?")
        let end = Task { await said.settled() }
        await eventually { door.waiting == 1 }

        let late = said.debugDescription
        end.cancel()
        await end.value

        expect(late.contains("in a call") && late.contains("1 pending"))
        token.remove()
        door.open()
    }
}

// MARK: - Each delta, in order

extension RecipesArticleTests {
    enum RowChange: Sendable {
        case inserted(String, at: Int)
        case removed(at: Int)
    }

    @MainActor final class Rows {
        let changed = ObserverSet<RowChange>()
        private(set) var titles: [String] = []
        private var outbox: [RowChange] = []
        private var isSending = false

        func append(_ title: String) {
            titles.append(title)
            send(.inserted(title, at: titles.count - 1))
        }

        func remove(at index: Int) {
            titles.remove(at: index)
            send(.removed(at: index))
        }

        /// Every observer receives every change in order, even if an observer changes the rows again.
        private func send(_ change: RowChange) {
            outbox.append(change)
            guard !isSending else { return }  // the loop of the outer call sends it
            isSending = true
            while !outbox.isEmpty { changed.notify(outbox.removeFirst()) }
            isSending = false
        }
    }

    /// Rows without an outbox.
    @MainActor private final class HastyRows {
        let changed = ObserverSet<RowChange>()
        private(set) var titles: [String] = []

        func append(_ title: String) {
            titles.append(title)
            changed.notify(.inserted(title, at: titles.count - 1))
        }

        func remove(at index: Int) {
            titles.remove(at: index)
            changed.notify(.removed(at: index))
        }
    }

    /// A table that applies each change to rows of its own, and notes a change that it can't apply.
    @MainActor private final class Table {
        private(set) var titles: [String] = []
        private(set) var isBroken = false

        init(_ changed: ObserverSet<RowChange>) { changed.add(self) { table, change in table.apply(change) } }

        private func apply(_ change: RowChange) {
            switch change {
            case .inserted(let title, let index) where index <= titles.count: titles.insert(title, at: index)
            case .removed(let index) where index < titles.count: titles.remove(at: index)
            default: isBroken = true
            }
        }
    }

    @Test("With an outbox, every table applies each change in order, although an observer changes the rows again")
    @MainActor func outbox() {
        let rows = Rows()
        let before = Table(rows.changed)
        _ = rows.changed.add { [weak rows] change in
            if case .inserted("spam", let index) = change { rows?.remove(at: index) }
        }
        let after = Table(rows.changed)

        for title in ["So What", "spam", "Blue in Green"] { rows.append(title) }

        expect(rows.titles, equals: ["So What", "Blue in Green"])
        for table in [before, after] { expect(!table.isBroken && table.titles == rows.titles) }
    }

    @Test("With an outbox, a table on another actor receives the changes in order, too")
    @MainActor func outboxOfAnotherActor() async {
        let rows = Rows()
        _ = rows.changed.add { [weak rows] change in
            if case .inserted("spam", let index) = change { rows?.remove(at: index) }
        }
        let mirror = Mirror(rows.changed)

        for title in ["So What", "spam", "Blue in Green"] { rows.append(title) }
        await rows.changed.settled()

        expect(await mirror.changes, equals: ["insert So What", "insert spam", "remove 1", "insert Blue in Green"])
    }

    private actor Mirror {
        private(set) var changes: [String] = []

        init(_ changed: ObserverSet<RowChange>) {
            changed.add(self) { mirror, change in
                switch change {
                case .inserted(let title, _): mirror.changes.append("insert \(title)")
                case .removed(let index): mirror.changes.append("remove \(index)")
                }
            }
        }
    }

    @Test("Without an outbox, a table that was added later receives the newer change first, and can't apply it")
    @MainActor func withoutAnOutbox() {
        let rows = HastyRows()
        let before = Table(rows.changed)
        _ = rows.changed.add { [weak rows] change in
            if case .inserted("spam", let index) = change { rows?.remove(at: index) }
        }
        let after = Table(rows.changed)

        for title in ["So What", "spam"] { rows.append(title) }

        expect(!before.isBroken && before.titles == rows.titles)
        expect(after.isBroken)
    }

    // MARK: - A binding, and loops

    @MainActor private final class Player { let started = ObserverSet<Int>() }

    @Test("A cancelled loop receives what is buffered, unless it looks whether it has been cancelled")
    @MainActor func cancelledLoop() async {
        for isChecked in [false, true] {
            let player = Player()
            var shown: [Int] = []
            let values = player.started.values()
            let task = Task {
                for await value in values {
                    if isChecked { guard !Task.isCancelled else { break } }
                    shown.append(value)
                }
            }
            for value in 1...3 { player.started.notify(value) }
            task.cancel()
            await task.value
            expect(shown, equals: isChecked ? [] : [1, 2, 3])
        }
    }

    @MainActor private final class Slider {
        let dragged = ObserverSet<Int>()
        private(set) var value = 0

        func drag(to newValue: Int) {
            value = newValue
            dragged.notify(newValue)
        }

        func show(_ newValue: Int) { value = newValue }
    }

    private actor Level {
        nonisolated let changed = ObserverSet<Int>()
        private(set) var value = 0 { didSet { changed.notify(value) } }

        init(_ slider: Slider) { slider.dragged.add(self) { level, value in level.value = value } }
    }

    @Test("A binding between two actors settles if one direction notifies only about what the user does")
    @MainActor func binding() async {
        let slider = Slider()
        let level = Level(slider)
        level.changed.add(slider) { slider, value in slider.show(value) }

        slider.drag(to: 1)
        slider.drag(to: 2)
        await slider.dragged.settled()
        await level.changed.settled()

        expect(slider.value, equals: 2)
        expect(await level.value, equals: 2)
    }

    // MARK: A log of everything

    nonisolated final class Trace: Sendable {
        private let lines = Mutex<[String]>([])
        var text: [String] { lines.withLock(\.self) }

        init(_ started: ObserverSet<String>, _ stopped: ObserverSet<String>) {
            started.map { "started \($0)" }.merge(with: stopped.map { "stopped \($0)" })
                .addNonisolated(self) { trace, line in trace.lines.withLock { $0.append(line) } }
        }
    }

    @Test("A log of two sets hears each value at once, and those of one thread in order")
    @MainActor func log() {
        let (started, stopped) = (ObserverSet<String>(), ObserverSet<String>())
        let trace = Trace(started, stopped)

        started.notify("a")
        expect(trace.text, equals: ["started a"])
        join {
            stopped.notify("a")
            started.notify("b")
        }

        expect(trace.text, equals: ["started a", "stopped a", "started b"])
    }
}
