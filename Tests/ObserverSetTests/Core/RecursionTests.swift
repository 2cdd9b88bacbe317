import ObserverSet
import Testing

/// What has broken others: an observer that notifies the set that is calling it (promise 6).
@Suite("Recursion", .lifetimesChecked, .againstHanging)
struct RecursionTests {
    /// Scenario 8: bounded recursion.
    ///
    /// Source: RxSwift SubjectConcurrencyTest (testSubjectIsReentrant); roberthein/Observable#19 (a deadlock: the mutex
    /// was held while notifying); Qt tst_qobject recursiveSignalEmission.
    @Test("A nested notification completes before the outer one goes on", arguments: InPlaceForm.allCases)
    func depthFirst(form: InPlaceForm) {
        let set = ObserverSet<Int>()
        let log = Log<String>()
        let owner = Tracked()
        form.add(to: set, owner: owner) { [weak set] value in
            log.append("a\(value)")
            if value < 3 { set?.notify(value + 1) }
        }
        form.add(to: set, owner: owner) { value in log.append("b\(value)") }

        set.notify(0)

        #expect(log.entries == ["a0", "a1", "a2", "a3", "b3", "b2", "b1", "b0"])
    }

    /// Scenario 9: what those who come later see.
    ///
    /// Source: Reactive-Extensions/RxJS#1171, ReactiveX/rxjs#6580, MetaMask/core#9840 (a stale value delivered last),
    /// psygnal#292 and
    /// #293. Depth first means that a later observer sees the inner value before the outer one.
    @Test("Observers before the one that notifies see the outer value first, those behind it the inner one")
    func innerBeforeOuter() {
        let set = ObserverSet<String>()
        let before = Log<String>()
        let behind = Log<String>()
        set.add { before.append($0) }
        set.add { [weak set] value in
            if value == "bad" { set?.notify("good") }
        }
        set.add { behind.append($0) }

        set.notify("bad")

        #expect(before.entries == ["bad", "good"])
        #expect(behind.entries == ["good", "bad"])
    }

    /// Scenario 8, across sets.
    ///
    /// Source: as before; two models that observe each other.
    @Test("Two sets that notify each other nest as one does")
    func mutualRecursion() {
        let left = ObserverSet<Int>()
        let right = ObserverSet<Int>()
        let log = Log<String>()
        left.add { value in
            log.append("left \(value)")
            if value > 0 { right.notify(value - 1) }
            log.append("left \(value) ends")
        }
        right.add { [weak left] value in
            log.append("right \(value)")
            if value > 0 { left?.notify(value - 1) }
        }

        left.notify(2)

        #expect(log.entries == ["left 2", "right 1", "left 0", "left 0 ends", "left 2 ends"])
    }

    /// Scenario 8, with a change at every depth.
    @Test(
        "What a nested notification removes is not called by any of the outer ones, and released when they have ended")
    func removalInTheDepth() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let victim = Shared<ObserverToken?>(nil)
        let lifetimes = Lifetimes.current
        set.add { [weak set] depth in
            if depth < 5 { set?.notify(depth + 1) } else { #expect(victim.value?.remove() == true) }
            #expect(lifetimes.count == 1, "a pass may still be reading it")
        }
        victim.value = set.add { [capture = Tracked()] depth in log.append(depth + capture.value) }

        set.notify(0)

        #expect(log.entries == [])
        #expect(lifetimes.count == 0)
    }

    /// Scenario 10: the budget of a thread with an ordinary stack.
    ///
    /// Source: canjs#27, brs-engine#905, ResInsight#14306. An owner is loaded for its call, which takes more of the
    /// stack in a debug build. In a process of its own, since a stack that is too small ends it.
    @Test(
        "Notifications nest 10,000 deep on a stack of 8 MiB, 6,000 with owners",
        .disabled(if: ResidentMemory.isSanitized, "A sanitizer enlarges frames"), arguments: DeepForm.allCases)
    func deepOnALargeStack(form: DeepForm) async {
        await #expect(processExitsWith: .success) { [form] in
            let limit = form == .owner ? 6_000 : 10_000
            let reached = await form.depth(limit, stackSize: 8 << 20)
            #expect(reached == limit)
        }
    }

    /// Scenario 10: the budget of a secondary thread.
    ///
    /// Source: as before.
    @Test(
        "Notifications nest 500 deep on a stack of 512 KiB, 350 with owners",
        .disabled(if: ResidentMemory.isSanitized, "A sanitizer enlarges frames"), arguments: DeepForm.allCases)
    func deepOnASmallStack(form: DeepForm) async {
        await #expect(processExitsWith: .success) { [form] in
            let limit = form == .owner ? 350 : 500
            let reached = await form.depth(limit, stackSize: 512 << 10)
            #expect(reached == limit)
        }
    }
}

/// The kinds of observers that differ in how much of the stack a call takes.
enum DeepForm: String, CaseIterable, Codable, Sendable {
    case closure, nonisolated, owner

    /// Notifies so deep on a thread of its own; returns how many calls there were.
    func depth(_ limit: Int, stackSize: Int) async -> Int {
        let set = ObserverSet<Int>()
        let calls = Shared(0)
        // The observers' own frames are kept small: they are not what is measured.
        switch self {
        case .closure:
            set.add { [unowned set] depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        case .nonisolated:
            set.addNonisolated { [unowned set] depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        case .owner:
            set.add(calls) { [unowned set] calls, depth in
                if depth < limit { set.notify(depth + 1) } else { calls.value = depth }
            }
        }
        await onThread(stackSize: stackSize) { set.notify(1) }
        return calls.value
    }
}
