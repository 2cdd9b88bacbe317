/// The next access of one thread to what the threads share.
struct ModelMove {
    let scenario: Scenario
    let index: Int
    /// The state before the move.
    let state: ModelState
    private var memory: ModelMemory
    private var thread: ModelThread

    init(_ scenario: Scenario, of index: Int, in state: ModelState) {
        self.scenario = scenario
        self.index = index
        self.state = state
        memory = state.memory
        thread = state[index]
    }

    /// The state after the access; nil if the thread must wait.
    ///
    /// With `missesUnlocking`, an attempt to lock finds the lock taken although it has been unlocked.
    func result(missesUnlocking: Bool) -> ModelState? {
        var move = self
        guard move.take(missesUnlocking) else { return nil }
        var state = state
        state.memory = move.memory
        state[index] = move.thread
        return state
    }

    /// Whether the access is an attempt to lock that may find the lock taken although it has been unlocked.
    ///
    /// The attempt after leaving is not such an access, since it forms one step with the fence before it.
    var mayMissUnlocking: Bool {
        let isTry = thread.step == .tryAgain || (thread.step == .tryAfterLeaving && fault == .noFenceBeforeTry)
        return isTry && thread.mayMissUnlocking
    }

    private mutating func take(_ missesUnlocking: Bool) -> Bool {
        switch thread.step {
        // `Reclamation.enter`
        case .readParity:
            ticket.parity = view.open ^ (fault == .countsInOnIdleSide ? 1 : 0)
            thread.step = scenario.seats > 0 ? .loadStripes : .countIn
        case .loadStripes:
            guard mayLoad() else { return false }
            ticket.isStriped = view.hasStripes
            thread.step = .countIn
        case .countIn:
            let before = view.counts[place]
            guard change(.add, isOrdered: fault != .countInIsReleasing) else { return false }
            ticket.before = ticket.isStriped ? 0 : before
            thread.step = .loadHead
        // `Traversal.init`
        case .loadHead:
            guard mayLoad(isOrdered: fault != .headLoadIsRelaxed) else { return false }
            ticket.reach = ~view.unlinked
            next()
        // `Reclamation.Ticket.leave`
        case .countOut:
            if fault == .leavesOpenSide { ticket.parity = view.open }
            let after = view.counts[place] &- 1
            guard change(.subtract, isOrdered: fault != .countOutIsReleasing) else { return false }
            thread.emptiedItsCount = after == 0
            thread.hasMetAnother = scenario.seats > 0 && !ticket.isStriped && after != ticket.before
            if fault == .countsOutBeforeWalking { thread.step = .walkLate } else { hasCountedOut() }
        case .walkLate: hasCountedOut()
        // `Reclamation.addStripes`
        case .installStripes, .installStripesAlone:
            guard mayLoad(), view.hasStripes || store(.installStripes) else { return false }
            if thread.step == .installStripes { hasLeft() } else { next() }
        // `Reclamation.noteLeft`: the load of the flag
        case .lookAtFlag:
            guard mayLoad(isOrdered: fault != .flagLoadIsRelaxed) else { return false }
            if view.hasRetired { thread.step = .tryAfterLeaving } else { next() }
        // `Registry.collectAfterLeaving`
        case .tryAfterLeaving:
            guard fault == .noFenceBeforeTry || mayPassFence() else { return false }
            if takeLock(missesUnlocking) { reclaim() } else { next() }

        // `Registry.write`
        case .lock:
            guard takeLock(false) else { return false }
            if items == 0 { reclaim() } else { thread.step = .unlink }
        case .unlink:
            guard store(.unlink, items) else { return false }
            if memory.newer | memory.older == 0 { look(at: 0, .lookAtBothCounts) } else { keep() }
        // `Reclamation.retire`
        case .lookAtBothCounts:
            guard mayLookAtCount() else { return false }
            switch lookAtCount() {
            case true? where thread.parity == 0 && fault != .quickWayLooksAtOneCount: look(at: 1, .lookAtBothCounts)
            case true?:
                thread.releasable |= items
                reclaim()
            case false?: keep()
            case nil: break
            }
        case .raiseFlag:
            guard store(.flag, 1) else { return false }
            reclaim()
        // `Reclamation.collect`
        case .lookAtIdleCount:
            guard mayLookAtCount() else { return false }
            guard let isEmpty = lookAtCount() else { return true }
            thread.isWaiting = !isEmpty
            thread.step = isEmpty ? .flip : fault == .flipsWhileOccupied ? .flipAnyway : .unlock
        case .flip:
            guard store(.flip) else { return false }
            let detached = fault == .detachesAfterOneFlip ? memory.newer : 0
            thread.releasable |= memory.older | detached
            memory.older = memory.newer & ~detached
            memory.newer = 0
            if memory.older == 0 { thread.step = .lowerFlag } else if fault != .flipsTwiceAtOnce { reclaim() }
        case .flipAnyway:
            guard store(.flip) else { return false }
            thread.step = .unlock
        case .lowerFlag:
            guard store(.flag, 0) else { return false }
            thread.step = .unlock
        case .unlock:
            guard store(.unlock) else { return false }
            let isWaiting = thread.isWaiting && fault != .noLookAfterUnlocking
            thread.isWaiting = false
            if isWaiting { thread.step = .lookAgain } else { release() }
        // `Registry.collectAfterUnlocking`
        case .lookAgain:
            guard fault == .noFenceAfterUnlocking || mayPassFence() else { return false }
            look(at: 1 ^ view.open, .lookAtIdleCountAgain)
        case .lookAtIdleCountAgain:
            guard mayLookAtCount() else { return false }
            guard let isEmpty = lookAtCount() else { return true }
            if isEmpty || fault == .triesWhileRetired { thread.step = .tryAgain } else { release() }
        case .tryAgain:
            if takeLock(missesUnlocking) { reclaim() } else { release() }
        // `Retired.release`
        case .release:
            memory.released |= thread.releasable
            next()
        case .finished: return false
        }
        return true
    }

