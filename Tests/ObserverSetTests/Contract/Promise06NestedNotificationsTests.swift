import ObserverSet
import Testing

/// Promise 6: nested notifications are depth first: the inner one completes before the outer one goes on.
@Suite("Promise 6: nested notifications", .lifetimesChecked, .againstHanging)
struct Promise06NestedNotificationsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    @Test("A nested notification reaches all observers before the outer one goes on", arguments: ObserverKind.inPlace)
    func depthFirst(_ kind: ObserverKind) {
        set.add { [log] in log.append("a\($0)") }
        let registration = kind.add(to: set) { [set, log] value in
            log.append("b\(value)")
            if value == 1 { set.notify(2) }
        }
        set.add { [log] in log.append("c\($0)") }

        set.notify(1)

        let inner = kind.isOnce ? ["a2", "c2"] : ["a2", "b2", "c2"]
        #expect(log.entries == ["a1", "b1"] + inner + ["c1"])
        registration.end()
        set.removeAll()
    }

    @Test("Nested several times, each completes before the one outside it goes on")
    func nestedSeveralTimes() {
        set.add { [set, log] value in
            log.append("a\(value)")
            if value < 3 { set.notify(value + 1) }
        }
        set.add { [log] in log.append("b\($0)") }

        set.notify(0)

        #expect(log.entries == ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
        set.removeAll()
    }

    @Test("An earlier observer sees the outer value first, a later one the inner")
    func earlierAndLater() {
        let set = ObserverSet<String>()
        set.add { [log] in log.append("earlier \($0)") }
        set.add { [set] in if $0 == "bad" { set.notify("good") } }
        set.add { [log] in log.append("later \($0)") }

        set.notify("bad")

        #expect(log.entries == ["earlier bad", "earlier good", "later good", "later bad"])
        set.removeAll()
    }

    @Test("Every observer may notify: the calls form a tree, which is walked depth first")
    func tree() {
        for index in 0..<3 {
            set.add { [set, log] depth in
                log.append("<\(index)")
                if depth < 3 { set.notify(depth + 1) }
                log.append(">")
            }
        }

        set.notify(0)

        func walk(_ depth: Int) -> [String] {
            (0..<3).flatMap { ["<\($0)"] + (depth < 3 ? walk(depth + 1) : []) + [">"] }
        }
        #expect(log.entries == walk(0))
        set.removeAll()
    }

    @Test("Two sets that notify each other are walked depth first as well")
    func twoSets() {
        let other = ObserverSet<Int>()
        set.add { [log] in
            log.append("set \($0)")
            other.notify($0 + 1)
        }
        set.add { [log] in log.append("set again \($0)") }
        other.add { [set, log] in
            log.append("other \($0)")
            if $0 < 3 { set.notify($0 + 1) }
        }

        set.notify(0)

        #expect(
            log.entries == [
                "set 0", "other 1", "set 2", "other 3", "set again 2", "set again 0",
            ])
        set.removeAll()
    }

    @Test("A notification by another thread, for which an observer waits, completes before the outer one goes on")
    func onAnotherThread() {
        set.add { [set, log] value in
            log.append("a\(value)")
            if value == 1 { join { set.notify(2) } }
        }
        set.add { [log] in log.append("b\($0)") }

        set.notify(1)

        #expect(log.entries == ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("A nested notification from a deinit completes before the outer one goes on")
    func fromADeinit() {
        let parameters = ObserverSet<Tracked>()
        set.add { [log] in log.append("inner \($0)") }
        parameters.add { [set, log] _ in
            log.append("a")
            _ = Tracked { set.notify(2) }
            log.append("a ends")
        }
        parameters.add { [log] _ in log.append("b") }

        parameters.notify(Tracked())

        #expect(log.entries == ["a", "inner 2", "a ends", "b"])
    }

    @Test("On the main actor, a nested notification reaches its observers before the outer one goes on")
    @MainActor func onTheMainActor() {
        set.add { [set, log] value in
            log.append("a\(value)")
            if value == 1 { set.notify(2) }
        }
        set.add { [log] in log.append("b\($0)") }

        set.notify(1)

        #expect(log.entries == ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("On an actor, a nested notification reaches its observers before the outer one goes on")
    func onAnActor() async {
        let keeper = Keeper()
        set.add(keeper) { [set, log] (keeper: isolated Keeper, value) in
            log.append("a\(value)")
            if value == 1 { set.notify(2) }
        }
        set.add(keeper) { [log] (_: isolated Keeper, value) in log.append("b\(value)") }

        await keeper.perform { [set] _ in set.notify(1) }

        #expect(log.entries == ["a1", "a2", "b2", "b1"])
        set.removeAll()
    }

    @Test("A notification may nest ten thousand deep where the stack allows it")
    func deep() async {
        let deepest = await onThread(stackSize: 64 << 20) { [set] in
            let deepest = Counter()
            set.add { [set] depth in
                deepest.increment()
                if depth < 10_000 { set.notify(depth + 1) }
            }
            set.notify(1)
            return deepest.value
        }

        #expect(deepest == 10_000)
        set.removeAll()
    }

    @Test("The last of nested notifications releases what was removed in them")
    func releaseAtTheEnd() {
        let isReleased = Signal()
        let capture = Shared<Tracked?>(Tracked { isReleased.set() })
        let token = Shared<ObserverToken?>(nil)
        set.add { [set] value in
            if value < 3 { set.notify(value + 1) } else { token.value?.remove() }
            #expect(!isReleased.isSet)
        }
        token.value = set.add { [capture = capture.exchange(nil)] _ in _ = capture }

        set.notify(0)

        #expect(isReleased.isSet)
        set.removeAll()
    }
}
