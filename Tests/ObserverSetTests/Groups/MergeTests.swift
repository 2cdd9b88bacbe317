import Dispatch
import ObserverSet
import Testing

/// Several sources with the same parameters, merged into one.
@Suite("Merged sources", .lifetimesChecked, .againstHanging)
struct MergeTests {
    private let left = ObserverSet<Int>()
    private let right = ObserverSet<Int>()
    private let words = ObserverSet<(word: String, line: Int)>()
    private let log = Log<String>()

    private var merged: some NotificationSource<Int> { left.merge(with: right, words.map(\.line)) }

    private func notifyEach() {
        left.notify(1)
        right.notify(2)
        words.notify((word: "so", line: 3))
    }

    @Test("The description of a merged source, and of a group, has the observers of each member")
    func descriptionOfTheSource() {
        let (first, second) = (ObserverSet<Int>(), ObserverSet<Int>())
        _ = second.add { _ in }
        let expected = first.debugDescription + "\n" + second.debugDescription

        expect(String(reflecting: first.merge(with: second)), equals: expected)
        expect(ObserverGroup(first, second).debugDescription, equals: expected)
    }

    @Test(
        "Where the compiler is wrong to say that the notifier is on the observer's actor, the values are posted in order"
    )
    func falseClaim() async {
        let ledger = Ledger(ObserverSet())
        ledger.observe(merged)

        await ledger.take { notifyEach() }
        await ledger.take { left.notify(4) }
        await merged.settled()

        expect(await ledger.entries, equals: [1, 2, 3, 4])
    }

    // MARK: Members

    @Test("An observer receives the values of every member")
    func anyMember() {
        _ = merged.add { [log] in log.append("\($0)") }

        notifyEach()

        expect(log.entries, equals: ["1", "2", "3"])
        expect([left.count, right.count, words.count], equals: [1, 1, 1])
    }

    @Test("A list of sources may be merged as well, even an empty one")
    func list() {
        _ = left.merge(with: [right, words.map(\.line)]).add { [log] in log.append("\($0)") }
        _ = left.merge(with: []).add { [log] in log.append("alone \($0)") }

        notifyEach()

        expect(log.entries, equals: ["1", "alone 1", "2", "3"])
    }

    @Test("Tuple labels are passed on, and members of `Void` give the forms of `add` for `Void`")
    func parameters() {
        let owner = Hearer(log)
        let other = ObserverSet<(word: String, line: Int)>()
        _ = words.merge(with: other).add { [log] item in log.append("\(item.word) in \(item.line)") }
        left.map { _ in }.merge(with: ObserverSet<Void>()).add(owner) { owner in owner.note("left") }

        other.notify((word: "what", line: 4))
        left.notify(1)

        expect(log.entries, equals: ["what in 4", "left"])
    }

    @Test("A merged source may be merged, mapped and filtered again")
    func nested() {
        let token = left.merge(with: right.merge(with: words.map(\.line)).filter { $0 > 2 }).map { "<\($0)>" }
            .add { [log] in log.append($0) }

        notifyEach()
        #expect(token.remove())
        notifyEach()

        expect(log.entries, equals: ["<1>", "<3>"])
        #expect(left.isEmpty && right.isEmpty && words.isEmpty)
    }

    @Test("A source that is merged twice notifies twice, and one token ends both registrations")
    func sameSourceTwice() {
        let token = left.merge(with: left.map { -$0 }).add { [log] in log.append("\($0)") }

        left.notify(1)

        expect(log.entries, equals: ["1", "-1"])
        #expect(token.remove())
        #expect(left.isEmpty)
    }

    @Test("Members of a group may be mapped, filtered and merged, and skipped values are not delivered")
    func groupOfMapped() {
        let group = ObserverGroup(left.filter { $0 > 1 }, words.map(\.word), right.merge(with: left))
        let token = group.add { [log] in log.append("told") }

        notifyEach()
        expect(log.count, equals: 3, "the filtered member has skipped 1")
        left.notify(2)

        expect(log.count, equals: 5)
        #expect(token.remove())
        #expect(left.isEmpty && right.isEmpty && words.isEmpty)
    }

    // MARK: One observer, one token

    @Test("The token ends all registrations, and is active while any lives")
    func token() {
        let token = merged.add { [log] in log.append("\($0)") }
        left.removeAll()
        #expect(token.isActive)

        #expect(token.remove())
        notifyEach()

        #expect(!token.isActive)
        #expect(!token.remove())
        expect(log.entries, equals: [])
    }

    @Test("An owner's death ends the registration with every member")
    func ownerDeath() {
        var owner: Hearer? = Hearer(log)
        let token = merged.add(owner!) { owner, number in owner.note("\(number)") }

        owner = nil
        notifyEach()

        expect(log.entries, equals: [])
        #expect(!token.isActive)
        #expect(left.isEmpty && right.isEmpty && words.isEmpty)
    }

