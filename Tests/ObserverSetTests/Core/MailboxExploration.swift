@testable import ObserverSet

/// What an actor's mailbox may meet: threads that post, drains that arrive, calls and values' `deinit`s that notify or run
/// an event loop.
///
/// The decisions are those of the library (`ActorMailbox+Batch.swift`); what it does with them, and who does what when, is
/// played through here, in every order.
struct MailboxExploration {
    enum Fault: CaseIterable {
        case endsWithoutAnotherLook, leavesWithoutSending, callsTheLastFirst, overtakesItsOwnCall, callsInsideACall,
            overtakesACatchUp, restsInACatchUp
    }

    /// A value for an observer, or a caller of `settled()`.
    enum Post: Equatable {
        case value(for: Int, Urgency)
        case settled
    }

    private(set) var failure: String?
    private(set) var stateCount = 0

    init(_ posts: [Post], catchUps: Int = 3, _ fault: Fault? = nil) {
        var seen: Set<[UInt8]> = []
        var open = [MailboxState(posts, catchUps, fault)]
        while let state = open.popLast() {
            guard seen.insert(state.key).inserted else { continue }
            stateCount += 1
            let moves = state.moves()
            open += moves
            if let wrong = state.wrong ?? (moves.isEmpty ? state.wrongAtTheEnd : nil) {
                failure = state.trace.joined(separator: "\n") + "\n" + wrong
                return
            }
        }
    }
}

/// An observer as a mailbox sees it.
private final class ExploredObserver: AnyTarget, @unchecked Sendable {
    var isCalled = false
    override func isBeingCalled(for registration: Registration) -> Bool { isCalled }
}

/// One moment of it, from which each move makes another.
private struct MailboxState {
    /// What runs on the actor, one inside the other: a drain, or a catch-up with values that it has still to deliver.
    private struct Frame {
        /// The observer that is caught up with; nil for a drain.
        var observer: Int?
        var rest: [Int] = []
        /// What it is calling an observer with.
        var called: Int?
        var isDrain: Bool { observer == nil }
        var mayLeave = false
    }

    private let observers = [ExploredObserver(), ExploredObserver()]
    private let posts: [MailboxExploration.Post]
    private let fault: MailboxExploration.Fault?
    private var inbox = ActorMailbox.Inbox()
    private var batch = ActorMailbox.Batch()
    private var isBusy = false
    /// How much has been posted; the numbers begin with 1.
    private var posted = 0
    /// By number, what was posted.
    private var contents: [Int: MailboxExploration.Post] = [:]
    /// Drains on their way.
    private var sent: [Urgency] = []
    private var stack: [Frame] = []
    /// The numbers in the order in which their calls began.
    private var begun: [Int] = []
    private var returned: Set<Int> = []
    private var catchUpsLeft: Int
    /// Whether a drain has found another one at work.
    private var hasTurnedOneAway = false
    private(set) var wrong: String?
    private(set) var trace: [String] = []

    init(_ posts: [MailboxExploration.Post], _ catchUps: Int, _ fault: MailboxExploration.Fault?) {
        self.posts = posts
        self.fault = fault
        catchUpsLeft = catchUps
    }

    /// Equal for states in which the same can happen.
    var key: [UInt8] {
        var key: [UInt8] = []
        func add(_ number: Int) { key.append(UInt8(number)) }
        func add(_ flag: Bool) { key.append(flag ? 1 : 0) }
        func add(_ numbers: [Int]) {
            add(numbers.count)
            for number in numbers { add(number) }
        }
        add([posted, catchUpsLeft, batch.catchUps, batch.head])
        add(isBusy)
        add(hasTurnedOneAway)
        // How the values are distributed in the batch depends on when drains have looked.
        for jobs in [batch.jobs, batch.passedOver] { add(jobs.map { $0?.value as? Int ?? 0 }) }
        add(sent.map { Int($0.rank) })
        add(begun)
        add(returned.sorted())
        for frame in stack {
            add(frame.observer ?? 2)
            add(frame.mayLeave)
            add(frame.called ?? 0)
            add(frame.rest)
        }
        return key
    }

