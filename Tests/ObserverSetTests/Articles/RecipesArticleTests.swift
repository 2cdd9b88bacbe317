import ObserverSet
import Testing

/// What the article "Recipes" says about its programs, except for what these print.
@Suite("Recipes", .lifetimesChecked, .againstHanging)
struct RecipesArticleTests {
    @MainActor private final class Volume {
        let changed = ObserverSet<Int>()

        var level = 5 {
            didSet {
                if level != oldValue { changed.notify(level) }
            }
        }
    }

    @Test("If an observer sets the property, the observers after it receive the newer value first")
    @MainActor func nestedChanges() {
        let volume = Volume()
        let received = Log<Int>()
        let read = Log<Int>()
        _ = volume.changed.add { [weak volume] level in if level > 10 { volume?.level = 10 } }
        _ = volume.changed.add { [weak volume] level in
            received.append(level)
            read.append(volume?.level ?? 0)
        }

        volume.level = 11

        expect(received.entries, equals: [10, 11])
        expect(read.entries, equals: [10, 10])
    }

    @Test("A debounced observer that is removed, and so cancelled, does nothing more")
    @MainActor func removedWhileDebouncing() async {
        let edited = ObserverSet<String>()
        let begun = Signal()
        let searches = Log<String>()
        let token = edited.addAsync(buffering: .newest(1)) { text in
            begun.set()
            await cancellation()
            guard !Task.isCancelled else { return }
            searches.append(text)
        }
        edited.notify("kind")
        await eventually { begun.isSet }

        token.remove()
        await edited.settled()

        expect(searches.entries, equals: [])
    }

    private actor Counter {
        let changed = ObserverSet<Int>()
        private var count = 0 { didSet { changed.notify(count) } }

        func increment() { count += 1 }
        func notifyCount() { changed.notify(count) }
    }

    @Test("A view that has an actor notify its present value ends with the latest, whatever changes meanwhile")
    @MainActor func currentValueOfAnActor() async {
        for _ in 1...100 {
            let counter = Counter()
            let shown = Log<Int>()
            _ = counter.changed.add { count in shown.append(count) }

            async let asked: Void = counter.notifyCount()
            async let changed: Void = counter.increment()
            _ = await (asked, changed)
            await counter.changed.settled()

            #expect(shown.entries == [0, 1] || shown.entries == [1, 1])
        }
    }

    @Test("A producer stops at the first notification after its last owner's death, or the second for an actor")
    @MainActor func producerOfADeadOwner() async {
        let calls = Log<Bool>()
        let set = ObserverSet<Int> { isObserved in calls.append(isObserved) }

        var owner: Tracked? = Tracked()
        set.addNonisolated(owner!) { _, _ in }
        owner = nil
        set.notify(1)
        expect(calls.entries, equals: [true, false])

        calls.removeAll()
        var keeper: Keeper? = Keeper()
        set.add(keeper!) { (_: isolated Keeper, _) in }
        keeper = nil
        set.notify(2)
        await set.settled()
        set.notify(3)
        expect(calls.entries, equals: [true, false])
    }

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
        #expect(first.isEmpty && second.count == 1)

        await second.settled()
        view.show("again", second)
        second.notify(2)

        expect(log.entries, equals: ["second 1", "again 2"])
        expect(second.count, equals: 1)
    }

    @MainActor private final class Level {
        let changed = ObserverSet<Int>()

        var level = 0 {
            didSet { changed.notify(level) }
        }

        func observe(_ log: Log<Int>) {
            changed.add(log) { log, level in log.append(level) }
            log.append(level)
        }
    }

    @Test("An observer that is added and then told the current value receives each change from then on, without a gap")
    @MainActor func currentValueFirst() async {
        for round in 0..<many(2_000, long: 100_000) {
            let level = Level()
            let log = Log<Int>()
            let changing = Task.detached {
                for _ in 0..<4 { await MainActor.run { level.level += 1 } }
            }
            for _ in 0..<round % 8 { await Task.yield() }
            level.observe(log)
            await changing.value

            let first = log.entries.first ?? 0
            if log.entries != Array(first...4) { Issue.record("\(log.entries)") }
        }
    }

    private final class Topics: Sendable {
        private let sets = Guarded<[String: ObserverSet<String>]>([:])

        subscript(name: String) -> ObserverSet<String> {
            sets.withLock { sets in
                let set = sets[name] ?? ObserverSet()
                sets[name] = set
                return set
            }
        }
    }

    @Test("Two threads that ask for a new topic at the same time get the same set, and others hear nothing of it")
    func topics() async {
        let topics = Topics()
        let calls = ObserverSetTests.Counter()
        let others = ObserverSetTests.Counter()
        let rounds = many(2_000, long: 100_000)
        _ = topics["other"].addNonisolated { _ in others.increment() }

        await race(times: rounds) { round in
            _ = topics["\(round)"].addNonisolated { _ in calls.increment() }
        } _: { round in
            _ = topics["\(round)"].addNonisolated { _ in calls.increment() }
        }
        for round in 0..<rounds { topics["\(round)"].notify("hello") }

        expect(calls.value, equals: 2 * rounds)
        expect(others.value, equals: 0)
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

        #expect(late.contains("in a call") && late.contains("1 pending"))
        token.remove()
        door.open()
    }
}
