/// Every state that a scenario can come to, in every interleaving of its threads.
///
/// What must hold:
///  - no pass may be walking what has been released (safety);
///  - where no thread can go on, all have come to their end, everything unlinked has been released, the counts are zero
///    and the flag is down (nothing is forgotten);
///  - there is no way round in circles, with all threads that have not ended taking part, while something is retired
///    (liveness, with fairness: a thread that stands still in an observer may keep what it reaches).
struct Exploration {
    private(set) var steps = 0
    /// What does not hold, and how it comes about.
    private(set) var failure: Failure?

    var stateCount: Int { states.count }

    struct Failure: Equatable {
        let what: Kind
        /// What the threads did until then; without the way there, the circle.
        let trace: String

        enum Kind: Equatable {
            case walksWhatIsReleased
            case endsBadly(String)
            case goesRoundInCircles
        }
    }

    private let scenario: Scenario
    private var ids: [ModelState: Int32] = [:]
    private var states: [ModelState] = []
    /// From where, and by which thread, a state was first reached.
    private var origins: [Edge] = []
    /// The steps from each state lie side by side, from that index on.
    private var firstEdges: [Int32] = []
    private var edges: [Edge] = []

    private struct Edge {
        let state: Int32
        let thread: UInt8
    }

    init(_ scenario: Scenario) {
        self.scenario = scenario
        reach(scenario.start, from: -1, by: 0)
        edges = []
        var index = 0
        while index < states.count, failure == nil {
            firstEdges.append(Int32(edges.count))
            expand(index)
            index += 1
        }
        firstEdges.append(Int32(edges.count))
        steps = edges.count
        if failure == nil { findCircles() }
    }

    // MARK: Steps

    private mutating func expand(_ index: Int) {
        let state = states[index]
        let before = edges.count
        for thread in 0..<scenario.programs.count {
            let word = state.threads[thread]
            if ModelThread.buffer(word) != 0 { reach(flushing(thread, in: state), from: index, by: thread) }
            var move = ModelMove(
                scenario: scenario, index: thread, elsewhere: buffers(in: state, but: thread),
                memory: ModelMemory(state.shared), thread: ModelThread(word))
            if move.mayMissUnlocking {
                var other = move
                if other.take(missesUnlocking: true) { reach(state.after(other), from: index, by: thread) }
            }
            if move.take(missesUnlocking: false) { reach(state.after(move), from: index, by: thread) }
        }
        if edges.count == before {
            let haveEnded = scenario.programs.indices.allSatisfy { ModelThread(state.threads[$0]).step == .finished }
            let fault = haveEnded ? ModelMemory(state.shared).fault : "the threads wait for each other"
            if let fault { fail(.endsBadly(fault), at: index) }
        }
    }

    private mutating func reach(_ reached: ModelState, from origin: Int, by thread: Int) {
        var state = reached
        // Insertion sort of threads that do the same.
        for index in scenario.programs.indices where scenario.isTwin(index) {
            var place = index
            while scenario.isTwin(place), state.threads[place] < state.threads[place - 1] {
                let word = state.threads[place]
                state.threads[place] = state.threads[place - 1]
                state.threads[place - 1] = word
                place -= 1
            }
        }
        let fresh = Int32(states.count)
        let id = ids[state] ?? fresh
        edges.append(Edge(state: id, thread: UInt8(thread)))
        guard id == fresh else { return }
        ids[state] = id
        states.append(state)
        origins.append(Edge(state: Int32(origin), thread: UInt8(thread)))
        var reach: UInt64 = 0
        for index in scenario.programs.indices { reach |= ModelThread.reach(state.threads[index]) }
        if reach & ModelMemory(state.shared).released != 0 { fail(.walksWhatIsReleased, at: Int(id)) }
    }

    /// The thread's oldest store reaches memory.
    private func flushing(_ index: Int, in state: ModelState) -> ModelState {
        var state = state
        var memory = ModelMemory(state.shared)
        var thread = ModelThread(state.threads[index])
        let store = thread.dequeue()
        memory.apply(store)
        state.shared = memory.word
        state.threads[index] = thread.word
        if store == .unlock {
            for other in scenario.programs.indices where other != index {
                var thread = ModelThread(state.threads[other])
                thread.mayMissUnlocking = thread.step != .finished
                state.threads[other] = thread.word
            }
        }
        return state
    }

    private func buffers(in state: ModelState, but thread: Int) -> [UInt64] {
        guard scenario.isWeak else { return [] }
        return scenario.programs.indices.filter { $0 != thread }.map { ModelThread.buffer(state.threads[$0]) }
    }

    // MARK: Circles

    /// Looks for a strongly connected component in which all threads that have not ended move and something is retired
    /// (Tarjan's algorithm, without recursion).
    private mutating func findCircles() {
        var numbers = [Int32](repeating: -1, count: states.count)
        var lowest = numbers
        var component = numbers
        var next = firstEdges
        var open: [Int] = []
        var path: [Int] = [0]
        var count: Int32 = 0
        while let state = path.last {
            if numbers[state] < 0 {
                numbers[state] = count
                lowest[state] = count
                count += 1
                open.append(state)
            }
            if next[state] < firstEdges[state + 1] {
                let target = Int(edges[Int(next[state])].state)
                next[state] += 1
                if numbers[target] < 0 {
                    path.append(target)
                } else if component[target] < 0 {
                    lowest[state] = min(lowest[state], numbers[target])
                }
                continue
            }
            path.removeLast()
            if let parent = path.last { lowest[parent] = min(lowest[parent], lowest[state]) }
            guard lowest[state] == numbers[state] else { continue }
            let first = open.lastIndex(of: state)!
            for member in open[first...] { component[member] = Int32(state) }
            check(open[first...], component)
            open.removeSubrange(first...)
            if failure != nil { return }
        }
    }

    private mutating func check(_ members: ArraySlice<Int>, _ component: [Int32]) {
        let state = states[members.first!]
        let memory = ModelMemory(state.shared)
        guard memory.released != memory.unlinked else { return }
        var missing = Set(scenario.programs.indices.filter { ModelThread(state.threads[$0]).step != .finished })
        for member in members {
            for edge in edges[Int(firstEdges[member])..<Int(firstEdges[member + 1])]
            where component[Int(edge.state)] == component[member] {
                missing.remove(Int(edge.thread))
            }
        }
        // A state alone has no step to itself.
        if missing.isEmpty { fail(.goesRoundInCircles, at: members.first!) }
    }

    // MARK: Failures

    private mutating func fail(_ what: Failure.Kind, at index: Int) {
        guard failure == nil else { return }
        var lines: [String] = []
        var index = index
        while origins[index].state >= 0 {
            let origin = Int(origins[index].state)
            let thread = Int(origins[index].thread)
            let word = states[origin].threads[thread]
            lines.append("thread \(thread): \(ModelThread(word).step)")
            index = origin
        }
        failure = Failure(what: what, trace: lines.reversed().joined(separator: "\n"))
    }
}

extension ModelState {
    fileprivate func after(_ move: ModelMove) -> ModelState {
        var state = self
        state.shared = move.memory.word
        state.threads[move.index] = move.thread.word
        return state
    }
}
