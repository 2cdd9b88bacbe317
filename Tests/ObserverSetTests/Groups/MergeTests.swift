import ObserverSet
import Testing

/// Several sources observed as one, merged or as a group: one observer, one token.
@Suite("Merged sources and groups", .lifetimesChecked, .againstHanging)
struct MergeTests {
    private let sets = (0..<3).map { _ in ObserverSet<Void>() }
    private let log = Log<String>()
}

extension MergeTests {
    private func notifyEach() { for set in sets { set.notify() } }

    // MARK: Members

    @Test(
        "An observer is called for every member, in that member's order, until its token ends it",
        arguments: WayOfMerging.allCases)
    func members(_ way: WayOfMerging) {
        _ = sets[0].add { [log] in log.append("first") }
        let token = way.source(sets).add { [log] in log.append("all") }
        _ = sets[0].add { [log] in log.append("last") }
        expect(!sets[1].remove(token) && token.isActive, "the token of all is none of a member")

        notifyEach()
        expect(log.entries, equals: ["first", "all", "last", "all", "all"])
        #expect(token.description.contains("MergeTests.swift"))
        expect([token.remove(), token.isActive, token.remove()], equals: [true, false, false])
        #expect(token.description.contains("inactive"))
        notifyEach()

        expect(log.count, equals: 7)
        expect(sets.map(\.count), equals: [2, 0, 0])
    }

