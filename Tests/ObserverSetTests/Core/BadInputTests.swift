import Dispatch
import ObserverSet
import Testing

/// What no program should do, and some do: none of it crashes, hangs or corrupts.
@Suite("Bad input", .lifetimesChecked, .againstHanging)
struct BadInputTests {
    // MARK: Tokens

    @Test("A token of another set is refused, also by a set that was never observed")
    func tokenOfAnotherSet() {
        let set = ObserverSet<Int>()
        let other = ObserverSet<Int>()
        let neverObserved = ObserverSet<Int>()
        let token = set.add { _ in }

        #expect(!other.remove(token))
        #expect(!neverObserved.remove(token))
        other.add { _ in }
        #expect(!other.remove(token))

        #expect(token.isActive)
        #expect(set.count == 1 && other.count == 1)
    }

    @Test("A token removed again, in any way, is refused and harms nobody")
    func tokenRemovedTwice() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let token = set.add { _ in }
        set.add { log.append($0) }

        #expect(token.remove())
        for _ in 0..<100 {
            #expect(!token.remove())
            #expect(!set.remove(token))
        }
        set.notify(1)

        #expect(log.entries == [1])
        #expect(set.count == 1)
    }

    @Test("A token is inert after its set has died, on any thread")
    func tokenAfterItsSet() async {
        var set: ObserverSet<Int>? = ObserverSet()
        let token = set!.add { [capture = Tracked()] _ in _ = capture }
        set = nil

        let answers = Log<Bool>()
        await onThreads(4) { _ in
            answers.append(token.remove())
            answers.append(token.isActive)
        }

        #expect(answers.entries == Array(repeating: false, count: 8))
        #expect(set == nil)
    }

    @Test("A token is inert after `removeAll`, and the set goes on")
    func tokenAfterRemoveAll() {
        let set = ObserverSet<Int>()
        let tokens = (0..<10).map { _ in set.add { _ in } }

        set.removeAll()
        set.removeAll()
        let log = Log<Int>()
        set.add { log.append($0) }
        set.notify(1)

        #expect(tokens.allSatisfy { !$0.isActive && !$0.remove() })
        #expect(log.entries == [1])
        #expect(set.count == 1)
    }

    // MARK: Owners

    @Test("An owner that is already being deallocated may be added, and is never called")
    func ownerInItsDeinit() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()

        do { _ = AddsItselfAtItsEnd(set: set, log: log) }
        set.notify(1)

        #expect(log.entries == [-1, -10, 1, 10], "only the closures without an owner")
        #expect(set.count == 2)
    }

    @Test("A set may be the owner of its own observers, and dies all the same")
    func ownerIsTheSet() {
        weak var weakSet: ObserverSet<Int>?
        let log = Log<Int>()
        let token: ObserverToken
        do {
            let set = ObserverSet<Int>()
            weakSet = set
            token = set.add(set) { [capture = Tracked()] set, value in
                log.append(value + capture.value)
                if value < 3 { set.notify(value + 1) }
            }

            set.notify(1)
            #expect(set.count == 1)
        }

        #expect(log.entries == [1, 2, 3])
        #expect(weakSet == nil)
        #expect(!token.isActive)
    }

    @Test("A set may own observers of another that owns observers of it")
    func setsOwnOneAnother() {
        let log = Log<String>()
        do {
            let left = ObserverSet<Int>()
            let right = ObserverSet<Int>()
            left.add(right) { [capture = Tracked()] right, value in
                log.append("left \(value + capture.value)")
                right.notify(value)
            }
            right.add(left) { [capture = Tracked()] left, value in
                log.append("right \(value + capture.value)")
                if value > 0 { left.notify(value - 1) }
            }

            left.notify(1)
        }

        #expect(log.entries == ["left 1", "right 1", "left 0", "right 0"])
        #expect(Lifetimes.current.count == 0)
    }

    @Test("An owner added a thousand times is called a thousand times, and removed at once")
    func ownerAddedOften() {
        let set = ObserverSet<Int>()
        let owner = Tracked()
        let log = Log<Int>()
        for index in 0..<1_000 { set.add(owner) { _, _ in log.append(index) } }
        let last = set.add { log.append($0) }

        set.notify(-1)
        #expect(log.entries == Array(0..<1_000) + [-1])
        #expect(set.removeAll(ownedBy: owner) == 1_000)
        #expect(set.removeAll(ownedBy: owner) == 0)

        #expect(set.count == 1)
        #expect(last.isActive)
    }

    @Test("An owner that owns nothing here is removed without effect")
    func strangerIsRemoved() {
        let set = ObserverSet<Int>()
        #expect(set.removeAll(ownedBy: set) == 0)
        set.add { _ in }

        #expect(set.removeAll(ownedBy: set) == 0)
        #expect(set.removeAll(ownedBy: Tracked()) == 0)
        #expect(set.count == 1)
    }

    @Test("`removeAll(ownedBy:)` in the owner's own `deinit` finds nothing, and the owner is not called again")
    func ownerRemovesItselfInItsDeinit() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()

        do {
            let owner = RemovesItselfAtItsEnd(set: set, log: log)
            set.add(owner) { _, value in log.append(value) }
            set.notify(1)
        }
        set.notify(2)

        #expect(log.entries == [1, 0])
        #expect(set.isEmpty)
    }

    @Test("A token that an owner keeps may be removed in the owner's `deinit`")
    func ownerKeepsItsToken() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        do {
            let token = Shared<ObserverToken?>(nil)
            let owner = Tracked { token.value?.remove() }
            token.value = set.add(owner) { _, value in log.append(value) }
            set.notify(1)
        }

        set.notify(2)

        #expect(log.entries == [1])
        #expect(set.isEmpty)
    }

    // MARK: Numbers

    @Test("A set tells as many observers as it has", arguments: [0, 1, 1_000])
    func numberOfObservers(count: Int) {
        let set = ObserverSet<Int>()
        let last = Log<Int>()
        for index in 0..<count {
            set.addNonisolated { value in
                if index == count - 1 { last.append(value) }
            }
        }

        set.notify(7)

        #expect(set.count == count)
        #expect(set.isEmpty == (count == 0))
        #expect(last.entries == (count == 0 ? [] : [7]))
        set.removeAll()
        #expect(set.isEmpty)
    }

    @Test("Everything may be asked of a set that was never observed")
    func neverObserved() async {
        let set = ObserverSet<Int>()

        set.notify(1)
        set.removeAll()
        await set.settled()

        #expect(set.count == 0)
        #expect(set.isEmpty)
        #expect(Mirror(reflecting: set).children.isEmpty)
        #expect(set.debugDescription == set.description)
    }

    // MARK: Places to notify from

    @Test("A `deinit` may notify the set that its object observes")
    func notifiedInADeinit() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        set.add { log.append($0) }
        do {
            let owner = Tracked { set.notify(1) }
            set.add(owner) { _, value in log.append(-value) }
        }

        set.notify(2)

        #expect(log.entries == [1, 2])
        #expect(set.count == 1)
    }

    @Test(
        "A notification on a queue, for an observer on that queue, neither hangs nor is lost")
    func notifiedOnTheObserversQueue() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let queue = DispatchQueue(label: "Q")
        set.add(on: queue) { log.append($0) }

        await onThread {
            queue.sync { set.notify(1) }
        }
        await set.settled()

        #expect(log.entries == [1])
    }

    @Test("A notification on the main actor, for observers there, is made in place, however deep")
    @MainActor
    func notifiedOnTheMainActor() {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        set.add { [weak set] value in
            log.append(value)
            if value < 3 { set?.notify(value + 1) }
        }

        set.notify(0)

        #expect(log.entries == [0, 1, 2, 3])
    }

    @Test("A cancelled task may add, notify and wait")
    func cancelledTask() async {
        let set = ObserverSet<Int>()
        let log = Log<Int>()
        let queue = DispatchQueue(label: "Q")

        await withTaskGroup(of: Void.self) { group in
            group.cancelAll()
            group.addTask {
                #expect(Task.isCancelled)
                set.add(on: queue) { log.append($0) }
                set.notify(1)
                await set.settled()
            }
        }

        #expect(log.entries == [1])
        #expect(set.count == 1)
    }
}

