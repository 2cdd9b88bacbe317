import Dispatch
import Testing

@testable import ObserverSet

/// Reports of lines that leak or do not keep up.
///
/// A report hears of all sets of the process. So each test names files of its own, and looks at these alone. One after the
/// other, since a report that begins while another one ends may begin late.
@Suite("Reports of leaks and slow observers", .lifetimesChecked, .againstHanging, .serialized)
struct DiagnosticsTests {
    private let set = ObserverSet<Int>()
    private let log = Log<String>()

    // MARK: Observers

    @Test("A line that adds many observers to a set is reported, and again when they have doubled")
    func leak() throws {
        let token = report(observersPerLine: 100)
        for _ in 0..<400 { set.add({ _ in }, fileID: "Leak.swift", line: 41) }
        token.remove()

        let counts = suspicions("Leak.swift:41 has ").map { count(in: $0) }
        #expect(suspicions("Leak.swift:").count == counts.count)
        try #require(counts.count == 2)
        #expect((100...125).contains(counts[0]))
        #expect((2 * counts[0]...2 * counts[0] * 5 / 4).contains(counts[1]))
        #expect(suspicions("Leak.swift:").allSatisfy { $0.hasSuffix("(100 % of \(count(in: $0)))") })
    }

    @Test("A suspicion says how dominant its line is")
    func dominance() {
        let token = report(observersPerLine: 20)
        for _ in 0..<30 {
            set.add({ _ in }, fileID: "Share.swift", line: 1)
            for line in 2..<5 as Range<UInt> { set.add({ _ in }, fileID: "Others.swift", line: line) }
        }
        token.remove()

        #expect(suspicions("Share.swift:").count == 1)
        #expect(suspicions("Share.swift:1 has ").allSatisfy { $0.contains("observers in one set (25 % of ") })
    }

    @Test("Nothing is reported of lines that share a set, or that have few observers in each of many sets")
    func fewEach() {
        let token = report(observersPerLine: 100)
        let sets = (0..<30).map { _ in ObserverSet<Int>() }
        for line in 1...300 as ClosedRange<UInt> {
            set.add({ _ in }, fileID: "Few.swift", line: line)
            sets[Int(line) % 30].add({ _ in }, fileID: "Few.swift", line: 1)
        }
        token.remove()

        #expect(suspicions("Few.swift:") == [])
    }

    @Test("Owners that die are not counted, whether their addresses are used again or not; those that live are")
    func owners() {
        let token = report(observersPerLine: 100)
        for _ in 0..<1_000 { set.add(Tracked(), { _, _ in }, fileID: "Brief.swift", line: 1) }
        #expect(suspicions("Brief.swift:") == [])

        let other = ObserverSet<Int>()
        let owners = (0..<200).map { _ in Tracked() }
        for owner in owners { other.add(owner, { _, _ in }, fileID: "Kept.swift", line: 1) }
        token.remove()

        #expect(suspicions("Kept.swift:1 has ").count == 1)
        #expect(suspicions("Kept.swift:").count == 1)
        withExtendedLifetime(owners) {}
    }

    @Test("Delegates are counted, too")
    func delegates() {
        let token = report(observersPerLine: 100)
        let multicast = MulticastDelegate<Tracked>()
        let delegates = (0..<200).map { _ in Tracked() }
        for delegate in delegates { multicast.add(delegate, fileID: "Delegate.swift", line: 1) }
        token.remove()

        #expect(suspicions("Delegate.swift:1 has ").count == 1)
        withExtendedLifetime(delegates) {}
    }

    // MARK: The same owner

    @Test("A line that adds one owner twice is reported, and again when it has done so twice as often")
    func sameOwner() {
        let token = report()
        let owner = Tracked()
        for _ in 0..<20 { set.add(owner, { _, _ in }, fileID: "Twice.swift", line: 1) }
        token.remove()

        let prefix = "Twice.swift:1 has added the same Tracked to one set "
        #expect(suspicions(prefix + "2 times (100 % of 2 observers)").count == 1)
        #expect(suspicions("Twice.swift:").count == 4)
        #expect(suspicions(prefix).count == 4)
    }