    @Test(
        "While a member lives that has not removed it, an observer is active; what it captures is released at its end",
        arguments: WayOfMerging.allCases, [true, false])
    func ends(_ way: WayOfMerging, byToken: Bool) {
        var sets: [ObserverSet<Void>?] = self.sets
        sets[0] = ObserverSet()
        let token = { [capture = Tracked()] in
            way.source(sets.map { $0! }).add { [log] in log.append("\(capture.isIntact)") }
        }()

        sets[0] = nil
        sets[1]?.removeAll()
        #expect(token.isActive)
        sets[2]?.notify()
        expect(Lifetimes.current.count, equals: 1)
        if byToken { #expect(token.remove()) } else { sets[2]?.removeAll() }

        expect([token.isActive, token.remove()], equals: [false, false])
        expect(Lifetimes.current.count, equals: 0)
        sets[2]?.notify()
        expect(log.entries, equals: ["true"])
    }

    @Test(
        "A source of several sets keeps them alive, and no set that it is not made of", arguments: WayOfMerging.allCases
    )
    func holdsMembers(_ way: WayOfMerging) {
        weak var member: ObserverSet<Void>?
        var source: (any NotificationSource<Void>)? = {
            let set = ObserverSet<Void>()
            member = set
            return way.source([sets[0], sets[1], set])
        }()
        expect(source != nil && member != nil)

        source = nil

        expect(member == nil)
    }

    @Test("The tokens of an empty group are inactive, and the group is settled")
    func emptyGroup() async {
        for group in [ObserverGroup(), ObserverGroup([])] {
            let token = group.add { [log] in log.append("told") }
            expect(!token.isActive && !token.remove())
            await group.settled()
        }
    }

    @Test("An owner's death ends the registration with every member", arguments: WayOfMerging.allCases, [true, false])
    func ownerDeath(_ way: WayOfMerging, isElsewhere: Bool) async {
        var owner: Tracked? = Tracked()
        let source = way.source(sets)
        let token =
            if isElsewhere {
                source.add(owner!) { @Elsewhere [log] _ in log.append("told") }
            } else {
                source.add(owner!) { [log] _ in log.append("told") }
            }
        expect(sets.map(\.count), equals: [1, 1, 1])

        owner = nil

        expect(sets.map(\.count), equals: [0, 0, 0])
        notifyEach()
        await source.settled()
        expect(!token.isActive && log.count == 0)
    }

    @Test(
        "An observer removed in one member's notification is not called by another's inside",
        arguments: WayOfMerging.allCases)
    func removedDuringNotification(_ way: WayOfMerging) {
        let token = Shared<ObserverToken?>(nil)
        _ = sets[0].add { [last = sets[2]] in
            token.value?.remove()
            last.notify()
        }
        token.value = way.source(sets).add { [log] in log.append("told") }

        sets[0].notify()

        expect(log.entries, equals: [])
    }

    // MARK: What a member is

    @Test("Mapped, filtered and merged sources are members like sets, of a merge and of a group; labels are passed on")
    func derivedMembers() {
        let (numbers, more) = (ObserverSet<Int>(), ObserverSet<Int>())
        let words = ObserverSet<(word: String, line: Int)>()
        let tokens = [
            numbers.merge(with: more.merge(with: words.map(\.line)).filter { $0 > 2 }).map { "<\($0)>" }
                .add { [log] in log.append($0) },
            words.merge(with: ObserverSet<(word: String, line: Int)>()).add { [log] item in
                log.append("\(item.word) in \(item.line)")
            },
            numbers.merge(with: []).add { [log] in log.append("alone \($0)") },
            ObserverGroup(numbers.filter { $0 > 1 }, words.map(\.word), numbers.merge(with: more))
                .add { [log] in log.append("group") },
        ]

        for number in 1...2 { numbers.notify(number) }
        for number in 2...3 { more.notify(number) }
        words.notify((word: "so", line: 4))

        let ofNumbers = ["<1>", "alone 1", "group", "<2>", "alone 2", "group", "group"]
        expect(log.entries, equals: ofNumbers + ["group", "<3>", "group", "<4>", "so in 4", "group"])
        #expect(tokens.allSatisfy { $0.remove() })
        expect([numbers.count, more.count, words.count], equals: [0, 0, 0])
    }

    @Test("A source that is a member twice notifies twice, but only once an observer that is called once")
    func sameSourceTwice() {
        let numbers = ObserverSet<Int>()
        let tokens = [
            numbers.merge(with: numbers.map { -$0 }).add { [log] in log.append("\($0)") },
            ObserverGroup(numbers, numbers).add { [log] in log.append("group") },
        ]
        _ = ObserverGroup(numbers, ObserverGroup(numbers)).once.add { [log] in log.append("once") }

        numbers.notify(1)

        expect(log.entries, equals: ["1", "-1", "group", "group", "once"])
        expect(numbers.count, equals: 4)
        expect(tokens.allSatisfy { $0.remove() } && numbers.isEmpty)
    }

    // MARK: Once

    @Test(
        "A one-time observer is called once in total, whichever members have values waiting for it, or have gone",
        arguments: WayOfMerging.allCases, [true, false])
    func once(_ way: WayOfMerging, haveGone: Bool) async {
        let actor = Held()
        let token = way.source(sets).once.add { [log] in log.append("told") }
        let waiting = way.source(sets).once.add(actor) { [log] (_: isolated Held) in log.append("waiting") }
        if haveGone { for set in sets[..<2] { set.removeAll() } }

        sets[2].notify()
        notifyEach()
        expect(!token.isActive && waiting.isActive)
        actor.letGo()
        await way.source(sets).settled()

        expect(log.entries, equals: ["told", "waiting"])
        expect(!waiting.isActive && !waiting.remove())
        expect(sets.map(\.count), equals: [0, 0, 0])
    }

    @Test(
        "A removed one-time observer is not called with what several members have sent",
        arguments: WayOfMerging.allCases)
    func onceRemoved(_ way: WayOfMerging) async {
        let actor = Held()
        let token = way.source(sets).once.add(actor) { [log] (_: isolated Held) in log.append("told") }
        notifyEach()

        expect(token.remove() && !token.remove())
        actor.letGo()
        await way.source(sets).settled()

        expect(log.entries, equals: [])
    }

    @Test("Members and their merged source may each be observed once, and a member alone may be")
    func onceOfMembers() {
        let (left, right) = (ObserverSet<Int>(), ObserverSet<Int>())
        let sources: [(any NotificationSource<Int>, [String])] = [
            (left.once.merge(with: right).once, ["1"]), (left.merge(with: right.once).once, ["1"]),
            (left.merge(with: right.once), ["1", "2", "1"]),
        ]
        for (source, expected) in sources {
            let token = source.add { [log] in log.append("\($0)") }

            for _ in 0..<2 {
                left.notify(1)
                right.notify(2)
            }

            expect(log.entries, equals: expected)
            expect([token.isActive, token.remove()], equals: (expected.count == 1 ? [false, false] : [true, true]))
            expect(left.isEmpty && right.isEmpty)
            log.removeAll()
        }
    }

    @Test(
        "A one-time observer is called once, whenever and however often members notify",
        arguments: WayOfMerging.allCases)
    func onceAgainstThreads(_ way: WayOfMerging) async {
        let calls = Counter()
        for _ in 0..<many(400) {
            let token = way.source(sets).once.add { calls.increment() }
            await onThreads(3) { [sets] thread in sets[thread].notify() }
            #expect(!token.isActive)
        }
        let isOver = Signal()
        await onThreads(2) { [sets] thread in
            if thread == 0 {
                for _ in 0..<many(4_000) { _ = way.source(sets).once.add { calls.increment() } }
                isOver.set()
            } else {
                while !isOver.isSet { for set in sets { set.notify() } }
            }
        }
        notifyEach()

        expect(calls.value, equals: many(400) + many(4_000))
        expect(sets.map(\.count), equals: [0, 0, 0])
    }

    // MARK: On actors

    /// Guarantee 7 across members.
    @Test(
        "Merged and mapped sources and groups keep the order of what is notified to one actor, wherever it is said to be"
    )
    func order() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let keeper = Keeper()
        let ledger = Ledger(ObserverSet())
        let all = Log<Int>()
        ledger.observe(sets[0].merge(with: sets[1]))
        sets[0].merge(with: sets[1]).add(keeper) { (_: isolated Keeper, value) in all.append(value) }
        sets[1].filter { $0 % 2 == 1 }.map { -$0 }.add(keeper) { (_: isolated Keeper, value) in all.append(value) }
        ObserverGroup(sets[0], sets[1]).add(keeper) { (_: isolated Keeper) in all.append(0) }

        await onThread { for value in 1...300 { sets[value % 2].notify(value) } }
        // The compiler is wrong to say that this notifies on the observer's actor.
        await ledger.take { for value in 301...302 { sets[value % 2].notify(value) } }
        await sets[0].settled()

        expect(all.entries, equals: (1...302).flatMap { $0 % 2 == 1 ? [$0, -$0, 0] : [$0, 0] })
        expect(await ledger.entries, equals: Array(1...302))
    }