    // MARK: From step to step

    private mutating func hasCountedOut() {
        ticket = ModelTicket()
        if thread.hasMetAnother { thread.step = .installStripes } else { hasLeft() }
    }

    private mutating func hasLeft() {
        thread.hasMetAnother = false
        if thread.emptiedItsCount && fault != .flagIsIgnored { thread.step = .lookAtFlag } else { next() }
    }

    /// Under the lock.
    private mutating func keep() {
        memory.newer |= items
        thread.step = .raiseFlag
    }

    /// Under the lock.
    private mutating func reclaim() {
        thread.isWaiting = false
        if memory.newer | memory.older == 0 { thread.step = .unlock } else { look(at: 1 ^ view.open, .lookAtIdleCount) }
    }

    private mutating func release() { if thread.releasable == 0 { next() } else { thread.step = .release } }

    private mutating func look(at parity: UInt8, _ step: ModelStep) {
        thread.parity = parity
        thread.cursor = 0
        thread.step = step
    }

    private mutating func next() {
        thread.counter += 1
        thread.cursor = 0
        thread.parity = 0
        thread.emptiedItsCount = false
        thread.releasable = 0
        let program = scenario.programs[index]
        if thread.counter < program.count, program[Int(thread.counter)] == .again { thread.counter = 0 }
        thread.step = thread.counter < program.count ? program[Int(thread.counter)].firstStep : .finished
        // A finished thread takes no lock any more.
        if thread.step == .finished { thread.mayMissUnlocking = false }
    }

    // MARK: Accesses

    private var fault: ReclamationFault? { scenario.fault }
    private var instruction: Instruction { scenario.programs[index][Int(thread.counter)] }

    /// What the instruction unlinks.
    private var items: UInt8 { if case .remove(let items) = instruction { items } else { 0 } }

    private var isNested: Bool { instruction == .enter(depth: 1) || instruction == .leave(depth: 1) }

    private var ticket: ModelTicket {
        get { isNested ? thread.inner : thread.outer }
        set { if isNested { thread.inner = newValue } else { thread.outer = newValue } }
    }

    /// The index of the count on which the traversal is counted.
    private var place: UInt8 { ticket.parity + (ticket.isStriped ? 2 + 2 * UInt8(index % scenario.seats) : 0) }

    /// Memory as the thread sees it, including its own stores that have not reached memory.
    private var view: ModelMemory {
        if !thread.hasStores { return memory }
        var view = memory
        thread.stores.forEach { view.apply($0) }
        return view
    }

    /// Reads one count, or the pointer to the stripes.
    ///
    /// Returns whether all counts are zero; nil if there is more to read.
    private mutating func lookAtCount() -> Bool? {
        let cursor = thread.cursor
        if cursor == 1 {
            if !view.hasStripes || fault == .stripesAreIgnored { return true }
        } else {
            let place = thread.parity + (cursor == 0 ? 0 : 2 * (cursor - 1))
            if view.counts[place] != 0 { return false }
        }
        if cursor == (scenario.seats == 0 ? 0 : scenario.seats + 1) { return true }
        thread.cursor += 1
        return nil
    }

    private func mayLookAtCount() -> Bool { mayLoad(isOrdered: fault != .countLoadsAreAcquiring) }

    /// Whether a load may be made now: sequentially consistent accesses stay in order.
    private func mayLoad(isOrdered: Bool = true) -> Bool {
        !isOrdered
            || thread.stores.allSatisfy { store in
                switch store.kind {
                case .add: fault == .countInIsReleasing
                case .subtract: fault == .countOutIsReleasing
                case .unlink: fault == .headStoreIsReleasing
                case .installStripes: false
                case .none, .flag, .flip, .unlock: true
                }
            }
    }

    private mutating func store(_ kind: ModelStore.Kind, _ operand: UInt8 = 0) -> Bool {
        let store = ModelStore(kind: kind, operand: operand)
        if scenario.isWeak { return thread.enqueue(store) }
        memory.apply(store)
        return true
    }

    /// Changes the traversal's count, unless another thread's change of it has not reached memory yet.
    private mutating func change(_ kind: ModelStore.Kind, isOrdered: Bool) -> Bool {
        let place = place
        let isFree = scenario.programs.indices.allSatisfy { other in
            other == index
                || state[other].stores.allSatisfy {
                    ($0.kind != .add && $0.kind != .subtract) || $0.operand != place
                }
        }
        return isFree && mayLoad(isOrdered: isOrdered) && store(kind, place)
    }

    private mutating func takeLock(_ missesUnlocking: Bool) -> Bool {
        if memory.isLocked || missesUnlocking { return false }
        memory.isLocked = true
        thread.mayMissUnlocking = false
        return true
    }

    private mutating func mayPassFence() -> Bool {
        guard !thread.hasStores else { return false }
        thread.mayMissUnlocking = false
        return true
    }
}
