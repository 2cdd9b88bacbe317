/// One thread's next access to what is shared.
struct ModelMove {
    let scenario: Scenario
    let index: Int
    /// The buffers of the other threads.
    let elsewhere: [UInt64]
    var memory: ModelMemory
    var thread: ModelThread

    private var fault: ReclamationFault? { scenario.fault }
    private var instruction: Instruction { scenario.programs[index][thread.counter] }

    /// Memory as the thread sees it: with its own stores.
    private var view: ModelMemory {
        if thread.buffer == 0 { return memory }
        var view = memory
        ModelThread.stores(in: thread.buffer).forEach { view.apply($0) }
        return view
    }

    private var ticket: ModelTicket {
        get { instruction.depth == 0 ? thread.outer : thread.inner }
        set { if instruction.depth == 0 { thread.outer = newValue } else { thread.inner = newValue } }
    }

    /// Whether the access is a try at the lock that may find it taken, though it has been unlocked.
    ///
    /// Not the try after leaving, which is one with the fence before it.
    var mayMissUnlocking: Bool {
        let isTry = thread.step == .tryAgain || (thread.step == .tryAfterLeaving && fault == .noFenceBeforeTry)
        return isTry && thread.mayMissUnlocking
    }

    /// Makes the access; false if it must wait.
    ///
    /// - Parameter missesUnlocking: Whether a try at the lock finds it taken, though it has been unlocked.
    mutating func take(missesUnlocking: Bool) -> Bool {
        switch thread.step {
        case .readParity:
            ticket.parity = view.open ^ (fault == .countsInOnIdleSide ? 1 : 0)
            thread.step = scenario.seats > 0 ? .loadStripes : .countIn
        case .loadStripes:
            guard mayLoad() else { return false }
            ticket.isStriped = view.hasStripes
            thread.step = .countIn
        case .countIn:
            let before = view.count(place(ticket))
            guard change(.add(place(ticket)), isOrdered: fault != .countInIsReleasing) else { return false }
            ticket.before = ticket.isStriped ? 0 : before
            thread.step = .loadHead
        case .loadHead:
            guard mayLoad(isOrdered: fault != .headLoadIsRelaxed) else { return false }
            ticket.reach = ~view.unlinked & 0xF
            next()
        case .countOut: return countOut()
        case .walkLate:
            ticket.reach = 0
            afterCountingOut()
        case .installStripes:
            guard mayLoad(), view.hasStripes || store(.installStripes) else { return false }
            afterInstalling()
        case .lookAtFlag:
            guard mayLoad(isOrdered: fault != .flagLoadIsRelaxed) else { return false }
            if view.hasRetired { thread.step = .tryAfterLeaving } else { next() }
        case .tryAfterLeaving:
            guard fault == .noFenceBeforeTry || mayPassFence() else { return false }
            if takeLock(missesUnlocking) { reclaim() } else { next() }
        case .lock:
            guard !memory.isLocked else { return false }
            _ = takeLock(false)
            if case .change(item: .some) = instruction { thread.step = .unlink } else { reclaim() }
        case .unlink, .lookAtBothCounts, .raiseFlag: return retire()
        case .lookAtIdleCount, .flip, .flipAnyway, .lowerFlag, .unlock: return continueReclaiming()
        case .lookAgain, .lookAtIdleCountAgain, .tryAgain: return afterUnlocking(missesUnlocking)
        case .release:
            memory.released |= thread.displaced
            thread.displaced = 0
            next()
        case .finished: return false
        }
        return true
    }

    // MARK: Pass

    private func place(_ ticket: ModelTicket) -> Int {
        ticket.isStriped ? 2 + 2 * (index % scenario.seats) + Int(ticket.parity) : Int(ticket.parity)
    }

    private mutating func countOut() -> Bool {
        if fault == .leavesOpenSide { ticket.parity = view.open }
        let place = place(ticket)
        let after = (view.count(place) &- 1) & 7
        guard change(.subtract(place), isOrdered: fault != .countOutIsReleasing) else { return false }
        thread.emptiedItsCount = after == 0
        let hasMetAnother = scenario.seats > 0 && !ticket.isStriped && after != ticket.before
        thread.isWaiting = hasMetAnother
        if fault == .countsOutBeforeWalking {
            thread.step = .walkLate
        } else {
            ticket.reach = 0
            afterCountingOut()
        }
        return true
    }

    private mutating func afterCountingOut() {
        let hasMetAnother = thread.isWaiting
        ticket = ModelTicket()
        thread.isWaiting = false
        if hasMetAnother { thread.step = .installStripes } else { afterInstalling() }
    }

    private mutating func afterInstalling() {
        let mayLook = thread.emptiedItsCount && fault != .flagIsIgnored
        thread.emptiedItsCount = false
        if mayLook { thread.step = .lookAtFlag } else { next() }
    }

    // MARK: Change

    private mutating func retire() -> Bool {
        guard case .change(let number?) = instruction else { return false }
        let item: UInt64 = 1 << UInt64(number)
        switch thread.step {
        case .unlink:
            guard store(.unlink(item)) else { return false }
            look(at: 0, .lookAtBothCounts)
        case .raiseFlag:
            guard store(.flag(true)) else { return false }
            reclaim()
        default:
            guard mayLoad(isOrdered: fault != .countLoadsAreAcquiring) else { return false }
            switch lookAtCounts() {
            case true? where thread.parity == 0 && fault != .quickWayLooksAtOneCount: look(at: 1, .lookAtBothCounts)
            case true?:
                thread.displaced |= item
                reclaim()
            case false?:
                memory.newer |= item
                thread.step = .raiseFlag
            case nil: break
            }
        }
        return true
    }