    @Test("A value that one member has enqueued is not overtaken by another member's", arguments: WayOfMerging.allCases)
    func oneMailbox(_ way: WayOfMerging) async {
        let keeper = Keeper()
        way.source(sets).add(keeper) { [log] (_: isolated Keeper) in log.append("told") }

        await keeper.perform { [sets, log] keeper in
            // Notified on another thread while the actor is busy, so the call waits in the mailbox.
            join { sets[0].notify() }
            expect(log.count, equals: 0)
            // Notified on the actor itself: the waiting call is made first, then this one, before `notify` returns.
            sets[2].notify(isolation: keeper)
            expect(log.count, equals: 2)
        }
    }

    @Test("`settled()` waits for what any member has notified, its own observers too", arguments: WayOfMerging.allCases)
    func settled(_ way: WayOfMerging) async {
        let source = way.source(sets)
        await source.settled()
        for set in sets {
            let actor = Held()
            set.add(actor) { actor in actor.hear() }
            set.notify()
            let waiting = await taskThatWaits { [log] in
                await source.settled()
                log.append("settled")
            }
            for _ in 0..<100 { await Task.yield() }
            expect(log.count, equals: 0)

            actor.letGo()
            await waiting.value
            expect(await actor.calls, equals: 1)
            log.removeAll()
        }
    }

    // MARK: Descriptions and counts

