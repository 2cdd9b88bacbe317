@testable import ObserverSet

/// What an actor's mailbox may meet: threads that post, drains that arrive, calls that notify or run an event loop.
///
/// The decisions are those of the library (`ActorMailbox+Batch.swift`); what it does with them, and who does what when, is
/// played through here, in every order.
struct MailboxExploration {
    enum Fault: CaseIterable {
        case endsWithoutAnotherLook, leavesWithoutSending, callsTheLastFirst, callsInPlaceAsNoDrain, overtakesItsOwnCall
    }

    /// A value for an observer, or a caller of `settled()`.
    enum Post: Equatable {
        case value(for: Int, Urgency)
        case settled
    }

    private(set) var failure: String?
    private(set) var stateCount = 0

    init(_ posts: [Post], catchUps: Int = 2, _ fault: Fault? = nil) {
        var seen: Set<[Int]> = []
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

/// One moment of it, from which each move makes another.
private struct MailboxState {
    /// What runs on the actor, one inside the other.
    private enum Frame {
        case drain(called: UInt64?, mayLeave: Bool)
        case inPlace(rest: [UInt64], called: UInt64?, isDrain: Bool)

        var called: UInt64? {
            switch self {
            case .drain(let called, _), .inPlace(_, let called, _): called
            }
        }
    }

    private static let observers = [AnyEntry(), AnyEntry()]

    private let posts: [MailboxExploration.Post]
    private let fault: MailboxExploration.Fault?
    private var inbox = ActorMailbox.Inbox()
    private var batch = ActorMailbox.Batch()
    private var isBusy = false
    /// How much has been posted; the numbers begin with 1.
    private var posted = 0
    /// How much of it a drain has taken over.
    private var takenOver = 0
    /// By number, what was posted.
    private var contents: [UInt64: MailboxExploration.Post] = [:]
    /// Each observer's last value that has not been delivered, as `Pending` has it.
    private var last: [UInt64] = [0, 0]
    /// Drains on their way.
    private var sent: [Urgency] = []
    private var stack: [Frame] = []
    /// The numbers in the order in which their calls began.
    private var begun: [UInt64] = []
    private var returned: Set<UInt64> = []
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

    /// Equal for states in which the same can happen: what the inbox and the batch hold follows from it.
    var key: [Int] {
        var key = [posted, takenOver, catchUpsLeft, isBusy ? 1 : 0, hasTurnedOneAway ? 1 : 0]
        key += last.map(Int.init) + [-1] + sent.map { Int($0.priority.rawValue) } + [-1] + begun.map(Int.init) + [-1]
        key += returned.sorted().map(Int.init)
        for frame in stack {
            switch frame {
            case .drain(let called, let mayLeave): key += [-2, Int(called ?? 0), mayLeave ? 1 : 0]
            case .inPlace(let rest, let called, let isDrain):
                key += [-3, Int(called ?? 0), isDrain ? 1 : 0] + rest.map(Int.init)
            }
        }
        return key
    }

    // MARK: Moves

    func moves() -> [MailboxState] {
        if wrong != nil { return [] }
        var moves: [MailboxState] = []
        func add(_ name: String, _ move: (inout MailboxState) -> Void) {
            var next = self
            next.trace.append(name)
            move(&next)
            next.check()
            moves.append(next)
        }
        if posted < posts.count { add("post \(posts[posted])") { $0.post() } }
        // On the actor: its own code, or a call that notifies or runs an event loop.
        if stack.last.map({ $0.called != nil }) ?? true {
            for index in sent.indices where stack.count < 3 { add("a drain arrives") { $0.arrive(index) } }
            for observer in 0..<2 where last[observer] != 0 && catchUpsLeft > 0 && stack.count < 3 {
                add("the actor notifies \(observer)") { $0.catchUp(observer) }
            }
        }
        switch stack.last {
        case .drain(nil, let mayLeave):
            add("the drain goes on") { $0.goOn() }
            if mayLeave { add("the drain's turn is over") { $0.leave() } }
        case .inPlace(let rest, nil, let isDrain):
            if rest.isEmpty {
                add("the actor has caught up") { $0.endCatchUp(isDrain) }
            } else {
                add("the actor goes on") { $0.goOnInPlace() }
            }
        case .some: add("the call returns") { $0.endCall() }
        case nil: break
        }
        return moves
    }

    private mutating func post() {
        let post = posts[posted]
        posted += 1
        let number = inbox.posted.end
        let urgency: Urgency
        let job: Job
        switch post {
        case .settled:
            if !isBusy { return settle(number) }
            urgency = .highest
            job = Job(SettledWait())
        case .value(let observer, let itsUrgency):
            urgency = itsUrgency
            job = Job(number, to: Self.observers[observer], after: last[observer])
            last[observer] = number
        }
        contents[number] = post
        isBusy = true
        if inbox.append(job, urgency) { sent.append(urgency) }
    }

    private mutating func arrive(_ index: Int) {
        if inbox.begin(sent.remove(at: index)) {
            stack.append(.drain(called: nil, mayLeave: false))
        } else {
            hasTurnedOneAway = true
        }
    }

    private mutating func goOn() {
        repeat {
            if let (_, number) = batch.popFirst() {
                if let skipped = contents.keys.first(where: { $0 < number && !begun.contains($0) }) {
                    wrong = "\(number) comes before \(skipped)"
                }
                stack[stack.count - 1] = .drain(called: number, mayLeave: true)
                return begin(number)
            }
            takenOver = posted
        } while fault != .endsWithoutAnotherLook && batch.refill(from: &inbox)
        isBusy = false
        stack.removeLast()
    }

    private mutating func leave() {
        let urgency = batch.endTurn(&inbox)
        stack.removeLast()
        if let urgency, fault != .leavesWithoutSending { sent.append(urgency) }
    }

    private mutating func catchUp(_ observer: Int) {
        catchUpsLeft -= 1
        let last = last[observer]
        let begun: (numbers: [UInt64], isDrain: Bool)? =
            switch fault {
            case .overtakesItsOwnCall: (batch.waiting(upTo: last, inbox, atMost: 2).numbers, false)
            case .callsInPlaceAsNoDrain: batch.jobsToCatchUp(upTo: last, inbox, atMost: 2).map { ($0, false) }
            default: batch.beginCatchUp(upTo: last, &inbox, atMost: 2)
            }
        guard let (numbers, isDrain) = begun else { return }
        let rest = fault == .callsTheLastFirst ? numbers : numbers.reversed()
        stack.append(.inPlace(rest: rest, called: nil, isDrain: isDrain))
    }

    private mutating func goOnInPlace() {
        guard case .inPlace(var rest, _, let isDrain) = stack.removeLast() else { return }
        let number = rest.removeFirst()
        let job = batch.beginInPlace(number, from: &inbox)
        stack.append(.inPlace(rest: rest, called: job == nil ? nil : number, isDrain: isDrain))
        if job == nil { batch.endInPlace(number) } else { begin(number) }
    }

    private mutating func endCatchUp(_ isDrain: Bool) {
        if isDrain { leave() } else { stack.removeLast() }
    }

    /// A call begins, or it is a caller's turn to go on.
    private mutating func begin(_ number: UInt64) {
        begun.append(number)
        guard case .value(let observer, _) = contents[number] else { return settle(number) }
        let isInItsCall = stack.dropLast().contains { frame in
            guard let called = frame.called, case .value(observer, _) = contents[called] else { return false }
            return true
        }
        if isInItsCall { wrong = "observer \(observer) is called inside its own call" }
        let overtaken = contents.contains { other, post in
            guard case .value(observer, _) = post else { return false }
            return other != number && begun.contains(other) != (other < number)
        }
        if overtaken { wrong = "observer \(observer) receives \(number) out of order" }
    }

    private mutating func settle(_ number: UInt64) {
        if contents.contains(where: { $0 < number && $1 != .settled && !returned.contains($0) }) {
            wrong = "settled() returns at \(number), before all calls in front of it have"
        }
    }

    private mutating func endCall() {
        switch stack.removeLast() {
        case .drain(let called, _):
            end(called!)
            stack.append(.drain(called: nil, mayLeave: true))
        case .inPlace(let rest, let called, let isDrain):
            end(called!)
            batch.endInPlace(called!)
            stack.append(.inPlace(rest: rest, called: nil, isDrain: isDrain))
        }
    }

    private mutating func end(_ number: UInt64) {
        returned.insert(number)
        if case .value(let observer, _) = contents[number], last[observer] == number { last[observer] = 0 }
    }

    // MARK: What must hold

    private mutating func check() {
        if wrong != nil { return }
        let waiting = contents.filter { !begun.contains($0.key) }
        let isOccupied = stack.contains { frame in
            switch frame {
            case .drain: true
            case .inPlace(_, _, let isDrain): isDrain
            }
        }
        if !waiting.isEmpty && sent.isEmpty && !isOccupied { wrong = "nobody delivers what waits" }
        if hasTurnedOneAway || isOccupied { return }
        for case .value(_, let urgency) in waiting.values
        where !sent.contains(where: { $0.priority >= urgency.priority }) {
            wrong = "a value waits for drains that are less urgent"
        }
    }

    /// Where nothing can happen any more.
    var wrongAtTheEnd: String? {
        if Set(begun) != Set(contents.keys) { return "something was not delivered" }
        if !stack.isEmpty || !sent.isEmpty || isBusy { return "the mailbox does not come to rest" }
        var inbox = inbox
        return inbox.begin(.highest) ? nil : "the mailbox counts a drain that has ended"
    }
}