    private mutating func reclaim() {
        thread.isWaiting = false
        if memory.newer | memory.older == 0 {
            thread.step = .unlock
        } else {
            look(at: 1 ^ view.open, .lookAtIdleCount)
        }
    }

    private mutating func continueReclaiming() -> Bool {
        switch thread.step {
        case .lookAtIdleCount:
            guard mayLoad(isOrdered: fault != .countLoadsAreAcquiring) else { return false }
            guard let isEmpty = lookAtCounts() else { return true }
            thread.isWaiting = !isEmpty
            thread.step = isEmpty ? .flip : fault == .flipsWhileOccupied ? .flipAnyway : .unlock
        case .flip:
            guard store(.flip) else { return false }
            let detached = fault == .detachesAfterOneFlip ? memory.newer : 0
            thread.displaced |= memory.older | detached
            memory.older = memory.newer & ~detached
            memory.newer = 0
            if memory.older == 0 {
                thread.step = .lowerFlag
            } else if fault == .flipsTwiceAtOnce {
                thread.step = .flip
            } else {
                reclaim()
            }
        case .flipAnyway:
            guard store(.flip) else { return false }
            thread.step = .unlock
        case .lowerFlag:
            guard store(.flag(false)) else { return false }
            thread.step = .unlock
        default:
            guard store(.unlock) else { return false }
            thread.step = thread.isWaiting && fault != .noLookAfterUnlocking ? .lookAgain : .release
            if thread.step == .release { release() }
        }
        return true
    }

    private mutating func afterUnlocking(_ missesUnlocking: Bool) -> Bool {
        switch thread.step {
        case .lookAgain:
            guard fault == .noFenceAfterUnlocking || mayPassFence() else { return false }
            look(at: 1 ^ view.open, .lookAtIdleCountAgain)
        case .lookAtIdleCountAgain:
            guard mayLoad(isOrdered: fault != .countLoadsAreAcquiring) else { return false }
            guard let isEmpty = lookAtCounts() else { return true }
            if isEmpty || fault == .triesWhileRetired { thread.step = .tryAgain } else { release() }
        default:
            if takeLock(missesUnlocking) { reclaim() } else { release() }
        }
        return true
    }

    private mutating func release() {
        thread.isWaiting = false
        if thread.displaced == 0 { next() } else { thread.step = .release }
    }

    // MARK: Accesses

    private mutating func look(at parity: UInt64, _ step: ModelStep) {
        thread.parity = parity
        thread.cursor = 0
        thread.step = step
    }

    /// Looks at one count, or at the pointer to the stripes; nil if there is more to look at.
    private mutating func lookAtCounts() -> Bool? {
        if thread.cursor == 1 {
            if !view.hasStripes { return true }
        } else {
            let place = (thread.cursor == 0 ? 0 : 2 * (thread.cursor - 1)) + Int(thread.parity)
            if view.count(place) != 0 { return false }
        }
        if thread.cursor == (scenario.seats == 0 ? 0 : scenario.seats + 1) { return true }
        thread.cursor += 1
        return nil
    }

    private mutating func takeLock(_ missesUnlocking: Bool) -> Bool {
        if memory.isLocked || missesUnlocking { return false }
        memory.isLocked = true
        thread.mayMissUnlocking = false
        return true
    }

    private mutating func mayPassFence() -> Bool {
        guard thread.buffer == 0 else { return false }
        thread.mayMissUnlocking = false
        return true
    }

    /// Whether a load may be made now: all that is sequentially consistent stays in order.
    private func mayLoad(isOrdered: Bool = true) -> Bool {
        thread.buffer == 0 || !isOrdered
            || ModelThread.stores(in: thread.buffer).allSatisfy { store in
                switch store {
                case .add: fault == .countInIsReleasing
                case .subtract: fault == .countOutIsReleasing
                case .unlink: fault == .headStoreIsReleasing
                case .installStripes: false
                case .flag, .flip, .unlock: true
                }
            }
    }

    private mutating func store(_ store: ModelStore) -> Bool {
        if scenario.isWeak { return thread.enqueue(store) }
        memory.apply(store)
        return true
    }

    /// Changes a count, unless another thread is about to.
    private mutating func change(_ store: ModelStore, isOrdered: Bool) -> Bool {
        let isFree = elsewhere.allSatisfy { buffer in
            buffer == 0 || ModelThread.stores(in: buffer).allSatisfy { Self.count(of: $0) != Self.count(of: store) }
        }
        return isFree && mayLoad(isOrdered: isOrdered) && self.store(store)
    }

    private static func count(of store: ModelStore) -> Int? {
        switch store {
        case .add(let place), .subtract(let place): place
        default: nil
        }
    }

    private mutating func next() {
        thread.counter += 1
        thread.cursor = 0
        thread.parity = 0
        let program = scenario.programs[index]
        if thread.counter < program.count, program[thread.counter] == .again { thread.counter = 0 }
        thread.step = thread.counter < program.count ? program[thread.counter].firstStep : .finished
        // It takes no lock any more.
        if thread.step == .finished { thread.mayMissUnlocking = false }
    }
}