    @Test("Adding an owner anew before the last observer is removed makes two at a time, however often")
    func addedBeforeRemoved() {
        let token = report()
        let owner = Tracked()
        var last: ObserverToken?
        for _ in 0..<64 {
            let next = set.add(owner, { _, _ in }, fileID: "Anew.swift", line: 1)
            last?.remove()
            last = next
        }
        token.remove()

        #expect(suspicions("Anew.swift:").count == 1)
        let twice = "Anew.swift:1 has added the same Tracked to one set 2 times (100 % of 2 observers)"
        #expect(suspicions(twice).count == 1)
    }

    @Test("Observers that replace one another are counted as they are left, and none of them is an owner's second")
    func replacing() {
        let token = report(observersPerLine: 100)
        let owners = (0..<200).map { _ in Tracked() }
        for _ in 0..<20 { set.replacing.add(owners[0], { _, _ in }, fileID: "Replacing.swift", line: 1) }
        #expect(suspicions("Replacing.swift:") == [])

        for owner in owners { set.replacing.add(owner, { _, _ in }, fileID: "Replacing.swift", line: 1) }
        token.remove()

        #expect(suspicions("Replacing.swift:1 has ").count == 1)
        #expect(suspicions("Replacing.swift:").count == 1)
        #expect(set.count == 200)
        withExtendedLifetime(owners) {}
    }

    @Test("An owner that is added by two lines, or to two sets, is not reported; nor are several of a class")
    func otherOwners() {
        let token = report()
        let other = ObserverSet<Int>()
        let owners = (0..<10).map { _ in Tracked() }
        for owner in owners {
            for line in 1...2 as ClosedRange<UInt> { set.add(owner, { _, _ in }, fileID: "Once.swift", line: line) }
            other.add(owner, { _, _ in }, fileID: "Once.swift", line: 1)
        }
        token.remove()

        #expect(suspicions("Once.swift:") == [])
        withExtendedLifetime(owners) {}
    }