    @Test(
        "A source of several is described by the observers of each, and an observer of it at each, until its owner dies"
    )
    func descriptions() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let all = Log<Int>()
        var keeper: Keeper? = Keeper()
        sets[0].merge(with: sets[1]).filter { $0 > 0 }
            .add(keeper!) { (_: isolated Keeper, value) in all.append(value) }
        let expected = sets[0].debugDescription + "\n" + sets[1].debugDescription
        expect(String(reflecting: sets[0].merge(with: sets[1])), equals: expected)
        expect(ObserverGroup(sets[0], sets[1]).debugDescription, equals: expected)
        expect(expected.ranges(of: "Keeper, on Keeper").count, equals: 2)

        for set in sets {
            for value in [-1, 1] { set.notify(value) }
            await set.settled()
        }
        expect(all.entries, equals: [1, 1])
        keeper = nil
        for set in sets {
            await eventually { set.isEmpty }
            for value in [1, -1, -1] { set.notify(value) }
            expect(set.count, equals: 0)
        }
        expect(all.count, equals: 2)
    }

    @Test(
        "A merged source may be among the others, beside sources that are not, and each member is registered once, in order"
    )
    func mergedAmongOthers() {
        let sets = (0..<5).map { _ in ObserverSet<Int>() }
        let all = sets[0].merge(with: sets[1], sets[2].merge(with: sets[3]), sets[4])
        let received = Log<Int>()
        let token = all.addNonisolated { received.append($0) }

        for (index, set) in sets.enumerated() { set.notify(index) }

        expect(received.entries, equals: [0, 1, 2, 3, 4])
        expect(sets.map(\.count), equals: [1, 1, 1, 1, 1])
        expect(String(reflecting: all), equals: sets.map { String(reflecting: $0) }.joined(separator: "\n"))
        #expect(token.remove())
    }

    // MARK: Sources that a loop makes

    /// Ways to make one source of many, step by step.
    enum Fold: CaseIterable, Sendable {
        case mergedFromTheLeft, mergedFromTheRight, mapped, mergedThenMapped, mappedThenMerged, mergedOnce, grouped

        /// How many steps must not overflow the stack of a thread as Apple's systems make them, in an optimised build.
        ///
        /// Merged sources alone are never nested, so there is no limit for them.
        var steps: Int { self == .mergedFromTheLeft || self == .mergedFromTheRight ? 5_000 : 1_000 }

        func step(_ all: any NotificationSource<Int>, _ next: ObserverSet<Int>) -> any NotificationSource<Int> {
            switch self {
            case .mergedFromTheLeft: all.merge(with: next)
            case .mergedFromTheRight: next.merge(with: all)
            case .mapped: all.map { $0 + 1 }
            case .mergedThenMapped: all.merge(with: next).map { $0 + 1 }
            case .mappedThenMerged: next.merge(with: all.map { $0 + 1 })
            case .mergedOnce: all.merge(with: next).once
            case .grouped: ObserverGroup([all, next]).map { 1 }
            }
        }
    }

    /// Scenario 62: sources that are merged one by one.
    ///
    /// Source: CombineCommunity/CombineExt#66, Reactive-Extensions/RxJS#1524.
    @Test(
        "A source that a loop merges and converts step by step fits on the stack of any thread",
        arguments: Fold.allCases)
    func folded(_ fold: Fold) async {
        // Frames are larger without optimisation, and under a sanitizer.
        #if DEBUG || OBSERVERSET_TSAN
        let stackSize = 1 << 24
        #else
        let stackSize = 1 << 19
        #endif
        await onThread(stackSize: stackSize) {
            let calls = Counter()
            let sets = (0..<fold.steps).map { _ in ObserverSet<Int>() }
            var all: any NotificationSource<Int> = sets[0]
            for set in sets.dropFirst() { all = fold.step(all, set) }
            for token in [all.addNonisolated { _ in calls.increment() }, all.addAsync { _ in }] {
                sets[0].notify(1)
                token.remove()
                #expect(!token.isActive && token.pendingCount == 0)
            }
            expect(calls.value, equals: 1)
            expect(sets.filter { !$0.isEmpty }.count, equals: 0)
        }
    }
}