    /// The observer that receives what has that number; nil for a caller of `settled()`.
    private func observer(of number: Int) -> Int? {
        if case .value(let observer, _) = contents[number] { observer } else { nil }
    }

    /// The numbers of the values that wait for an observer.
    private func waiting(for observer: Int) -> [Int] {
        contents.keys.filter { self.observer(of: $0) == observer && !begun.contains($0) }
    }

    private func isInCall(_ observer: Int) -> Bool {
        stack.contains { frame in frame.called.map { self.observer(of: $0) == observer } ?? false }
    }

    private func isCaughtUpWith(_ observer: Int) -> Bool { stack.contains { $0.observer == observer } }
    private func mayNotBeOvertaken(_ observer: Int) -> Bool { isInCall(observer) || isCaughtUpWith(observer) }

    private var top: Frame {
        get { stack[stack.count - 1] }
        set { stack[stack.count - 1] = newValue }
    }

    // MARK: Moves

    func moves() -> [MailboxState] {
        if wrong != nil { return [] }
        var moves: [MailboxState] = []
        func add(_ name: String, _ move: (inout MailboxState) -> Void) {
            for (number, observer) in observers.enumerated() {
                observer.isCalled =
                    switch fault {
                    case .callsInsideACall: false
                    case .overtakesACatchUp: isInCall(number)
                    default: mayNotBeOvertaken(number)
                    }
            }
            var next = self
            next.trace.append(name)
            move(&next)
            next.check()
            moves.append(next)
        }
        if posted < posts.count { add("a value is posted") { $0.post() } }
        // On the actor: its own code, a call that notifies or runs an event loop, or a value's `deinit` that does so.
        if stack.last.map({ $0.called != nil || !$0.isDrain }) ?? true, stack.count < 3 {
            for index in sent.indices { add("a drain arrives") { $0.arrive(index) } }
            for observer in 0..<2 where mayCatchUp(observer) {
                add(observer == 0 ? "the actor notifies 0" : "the actor notifies 1") { $0.catchUp(observer) }
            }
        }
        if let frame = stack.last {
            if frame.called != nil {
                add("the call returns") { $0.endCall() }
            } else if frame.isDrain {
                add("the drain goes on") { $0.goOn() }
                if frame.mayLeave { add("the drain's turn is over") { $0.leave() } }
            } else if frame.rest.isEmpty {
                add("the actor has caught up") { $0.endCatchUp() }
            } else {
                add("the actor goes on") { $0.goOnInPlace() }
            }
        }
        return moves
    }

    private mutating func post() {
        let post = posts[posted]
        posted += 1
        let urgency: Urgency
        let recipient: Registration
        switch post {
        case .settled:
            if !isBusy { return settle(posted) }
            (urgency, recipient) = (Urgency(.high), SettledWait())
        case .value(let observer, let itsUrgency):
            (urgency, recipient) = (itsUrgency, observers[observer])
        }
        contents[posted] = post
        isBusy = true
        if inbox.append(Job(value: posted, recipient: recipient), urgency) { sent.append(urgency) }
    }

    private mutating func arrive(_ index: Int) {
        if inbox.drains.beginIfNoneIsRunning(sent.remove(at: index)) {
            stack.append(Frame())
        } else {
            hasTurnedOneAway = true
        }
    }

    private mutating func goOn() {
        repeat {
            if let number = batch.popFirst()?.value as? Int {
                let skipped = contents.keys.first { $0 < number && !begun.contains($0) }
                if let skipped, batch.catchUps == 0 { wrong = "\(number) comes before \(skipped)" }
                top.mayLeave = true
                return begin(number)
            }
        } while fault != .endsWithoutAnotherLook && batch.refill(from: &inbox)
        inbox.drains.end()
        noteIdle()
        stack.removeLast()
    }