    @Test("An owner is recognised in every form of observer")
    func formsOfOwners() async {
        let token = report()
        let owner = Tracked()
        let others = (0..<4).map { _ in ObserverSet<Int>() }
        for _ in 0..<2 {
            set.addNonisolated(on: .main, owner, { _, _ in }, fileID: "Forms.swift", line: 1)
            others[0].addAsync(owner, { _, _ in }, fileID: "Forms.swift", line: 2)
            others[1].map { $0 }.add(owner, { _, _ in }, fileID: "Forms.swift", line: 3)
            others[2].once.add(owner, { @MainActor _, _ in }, fileID: "Forms.swift", line: 4)
        }
        others[3].merge(with: others[3]).add(owner, { @MainActor _, _ in }, fileID: "Forms.swift", line: 5)
        token.remove()

        for line in 1...5 { #expect(suspicions("Forms.swift:\(line) has added the same Tracked to ").count == 1) }
    }

    @Test(
        "An owner at the address of a dead one is another; one that was removed before it is added again is not reported"
    )
    func ownersThatChange() {
        let token = report()
        let owners = (0..<100).map { _ in Tracked() }
        for _ in 0..<1_000 { set.add(Tracked(), { _, _ in }, fileID: "Reused.swift", line: 1) }
        for _ in 0..<2 {
            for owner in owners { set.add(owner, { _, _ in }, fileID: "Again.swift", line: 1).remove() }
        }
        token.remove()

        #expect(suspicions("Reused.swift:1 has added") == [])
        #expect(suspicions("Again.swift:") == [])
    }

    @Test("What waits for an observer that has replaced another is counted")
    func replaced() async {
        let token = report(waiting: 4)
        let owner = Tracked()
        let door = Door()
        for _ in 0..<2 {
            set.replacing.addAsync(owner, { _, _ in await door.pass() }, fileID: "Replaced.swift", line: 1)
        }
        for value in 0..<10 { set.notify(value) }
        token.remove()

        #expect(suspicions("Replaced.swift:1 lets").count >= 1)
        #expect(suspicions("Replaced.swift:1 has added") == [])
        door.open()
        await set.settled()
        withExtendedLifetime(owner) {}
    }

    @Test("While there is a report, no owner is kept alive, or loaded where it does not live")
    func ownersStay() async {
        let token = report(observersPerLine: 4, waiting: 4)
        let held = BusyActor()
        let mayEnd = Signal()
        await held.keepBusy(until: mayEnd)
        for _ in 0..<20 {
            let owner = Tracked()
            set.add(owner, { _, _ in }, fileID: "Stay.swift", line: 1)
            set.add(held, { _, _ in }, fileID: "Stay.swift", line: 2)
            #expect(Lifetimes.current.count == 1)
        }
        for value in 0..<20 { set.notify(value) }
        #expect(Lifetimes.current.count == 0)
        mayEnd.set()
        await set.settled()
        token.remove()
    }

    @Test("While there is a report, an owner that is added once is checked no more often than without one")
    func ownersAddedOnce() {
        let token = report(observersPerLine: 100)
        let looks = Counter()
        for _ in 0..<20 { set.register(Observer(entry: WatchedEntry(looks, countsEveryCheck: true), site: Site())) }
        token.remove()

        #expect(looks.value == 0)
    }

    // MARK: What waits

    @Test("A line for whose observers many values wait is reported, and again when they have doubled")
    func waiting() async {
        let token = report(waiting: 50)
        let mayEnd = Signal()
        let actor = BusyActor()
        await actor.keepBusy(until: mayEnd)
        set.add(actor, { _, _ in }, fileID: "Slow.swift", line: 1)
        for value in 0..<400 { set.notify(value) }
        mayEnd.set()
        await set.settled()
        token.remove()

        let expected = [64, 128, 256].map { "Slow.swift:1 lets \($0) values wait (100 % of \($0))" }
        #expect(suspicions("Slow.swift:") == expected)
    }

    @Test("Values that wait for another registration of an observer are counted for its line, too")
    func waitingForTwo() async {
        let token = report(waiting: 50)
        let mayEnd = Signal()
        let actor = BusyActor()
        await actor.keepBusy(until: mayEnd)
        set.merge(with: set).add(actor, { _, _ in }, fileID: "Merged.swift", line: 1)
        for value in 0..<100 { set.notify(value) }
        mayEnd.set()
        await set.settled()
        token.remove()

        let expected = [64, 128].map { "Merged.swift:1 lets \($0) values wait (100 % of \($0))" }
        #expect(suspicions("Merged.swift:1 lets") == expected)
    }

    @Test("A line whose observer hangs is reported with its call")
    func hanging() async {
        let token = report(waiting: 50)
        let (isInCall, mayEnd) = (Signal(), Signal())
        let actor = BusyActor()
        let other = ObserverSet<Int>()
        set.add(actor, { _, value in if value == 0 { Self.hang(isInCall, mayEnd) } }, fileID: "Hung.swift", line: 1)
        other.add(actor, { _, _ in }, fileID: "Hung.swift", line: 2)
        set.notify(0)
        await eventually { isInCall.isSet }
        for value in 1..<400 {
            set.notify(value)
            other.notify(value)
        }
        mayEnd.set()
        await set.settled()
        token.remove()

        #expect(suspicions("Hung.swift:1 lets ").allSatisfy(tellsOfACall))
        #expect(suspicions("Hung.swift:1 lets ").count >= 2)
        #expect(suspicions("Hung.swift:2 lets ").allSatisfy { $0.hasSuffix(")") })
        #expect(suspicions("Hung.swift:2 lets ").count >= 2)
        #expect(suspicions("Hung.swift:").allSatisfy { $0.contains(" (50 % of ") || $0.contains(" (49 % of ") })
    }

    @Test("The values that wait for an observer that awaits are reported with its call", arguments: [false, true])
    func awaiting(isLimited: Bool) async {
        let token = report(waiting: 50)
        let door = Door()
        set.addAsync(
            buffering: isLimited ? .newest(100) : .unbounded, { _ in await door.pass() }, fileID: "Awaits.swift",
            line: isLimited ? 1 : 2)
        set.notify(0)
        await eventually { door.waiting == 1 }
        for value in 0..<200 { set.notify(value) }
        door.open()
        await set.settled()
        token.remove()

        let of = suspicions("Awaits.swift:\(isLimited ? 1 : 2) lets ")
        #expect(of.count >= 1)
        #expect(of.allSatisfy(tellsOfACall))
    }

    /// Adds an observer on a queue, which delivers nothing before it is resumed.
    private func addOnSuspendedQueue(fileID: StaticString) -> DispatchQueue {
        let queue = DispatchQueue(label: "suspended")
        queue.suspend()
        set.addNonisolated(on: queue, { _ in }, fileID: fileID, line: 1)
        return queue
    }

    @Test("The values that wait on a queue, and in a sequence, are reported")
    func queuesAndSequences() async {
        let token = report(waiting: 50)
        let queue = addOnSuspendedQueue(fileID: "Waits.swift")
        let values = set.values(fileID: "Waits.swift", line: 2)
        let stream = set.stream(fileID: "Waits.swift", line: 3)
        let once = set.once.values(fileID: "Waits.swift", line: 4)
        for value in 0..<600 { set.notify(value) }
        queue.resume()
        await set.settled()
        token.remove()

        #expect(suspicions("Waits.swift:1 lets ").count >= 1)
        #expect(
            suspicions("Waits.swift:2 lets ")
                == [64, 128, 256, 512].map { "Waits.swift:2 lets \($0) values wait (100 % of \($0))" })
        // Nobody knows how many wait in an `AsyncStream`.
        #expect(suspicions("Waits.swift:3") + suspicions("Waits.swift:4") == [])
        withExtendedLifetime((values, stream, once)) {}
    }

