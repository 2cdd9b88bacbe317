import Dispatch
import ObserverSet
import Testing

/// Several sources, observed as one.
@Suite("Groups", .lifetimesChecked, .againstHanging)
struct ObserverGroupTests {
    private let numbers = ObserverSet<Int>()
    private let words = ObserverSet<(word: String, line: Int)>()
    private let ends = ObserverSet<Void>()
    private let log = Log<String>()

    private var group: ObserverGroup { ObserverGroup(numbers, words, ends) }

    private func notifyEach() {
        numbers.notify(1)
        words.notify((word: "so", line: 1))
        ends.notify()
    }

    // MARK: Members

    @Test("An observer is called for every member, whatever the member's parameters are")
    func anyMember() {
        let calls = Counter()
        _ = group.add { calls.increment() }

        notifyEach()
        numbers.notify(2)

        expect(calls.value, equals: 4)
        expect([numbers.count, words.count, ends.count], equals: [1, 1, 1])
    }

    @Test("A group has the whole `add` family")
    func wholeFamily() async {
        let owner = Hearer(log)
        let actor = ActingHearer(log)
        _ = group.add { [log] in log.append("closure") }
        group.add(owner) { owner in owner.note("owner") }
        group.add(method: Hearer.hear, of: owner)
        _ = group.addNonisolated { [log] in log.append("nonisolated") }
        group.addNonisolated(owner) { owner in owner.note("nonisolated owner") }
        _ = group.once.add { [log] in log.append("once") }
        group.once.add(owner) { owner in owner.note("owner once") }

        words.notify((word: "so", line: 1))
        expect(
            log.entries,
            equals: ["closure", "owner", "method", "nonisolated", "nonisolated owner", "once", "owner once"])
        log.removeAll()
        group.add(actor) { actor in actor.hear() }
        _ = group.addNonisolated(on: DispatchQueue(label: "Q")) { [log] in log.append("queue") }
        ends.notify()
        await ends.settled()

        expect(log.entries.prefix(5), equals: ["closure", "owner", "method", "nonisolated", "nonisolated owner"])
        expect(Set(log.entries.suffix(2)), equals: ["actor", "queue"])
        expect(log.count, equals: 7)
    }

    @Test("An observer of a group is called in registration order among a member's own observers")
    func registrationOrder() {
        _ = numbers.add { [log] in log.append("first \($0)") }
        _ = group.add { [log] in log.append("group") }
        _ = numbers.add { [log] in log.append("last \($0)") }

        numbers.notify(1)

        expect(log.entries, equals: ["first 1", "group", "last 1"])
    }

    @Test("An observer added to the group during a member's notification is first called by the next notification")
    func addedDuringNotification() {
        _ = numbers.once.add { [group, log] _ in _ = group.add { log.append("added") } }

        numbers.notify(1)
        expect(log.entries, equals: [])
        ends.notify()

        expect(log.entries, equals: ["added"])
    }

    @Test("A group of one member is observed like that member")
    func groupOfOne() {
        let token = ObserverGroup(numbers).add { [log] in log.append("told") }

        numbers.notify(1)
        #expect(token.remove())
        numbers.notify(2)

        expect(log.entries, equals: ["told"])
        #expect(!token.remove())
    }

    @Test(
        "The tokens of an empty group are inactive", arguments: [ObserverGroup(), ObserverGroup([])])
    func emptyGroup(_ group: ObserverGroup) {
        let token = group.add { [log] in log.append("told") }

        #expect(!token.isActive)
        #expect(!token.remove())
        expect(log.entries, equals: [])
    }

    @Test("A list of sources makes a group as well, of sets, groups and sources of any kind")
    func listOfSources() {
        let group = ObserverGroup([numbers, ObserverGroup(words, ends)] as [any NotificationSource])
        let calls = Counter()
        _ = group.add { calls.increment() }

        notifyEach()

        expect(calls.value, equals: 3)
    }