    @Test("A one-time observer is called once in total, whichever members have values waiting for it")
    func onceInAll() async {
        let actor = Held()
        let token = merged.once.add { [log] in log.append("\($0)") }
        let waiting = merged.once.add(actor) { [log] (_: isolated Held, value) in log.append("waiting \(value)") }

        right.notify(2)
        notifyEach()
        #expect(!token.isActive && waiting.isActive)
        actor.letGo()
        await merged.settled()

        expect(log.entries, equals: ["2", "waiting 2"])
        #expect(!waiting.isActive && !waiting.remove())
        #expect(left.isEmpty && right.isEmpty && words.isEmpty)
    }

    @Test("A one-time observer of which values of several members wait is removed, and not called")
    func onceRemoved() async {
        let actor = Held()
        let token = merged.once.add(actor) { [log] (_: isolated Held, value) in log.append("\(value)") }
        notifyEach()

        #expect(token.remove())
        #expect(!token.remove())
        actor.letGo()
        await merged.settled()

        expect(log.entries, equals: [])
    }

    @Test("A member that is emptied, or dies, ends its own registration of a one-time observer, and no other")
    func onceAndAnEmptiedMember() async {
        var member: ObserverSet<Int>? = ObserverSet()
        let actor = Held()
        let source = left.merge(with: right, member!).once
        _ = source.add { [log] in log.append("\($0)") }
        let token = source.add(actor) { [log] (_: isolated Held, value) in log.append("waiting \(value)") }
        left.removeAll()
        member = nil
        #expect(token.isActive)

        right.notify(2)
        right.notify(3)
        actor.letGo()
        await right.settled()

        expect(log.entries, equals: ["2", "waiting 2"])
        #expect(right.isEmpty && !token.isActive)
    }

    @Test("Where members are observed once, and so is the merged source, an observer is called once")
    func onceBehindOnce() {
        let sources: [any NotificationSource<Int>] = [
            left.once.merge(with: right).once, left.merge(with: right.once).once,
        ]
        for source in sources {
            let token = source.add { [log] in log.append("\($0)") }

            left.notify(1)
            right.notify(2)

            expect(log.entries, equals: ["1"])
            #expect(!token.isActive)
            #expect(!token.remove())
            #expect(left.isEmpty && right.isEmpty)
            log.removeAll()
        }
    }

    @Test("Of a merged source's members, one alone may be observed once")
    func onceOfOneMember() {
        let token = left.merge(with: right.once).add { [log] in log.append("\($0)") }

        for _ in 0..<2 {
            left.notify(1)
            right.notify(2)
        }

        expect(log.entries, equals: ["1", "2", "1"])
        #expect(right.isEmpty && left.count == 1)
        #expect(token.remove())
    }

    @Test("A merged source keeps its members alive; a registration needs neither the source nor all members")
    func lifetimes() {
        weak var member: ObserverSet<Int>?
        var merged: (any NotificationSource<Int>)?
        do {
            let set = ObserverSet<Int>()
            member = set
            merged = left.merge(with: set)
        }
        #expect(member != nil)
        let token = merged?.add { [log] in log.append("\($0)") }

        merged = nil
        left.notify(1)

        #expect(member == nil)
        expect(token?.isActive, equals: true)
        expect(log.entries, equals: ["1"])
    }

    // MARK: Delivery

    /// Promise 7 across members.
    @Test("An observer on another actor receives the members' values in the order of one thread")
    func orderAcrossMembers() async {
        let received = Log<Int>()
        let merged = left.merge(with: right.map { $0 }, words.map(\.line))
        _ = merged.add { @Elsewhere in received.append($0) }

        for number in 0..<1_000 {
            switch number % 3 {
            case 0: left.notify(number)
            case 1: right.notify(number)
            default: words.notify((word: "", line: number))
            }
        }
        await merged.settled()

        expect(received.entries, equals: Array(0..<1_000))
    }

    @Test("A value that one member has enqueued is not overtaken by another member's notification")
    func oneMailbox() async {
        let actor = ActingHearer(log)
        left.merge(with: right.map { 10 * $0 }).add(actor) { actor, number in actor.hear(number) }

        await actor.whileBusy { [left, right, log] in
            // Notified on another thread while the actor is busy, so the value waits in the mailbox.
            join { left.notify(1) }
            expect(log.entries, equals: [])
            // Notified on the actor itself: the waiting value is delivered first, then this one, before `notify`
            // returns.
            right.notify(2, isolation: $0)
            expect(log.entries, equals: ["1", "20"])
        }
    }

    // MARK: Settled

