/// Every state that a scenario can reach, with every interleaving of its threads.
///
/// What must hold:
///  - No traversal may be walking something that has been released (safety).
///  - Where no thread can take a step, all threads have finished, everything that was unlinked has been released, the
///    counts are zero and the flag is not set (nothing is forgotten).
///  - There is no cycle of states in which all unfinished threads take part and something stays retired (liveness,
///    assuming fairness: a thread that stays in an observer for ever may keep what it reaches).
struct Exploration {
    /// The first property that was found not to hold, and how that came about.
    private(set) var failure: Failure?

    var stateCount: Int { states.count }

    struct Failure {
        let what: Kind
        /// What the threads did until then; for a cycle, the way to it.
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
    /// The state from which each state was first reached, and the thread that took the step.
    private var origins: [Edge] = []
    /// The steps from each state are consecutive in `edges`, beginning at this index.
    private var firstEdges: [Int32] = []
    private var edges: [Edge] = []

    private struct Edge {
        let state: Int32
        let thread: UInt8
    }

    private var threads: Range<Int> { scenario.programs.indices }

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
        if failure == nil { findCircles() }
    }

    // MARK: Steps

    private mutating func expand(_ index: Int) {
        let state = states[index]
        let before = edges.count
        for thread in threads {
            if state[thread].hasStores { reach(flushing(thread, in: state), from: index, by: thread) }
            let move = ModelMove(scenario, of: thread, in: state)
            for missesUnlocking in [false, true] where !missesUnlocking || move.mayMissUnlocking {
                guard let next = move.result(missesUnlocking: missesUnlocking) else { continue }
                reach(next, from: index, by: thread)
            }
        }
        guard edges.count == before else { return }
        let haveEnded = threads.allSatisfy { state[$0].step == .finished }
        let fault = haveEnded ? state.memory.fault : "the threads wait for each other"
        if let fault { fail(.endsBadly(fault), at: index) }
    }

    private mutating func reach(_ state: ModelState, from origin: Int, by thread: Int) {
        let fresh = Int32(states.count)
        let id = ids[state] ?? fresh
        edges.append(Edge(state: id, thread: UInt8(thread)))
        guard id == fresh else { return }
        ids[state] = id
        states.append(state)
        origins.append(Edge(state: Int32(origin), thread: UInt8(thread)))
        let reach = threads.reduce(0) { $0 | state[$1].outer.reach | state[$1].inner.reach }
        if reach & state.memory.released != 0 { fail(.walksWhatIsReleased, at: Int(id)) }
    }

    /// The thread's oldest store reaches memory.
    private func flushing(_ thread: Int, in state: ModelState) -> ModelState {
        var state = state
        let store = state[thread].dequeue()
        state.memory.apply(store)
        if store.kind == .unlock {
            for other in threads where other != thread {
                state[other].mayMissUnlocking = state[other].step != .finished
            }
        }
        return state
    }

    // MARK: Cycles

    /// Searches for a strongly connected component in which all unfinished threads move while something is retired
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
        guard state.memory.released != state.memory.unlinked else { return }
        var missing = Set(threads.filter { state[$0].step != .finished })
        for member in members {
            for edge in edges[Int(firstEdges[member])..<Int(firstEdges[member + 1])]
            where component[Int(edge.state)] == component[member] {
                missing.remove(Int(edge.thread))
            }
        }
        // A component of one state has no edges, since no step leads from a state to itself.
        if missing.isEmpty { fail(.goesRoundInCircles, at: members.first!) }
    }

    // MARK: Failures

    private mutating func fail(_ what: Failure.Kind, at index: Int) {
        guard failure == nil else { return }
        var lines: [String] = []
        var origin = origins[index]
        while origin.state >= 0 {
            lines.append("thread \(origin.thread): \(states[Int(origin.state)][Int(origin.thread)].step)")
            origin = origins[Int(origin.state)]
        }
        failure = Failure(what: what, trace: lines.reversed().joined(separator: "\n"))
    }
}