    private mutating func leave() {
        stack.removeLast()
        inbox.drains.end()
        handOverTheRest()
    }

    private mutating func handOverTheRest() {
        if inbox.drains.running != nil { return }
        guard let urgency = batch.urgencyOfTheRest(&inbox) else { return noteIdle() }
        if inbox.drains.reserve(urgency), fault != .leavesWithoutSending { sent.append(urgency) }
    }

    private mutating func noteIdle() { if batch.catchUps == 0 || fault == .restsInACatchUp { isBusy = false } }

    /// Whether an observer may be caught up with: few values wait for it, and it is not in a call.
    private func mayCatchUp(_ observer: Int) -> Bool {
        let waiting = waiting(for: observer)
        return (1...2).contains(waiting.count) && catchUpsLeft > 0
            && (fault == .overtakesItsOwnCall ? !isCaughtUpWith(observer) : !mayNotBeOvertaken(observer))
    }

    private mutating func catchUp(_ observer: Int) {
        catchUpsLeft -= 1
        let waiting = waiting(for: observer).count
        let taken = batch.beginCatchUp(of: observers[observer], waiting, from: &inbox)!.compactMap { $0.value as? Int }
        if taken.count < waiting { wrong = "\(waiting) values wait for observer \(observer), and \(taken) is found" }
        stack.append(Frame(observer: observer, rest: fault == .callsTheLastFirst ? taken : taken.reversed()))
    }

    private mutating func goOnInPlace() { begin(top.rest.removeFirst()) }

    private mutating func endCatchUp() {
        stack.removeLast()
        batch.endCatchUp()
        handOverTheRest()
    }

    /// A call begins, or it is a caller's turn to go on.
    private mutating func begin(_ number: Int) {
        begun.append(number)
        top.called = number
        guard let observer = observer(of: number) else {
            settle(number)
            return endCall()
        }
        let isInItsCall = stack.dropLast().contains { frame in frame.called.map { self.observer(of: $0) } == observer }
        if isInItsCall { wrong = "observer \(observer) is called inside its own call" }
        let overtaken = contents.keys.contains { other in
            self.observer(of: other) == observer && other != number && begun.contains(other) != (other < number)
        }
        if overtaken { wrong = "observer \(observer) receives \(number) out of order" }
    }

    private mutating func settle(_ number: Int) {
        if contents.contains(where: { $0 < number && $1 != .settled && !returned.contains($0) }) {
            wrong = "settled() returns at \(number), before all calls in front of it have"
        }
    }

    private mutating func endCall() {
        returned.insert(top.called!)
        top.called = nil
    }

    // MARK: What must hold

    private mutating func check() {
        if wrong != nil || stack.contains(where: \.isDrain) { return }
        // Inside a call, however long it takes, the others are delivered to; what waits for its end is looked for then.
        let isFree = stack.last.map { $0.called != nil } ?? true
        let waiting = (0..<2).filter { isFree && !mayNotBeOvertaken($0) }.flatMap { observer in
            self.waiting(for: observer)
        }
        if !waiting.isEmpty && sent.isEmpty { wrong = "nobody delivers \(waiting)" }
        if hasTurnedOneAway || !stack.isEmpty { return }
        for case .value(_, let urgency) in waiting.compactMap({ contents[$0] })
        where !sent.contains(where: { $0.priority >= urgency.priority }) {
            wrong = "a value waits for drains that are less urgent"
        }
    }

    /// Where nothing can happen any more.
    var wrongAtTheEnd: String? {
        if Set(begun) != Set(contents.keys) { return "something was not delivered" }
        if !stack.isEmpty || !sent.isEmpty || isBusy { return "the mailbox does not come to rest" }
        var inbox = inbox
        return inbox.drains.beginIfNoneIsRunning(Urgency(.high)) ? nil : "the mailbox counts a drain that has ended"
    }
}