    @Test("The values that wait in a sequence are reported if there is no room for more, too")
    func fullSequence() async {
        let token = report(waiting: 50)
        let values = set.values(buffering: .newest(100), fileID: "Full.swift", line: 1)
        for value in 0..<1_000 { set.notify(value) }
        token.remove()

        #expect(suspicions("Full.swift:") == ["Full.swift:1 lets 64 values wait (100 % of 64)"])
        withExtendedLifetime(values) {}
    }

    @Test("That nothing waits is not reported, whatever the threshold")
    func nothingWaits() async {
        let token = report(waiting: 0)
        let values = set.values(fileID: "Nothing.swift", line: 1)
        var waiting = ObserverSet::WaitingValues()
        waiting.add(0, of: Watch.number(of: Site(fileID: "Nothing.swift", line: 2)), call: nil)
        waiting.report()
        token.remove()

        #expect(suspicions("Nothing.swift:") == [])
        withExtendedLifetime(values) {}
    }

    @Test("Values that were dropped from a queue, and callers of `settled()`, do not count as waiting there")
    func droppedFromAQueue() async {
        let token = report(waiting: 50)
        let queue = addOnSuspendedQueue(fileID: "Dropped.swift")
        for value in 0..<1_000 { set.notify(value) }
        set.cancelCalls()
        let waits = (0..<24).map { _ in set.beginSettledWait() }
        for value in 0..<1_024 { set.notify(value) }
        queue.resume()
        for wait in waits { await wait.wait() }
        await set.settled()
        token.remove()

        let expected = [64, 128, 256, 512, 1_024].map { "Dropped.swift:1 lets \($0) values wait (100 % of \($0))" }
        #expect(suspicions("Dropped.swift:") == expected)
    }

    @Test("What was added before the report began is not named, and counts as part of what waits")
    func addedBefore() {
        let token = report(waiting: 20)
        var waiting = ObserverSet::WaitingValues()
        waiting.add(60, of: 0, call: nil)
        waiting.add(20, of: Watch.number(of: Site(fileID: "Before.swift", line: 2)), call: nil)
        waiting.report()
        token.remove()

        #expect(suspicions("Before.swift:") == ["Before.swift:2 lets 20 values wait (25 % of 80)"])
    }