    @Test("`settled()` of a merged source waits for an actor's observer, whichever member has notified it")
    func mergedSettled() async {
        #expect(await settledWaitsForAnActor(merged) { left.notify(1) })
        #expect(await settledWaitsForAnActor(merged) { right.notify(1) })
        #expect(await settledWaitsForAnActor(merged) { words.notify((word: "so", line: 1)) })
    }

    @Test("`settled()` of a group waits for an actor's observer, whichever member has notified it")
    func groupSettled() async {
        let group = ObserverGroup(left, right.map { _ in }, ObserverGroup(words))

        #expect(await settledWaitsForAnActor(group) { left.notify(1) })
        #expect(await settledWaitsForAnActor(group) { right.notify(1) })
        #expect(await settledWaitsForAnActor(group) { words.notify((word: "so", line: 1)) })
    }

    @Test("`settled()` of a merged source waits for an observer of only one member")
    func settledForOthers() async {
        let actor = Held()
        words.add(actor) { actor, _ in actor.hear() }
        words.notify((word: "so", line: 1))
        let waiting = Task.detached { [merged] in
            await merged.settled()
            return true
        }
        actor.letGo()

        #expect(await waiting.value)
        expect(await actor.calls, equals: 1)
    }

    @Test("An empty group and members without observers are settled")
    func emptySettled() async {
        await ObserverGroup().settled()
        await ObserverGroup(left, right).settled()
        await merged.settled()
        notifyEach()

        #expect(left.isEmpty)
    }

    @Test("Groups, merged and mapped sources keep the order of what is notified to one actor")
    func derivedSources() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let keeper = Keeper()
        let all = Log<Int>()
        sets[0].merge(with: sets[1]).add(keeper) { [all] (_: isolated Keeper, value) in all.append(value) }
        sets[1].filter { $0 % 2 == 1 }.map { -$0 }.add(keeper) { [all] (_: isolated Keeper, value) in all.append(value)
        }
        ObserverGroup(sets[0], sets[1]).add(keeper) { [all] (_: isolated Keeper) in all.append(0) }

        await onThread { for value in 1...300 { sets[value % 2].notify(value) } }
        await sets[0].settled()

        let expected: [Int] = (1...300).flatMap { $0 % 2 == 1 ? [$0, -$0, 0] : [$0, 0] }
        expect(all.entries, equals: expected)
    }

    @Test("A filtered observer of several sets on one actor is described at each, and ends with its owner")
    func filteredOnAnActor() async {
        let sets = (0..<2).map { _ in ObserverSet<Int>() }
        let all = Log<Int>()
        var keeper: Keeper? = Keeper()
        sets[0].merge(with: sets[1]).filter { $0 > 0 }
            .add(keeper!) { (_: isolated Keeper, value) in all.append(value) }

        for set in sets {
            #expect(set.debugDescription.contains("Keeper, on Keeper"))
            for value in [-1, 1] { set.notify(value) }
            await set.settled()
        }
        expect(all.entries, equals: [1, 1])

        keeper = nil
        for set in sets {
            await eventually { set.isEmpty }
            for value in [1, -1, -1] { set.notify(value) }
            #expect(set.isEmpty)
        }
        expect(all.count, equals: 2)
    }

    @Test("An observer of merged sources, and of a group, receives the value they start with once")
    func starting() {
        _ = left.merge(with: right).starting(with: 1).addNonisolated { [log] in log.append("\($0)") }
        _ = ObserverGroup(left, right).starting(with: ()).addNonisolated { [log] in log.append("0") }
        right.notify(2)

        expect(log.entries, equals: ["1", "0", "2", "0"])
    }

    @Test("Each registration of merged sources has its own count, and their token the sum")
    func waitingCount() async {
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        let tokens = Log<ObserverToken>()
        let noting = NotingSource(source: left, tokens: tokens)
        let token = noting.merge(with: NotingSource(source: right, tokens: tokens)).addNonisolated(on: queue) { _ in }
        left.notify(1)
        for value in 0..<3 { right.notify(value) }

        expect(tokens.entries.map(\.waitingCount), equals: [1, 3])
        expect(token.waitingCount, equals: 4)
        queue.resume()
        await left.settled()
        await right.settled()
        expect(token.waitingCount, equals: 0)
    }
}

private final class Hearer: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func note(_ text: String) { log.append(text) }
}

private actor ActingHearer {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear(_ number: Int) { log.append("\(number)") }

    /// Runs `body` on the actor, which is busy until `body` returns.
    func whileBusy(_ body: @Sendable (isolated ActingHearer) -> Void) { body(self) }
}

/// Notes the tokens of its source.
private struct NotingSource: NotificationSource {
    let source: ObserverSet<Int>
    let tokens: Log<ObserverToken>

    func register(_ observer: Observer<Int>) -> ObserverToken {
        let token = source.register(observer)
        tokens.append(token)
        return token
    }

    func settled() async { await source.settled() }
}