/// Adds itself to a set in its `deinit`, in every form, and notifies.
private final class AddsItselfAtItsEnd: Sendable {
    private let set: ObserverSet<Int>
    private let log: Log<Int>

    init(set: ObserverSet<Int>, log: Log<Int>) {
        (self.set, self.log) = (set, log)
    }

    private func isTold(_ value: Int) { log.append(value) }

    deinit {
        set.add { [log] in log.append($0) }
        let tokens = [
            set.add(self) { owner, value in owner.isTold(value) },
            set.add(self, AddsItselfAtItsEnd.isTold),
            set.addOnce(self) { owner, value in owner.isTold(value) },
            set.addNonisolated(self) { owner, value in owner.isTold(value) },
            set.add(on: DispatchQueue(label: "Q"), self) { owner, value in owner.isTold(value) },
        ]
        set.add { [log] in log.append($0 * 10) }
        set.notify(-1)
        #expect(tokens.allSatisfy { !$0.isActive })
        #expect(set.removeAll(ownedBy: self) == 0)
    }
}

/// Removes its own registrations in its `deinit`, and writes down how many there were.
private final class RemovesItselfAtItsEnd: Sendable {
    private let set: ObserverSet<Int>
    private let log: Log<Int>

    init(set: ObserverSet<Int>, log: Log<Int>) {
        (self.set, self.log) = (set, log)
    }

    deinit { log.append(set.removeAll(ownedBy: self)) }
}