    @Test("How long a call has run is counted from when it was first seen", arguments: [0, 8])
    func duration(seconds: Int) {
        let began = ContinuousClock.now
        let now = Shared(began)
        let report = Report(observersPerLine: 1, waiting: 10) { now.value }
        let call = Watch.Call(mailbox: 1, number: 1)
        func suspicion(_ count: Int, _ call: Watch.Call?) -> String? {
            report.suspicion(Watch.Finding(site: Site(), count: count, total: count, kind: .waiting(call)))
        }

        #expect(suspicion(9, call) == nil)
        now.value = began.advanced(by: .seconds(seconds))
        let said = seconds == 0 ? "is in a call" : "its call has run for 8 s at least"
        #expect(suspicion(10, call) == "?:0 lets 10 values wait (100 % of 10), and \(said)")
        #expect(suspicion(20, Watch.Call(mailbox: 1, number: 2))?.hasSuffix("is in a call") == true)
        #expect(suspicion(40, Watch.Call(mailbox: 2, number: 2))?.hasSuffix("is in a call") == true)
        #expect(suspicion(80, nil)?.hasSuffix("(100 % of 80)") == true)
    }

    // MARK: The report itself

    @Test("Without a report, and after its end, nothing is reported")
    func off() {
        let token = report(observersPerLine: 10)
        #expect(token.isActive)
        #expect(token.remove())
        #expect(!token.remove() && !token.isActive)
        for _ in 0..<100 { set.add({ _ in }, fileID: "Off.swift", line: 1) }

        #expect(suspicions("Off.swift:") == [])
    }

    @Test("Each report has thresholds of its own, and says what it has not said before")
    func severalReports() {
        let other = Log<String>()
        let tokens = [
            report(observersPerLine: 10),
            ObserverSetDiagnostics.report(observersPerLine: 50, waiting: 1_000) { other.append($0) },
        ]
        for _ in 0..<100 { set.add({ _ in }, fileID: "Several.swift", line: 1) }
        for token in tokens { token.remove() }

        #expect(suspicions("Several.swift:").count == 2)
        #expect(other.entries.count { $0.hasPrefix("Several.swift:") } == 1)
    }

    @Test("The function that receives suspicions may add, remove and notify")
    func receiveUsesTheSet() {
        let calls = Counter()
        let token = Shared<ObserverToken?>(nil)
        token.value = ObserverSetDiagnostics.report(observersPerLine: 4, waiting: 1_000) { [set, log] suspicion in
            guard suspicion.hasPrefix("Uses.swift:") else { return }
            log.append(suspicion)
            _ = (set.count, set.debugDescription)
            let added = set.add({ _ in calls.increment() }, fileID: "Uses.swift", line: 2)
            set.notify(1)
            if log.count < 3 { added.remove() } else { token.value?.remove() }
        }
        for _ in 0..<100 { set.add({ _ in }, fileID: "Uses.swift", line: 1) }

        #expect(suspicions("Uses.swift:").count == 3)
        #expect(calls.value == 3)
        #expect(set.count == 101)
    }

    /// A function that is the state of a lock is wrapped again whenever it is read.
    @Test("The hundred thousandth finding is received like the first, on a small stack")
    func manyFindings() async {
        let token = report(waiting: 20)
        await onThread(stackSize: 1 << 19) {
            let site = Site(fileID: "Many.swift", line: 1)
            for _ in 0..<100_000 { Watch.report(Watch.Finding(site: site, count: 20, total: 20, kind: .waiting(nil))) }
        }
        token.remove()

        #expect(suspicions("Many.swift:").count == 1)
    }