    @Test("A group of groups is observed through all of them, and ended by one token")
    func nestedGroups() {
        let calls = Counter()
        let token = ObserverGroup(ObserverGroup(numbers, ObserverGroup(words)), ends).add { calls.increment() }

        notifyEach()
        expect(calls.value, equals: 3)
        #expect(token.remove())
        notifyEach()

        expect(calls.value, equals: 3)
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    @Test("A set that is in a group twice notifies twice, and one token ends both registrations")
    func sameSetTwice() {
        let calls = Counter()
        let token = ObserverGroup(numbers, numbers).add { calls.increment() }
        let nested = ObserverGroup(ends, ObserverGroup(ends)).once.add { [log] in log.append("once") }

        numbers.notify(1)
        ends.notify()

        expect(calls.value, equals: 2)
        expect(log.entries, equals: ["once"])
        expect(numbers.count, equals: 2)
        #expect(token.remove())
        #expect(numbers.isEmpty)
        #expect(!nested.isActive)
    }

    @Test("A group may be released as soon as the observer has been added")
    func groupIsNotNeeded() {
        var group: ObserverGroup? = group
        _ = group?.add { [log] in log.append("told") }

        group = nil
        numbers.notify(1)

        expect(log.entries, equals: ["told"])
    }

    // MARK: One token for all

    @Test("The token ends the registrations with all members")
    func tokenEndsAll() {
        let token = group.add { [log] in log.append("told") }
        #expect(token.isActive)

        #expect(token.remove())
        notifyEach()

        #expect(!token.isActive)
        #expect(!token.remove())
        expect(log.entries, equals: [])
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    @Test("The token is active while any member's registration lives")
    func activeWhileAnyLives() {
        var first: ObserverSet<Int>? = ObserverSet()
        let token = ObserverGroup(first!, words, ends).add {}

        first = nil
        #expect(token.isActive)
        words.removeAll()
        #expect(token.isActive)
        ends.removeAll()

        #expect(!token.isActive)
        #expect(!token.remove())
    }

    @Test("The token ends what is left when some members have gone")
    func removalWithDeadMembers() {
        var first: ObserverSet<Int>? = ObserverSet()
        let token = ObserverGroup(first!, ends).add { [log] in log.append("told") }

        first = nil
        ends.notify()
        #expect(token.remove())
        ends.notify()

        expect(log.entries, equals: ["told"])
        #expect(ends.isEmpty)
    }

    @Test("A member's `remove` does not end the group's registration; its `removeAll` ends its own part")
    func memberRemoves() {
        let token = group.add {}

        #expect(!numbers.remove(token))
        numbers.removeAll()

        expect([numbers.count, words.count, ends.count], equals: [0, 1, 1])
        #expect(token.isActive)
    }

    @Test("An observer removed in one member's notification is not called by another member's nested notification")
    func removedDuringNotification() {
        let token = Shared<ObserverToken?>(nil)
        _ = numbers.add { [ends] _ in
            token.value?.remove()
            ends.notify()
        }
        token.value = group.add { [log] in log.append("told") }

        numbers.notify(1)

        expect(log.entries, equals: [])
    }

    /// Scenario 22, for a group.
    @Test("Exactly one of sixteen threads that remove a group's token gets true")
    func removedBySixteenThreads() async {
        for _ in 0..<50 {
            let token = group.add {}
            let removals = Counter()

            await onThreads(16) { _ in if token.remove() { removals.increment() } }

            expect(removals.value, equals: 1)
        }
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    @Test("The token's description names where the observer was registered")
    func tokenDescription() {
        let token = group.add {}

        #expect(token.description.contains("ObserverGroupTests.swift"))
        token.remove()
        #expect(token.description.contains("inactive"))
    }

    // MARK: Once

    @Test("A one-time observer is called once in total, and then removed from all members")
    func onceInAll() {
        let token = group.once.add { [log] in log.append("told") }

        words.notify((word: "so", line: 1))
        notifyEach()

        expect(log.entries, equals: ["told"])
        #expect(!token.isActive)
        #expect(!token.remove())
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    @Test("A one-time observer is called once, even if several threads notify members at once")
    func onceAgainstThreads() async {
        for _ in 0..<many(1_200) {
            let calls = Counter()
            let token = group.once.add { calls.increment() }

            await onThreads(3) { [numbers, words, ends] thread in
                switch thread {
                case 0: numbers.notify(1)
                case 1: words.notify((word: "so", line: 1))
                default: ends.notify()
                }
            }

            expect(calls.value, equals: 1)
            #expect(!token.isActive)
        }
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    @Test("A one-time observer is called once, even if members notify while it is being registered")
    func onceAgainstRegistration() async {
        let calls = Counter()
        let isOver = Signal()

        await onThreads(2) { [numbers, ends, group] thread in
            if thread == 0 {
                for _ in 0..<many(8_000) { _ = group.once.add { calls.increment() } }
                isOver.set()
            } else {
                while !isOver.isSet {
                    numbers.notify(1)
                    ends.notify()
                }
            }
        }
        ends.notify()

        expect(calls.value, equals: many(8_000))
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
    }

    // MARK: Lifetimes

    @Test(
        "An owner's death ends the registration with every member", arguments: [true, false])
    func ownerDeath(_ isElsewhere: Bool) async {
        var owner: Tracked? = Tracked()
        let token =
            if isElsewhere {
                group.add(owner!) { @Elsewhere [log] _ in log.append("told") }
            } else {
                group.add(owner!) { [log] _ in log.append("told") }
            }
        expect([numbers.count, words.count, ends.count], equals: [1, 1, 1])

        owner = nil

        #expect(!token.isActive)
        #expect(numbers.isEmpty && words.isEmpty && ends.isEmpty)
        notifyEach()
        for source in [numbers] { await source.settled() }
        expect(log.entries, equals: [])
    }

    @Test("What an observer captures is released when the last registration ends")
    func captureIsReleased() {
        let lifetimes = Lifetimes.current
        var first: ObserverSet<Int>? = ObserverSet()
        let token = { [ends] in
            let capture = Tracked()
            return ObserverGroup(first!, ends).add { _ = capture.value }
        }()

        first = nil
        expect(lifetimes.count, equals: 1)
        token.remove()

        expect(lifetimes.count, equals: 0)
    }

    @Test("Members that are held by a group alone live as long as it does")
    func holdsMembers() {
        weak var member: ObserverSet<Int>?
        do {
            let group = {
                let set = ObserverSet<Int>()
                member = set
                return ObserverGroup(set)
            }()
            #expect(member != nil)
            withExtendedLifetime(group) {}
        }

        #expect(member == nil)
    }

    // MARK: Delivery

    @Test("An observer on the notifier's own actor is called in place")
    @MainActor func inPlace() {
        let calls = Counter()
        _ = group.add { calls.increment() }

        notifyEach()

        expect(calls.value, equals: 3)
    }

    @Test("A value that one member has enqueued is not overtaken by another member's notification")
    func oneMailbox() async {
        let actor = ActingHearer(log)
        group.add(actor) { actor in actor.hear() }

        await actor.whileBusy { [numbers, ends, log] in
            // Notified on another thread while the actor is busy, so the call waits in the mailbox.
            join { numbers.notify(1) }
            expect(log.entries, equals: [])
            // Notified on the actor itself: the waiting call is made first, then this one, before `notify` returns.
            ends.notify(isolation: $0)
            expect(log.entries, equals: ["actor", "actor"])
        }
    }

    @Test("`settled()` of one member waits for the mailbox that all members share")
    func settledThroughOneMember() async {
        let actor = ActingHearer(log)
        group.add(actor) { actor in actor.hear() }

        for _ in 0..<100 {
            numbers.notify(1)
            ends.notify()
        }
        await numbers.settled()

        expect(log.count, equals: 200)
    }
}

private final class Hearer: Sendable {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear() { log.append("method") }
    func note(_ text: String) { log.append(text) }
}

private actor ActingHearer {
    private let log: Log<String>

    init(_ log: Log<String>) {
        self.log = log
    }

    func hear() { log.append("actor") }

    /// Runs `body` on the actor, which is busy until `body` returns.
    func whileBusy(_ body: @Sendable (isolated ActingHearer) -> Void) { body(self) }
}
