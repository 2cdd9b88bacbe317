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
        volume.changed.add { [weak volume] level in if level > 10 { volume?.level = 10 } }
        volume.changed.add { [weak volume] level in
            received.append(level)
            read.append(volume?.level ?? 0)
        }

        volume.level = 11

        #expect(received.entries == [10, 11])
        #expect(read.entries == [10, 10])
    }

    @Test("A debounced observer that is removed, and so cancelled, does nothing more")
    @MainActor func removedWhileDebouncing() async {
        let edited = ObserverSet<String>()
        let begun = Signal()
        let searches = Log<String>()
        let token = edited.addAsync(buffering: .newest(1)) { text in
            begun.set()
            try? await Task.sleep(for: .seconds(3_600))
            guard !Task.isCancelled else { return }
            searches.append(text)
        }
        edited.notify("kind")
        await eventually { begun.isSet }

        token.remove()
        await edited.settled()

        #expect(searches.entries == [])
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
            counter.changed.add { count in shown.append(count) }

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
        #expect(calls.entries == [true, false])

        calls.removeAll()
        var keeper: Keeper? = Keeper()
        set.add(keeper!) { (_: isolated Keeper, _) in }
        keeper = nil
        set.notify(2)
        await set.settled()
        set.notify(3)
        #expect(calls.entries == [true, false])
    }
}