    @Test("A line is the same line wherever its name is stored")
    func sameLine() {
        // Not two views of one buffer, as the conversions of arrays may be.
        let (first, second) = ("A.swift".utf8CString, "A.swift".utf8.map { CChar(bitPattern: $0) } + [0])
        unsafe first.withUnsafeBufferPointer { first in
            unsafe second.withUnsafeBufferPointer { second in
                let words = unsafe [first.baseAddress, second.baseAddress].map { UInt(bitPattern: $0) }
                let sites = words.map { Site((file: $0, line: 1)) }
                #expect(words[0] != words[1] && sites[0] == sites[1] && Set(sites).count == 1)
                #expect(sites[0] != Site((file: words[0], line: 2)) && sites[0] != Site((file: 0, line: 1)))
            }
        }
    }

    // MARK: Races

    @Test("A report may begin and end while others add, remove and notify")
    func reportDuringChanges() async {
        await race(times: many(2_000, long: 100_000)) { [set] round in
            let tokens = (0..<6).map { _ in set.add({ _ in }, fileID: "Race.swift", line: 1) }
            set.notify(round)
            for token in tokens { token.remove() }
        } _: { _ in
            // Whether it hears of anything depends on when it begins.
            ObserverSetDiagnostics.report(observersPerLine: 2, waiting: 1) { _ in }.remove()
        }
        #expect(set.isEmpty)
    }

    @Test("Many threads may be reported at once, and every suspicion is due")
    func manyThreads() async {
        let token = report(observersPerLine: 16, waiting: 16)
        let rounds = many(1_000, long: 50_000)
        let keeper = SlowActor()
        await onThreads(3) { [set] thread in
            let owner = Tracked(in: Lifetimes())
            for round in 0..<rounds {
                let tokens = (0..<4).map { _ in set.add(owner, { _, _ in }, fileID: "Threads.swift", line: 1) }
                let hop = set.add(keeper, { keeper, _ in keeper.hear() }, fileID: "Threads.swift", line: 2)
                set.notify(thread + round)
                for token in tokens + [hop] { token.remove() }
            }
        }
        await set.settled()
        token.remove()

        #expect(set.isEmpty)
        let counts = suspicions("Threads.swift:1 has added ").map {
            count(in: $0.replacing("Threads.swift:1 has added the same Tracked to one set ", with: "X has "))
        }
        #expect(!counts.isEmpty && counts.allSatisfy { (2...4).contains($0) })
        #expect(Set(counts).count == counts.count)
    }

    @Test("Values that are delivered while they are counted are reported at most as often as they can double")
    func countedDuringDeliveries() async {
        let token = report(waiting: 1)
        let keeper = SlowActor()
        set.add(keeper, { keeper, _ in keeper.hear() }, fileID: "Drain.swift", line: 1)
        set.addAsync({ _ in }, fileID: "Drain.swift", line: 2)
        let values = set.values(fileID: "Drain.swift", line: 3)
        let reader = Task { for await _ in values {} }
        await onThreads(2) { [set] _ in for value in 0..<many(20_000, long: 100_000) { set.notify(value) } }
        await set.settled()
        reader.cancel()
        await reader.value
        token.remove()

        for line in 1...3 {
            let counts = suspicions("Drain.swift:\(line) lets ").map { count(in: $0) }
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 >= 2 * $0 || $0 >= 2 * $1 })
            #expect((1..<20).contains(counts.count))
        }
    }

    // MARK: Support

    private static func hang(_ isInCall: Signal, _ mayEnd: Signal) {
        isInCall.set()
        mayEnd.wait()
    }

    private func report(observersPerLine: Int = 1_000_000, waiting: Int = 1_000_000) -> ObserverToken {
        ObserverSetDiagnostics.report(observersPerLine: observersPerLine, waiting: waiting) { [log] in log.append($0) }
    }

    /// However long the test has been going on.
    private func tellsOfACall(_ suspicion: String) -> Bool {
        suspicion.hasSuffix(", and is in a call") || suspicion.contains(", and its call has run for ")
    }

    private func suspicions(_ prefix: String) -> [String] { log.entries.filter { $0.hasPrefix(prefix) } }

    /// The number behind the line and a word.
    private func count(in suspicion: String) -> Int { Int(suspicion.split(separator: " ")[2]) ?? 0 }
}

private actor SlowActor {
    private var calls = 0
    func hear() { calls += 1 }
}
