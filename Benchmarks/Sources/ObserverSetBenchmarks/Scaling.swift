/// How the cost grows with the number of observers, of other observers, and of threads.
enum Scaling {
    static let sections = [notify, change, removals]

    /// Zero, and powers of ten.
    private static func counts(_ plan: Plan) -> [Int] {
        [0] + powers(plan, from: 1)
    }

    private static func powers(_ plan: Plan, from first: Int) -> [Int] {
        Array(sequence(first: first) { $0 * 10 }.prefix { $0 <= plan.observers })
    }

    private static func lines(
        _ systems: [System], _ body: @escaping @Sendable (any Peer, Int) -> Void
    ) -> [Section.Line] {
        systems.map { system in
            Section.Line(name: system.name) { count, plan in
                guard count <= system.limit else { return nil }
                let peer = system.make(count)
                return loop(plan) { repetitions in body(peer, repetitions) }
            }
        }
    }

    // MARK: Observers and others

    static let notify: Section = .against(
        "scaling: a notification against observers", unit: "ns", isCharted: true, counts,
        lines(
            [.loop, .local, .nonisolated, .ours, .owners, .array, .tracking, .queue, .center, .bridge]
                + System.messages
        ) { peer, repetitions in peer.notify(repetitions) })

    // The queue's design searches all observers for the one to remove, so it is measured with fewer.
    private static let change: Section = .against(
        "scaling: add + remove against others", unit: "ns", counts,
        lines([.local, .nonisolated, .ours, .owners, .center, .bridge, .queue.limited(to: 10_000)]) {
            peer, repetitions in peer.change(repetitions)
        })

    private static let removals: Section = .against(
        "scaling: a removal against the number removed", unit: "ns", { powers($0, from: 100) },
        ChangeRows.Order.allCases.map { order in
            Section.Line(name: "ObserverSet, " + order.rawValue) { count, _ in ChangeRows.removing(count, order) }
        })

    // MARK: Threads

    private static let observers = 10
    private static let threads = [1, 2, 4]

    /// Threads that notify the same observers at once, as often as they can.
    static let contention = Section(
        name: "contention: notifications of 10 observers, in all, on 1, 2 and 4 threads", unit: "M/s",
        columns: { _ in threads.map { $0 == 1 ? "1 thread" : "\($0) threads" } },
        measure: { plan in
            let systems: [System] = [.nonisolated, .ours, .owners, .queue, .center, .bridge]
            var samples = [[Double]](repeating: [], count: systems.count * threads.count)
            for _ in 0..<plan.rounds {
                let samplers = systems.flatMap { system in threads.map { throughput(system, $0, plan) } }
                for (index, some) in interleaved(samplers, for: plan.roundTime).enumerated() { samples[index] += some }
            }
            return systems.enumerated().map { index, system in
                let first = index * threads.count
                return Section.Series(
                    name: system.name, figures: samples[first..<first + threads.count].map { Quartiles($0) })
            }
        }, isCharted: true)

    /// Samples how many millions of notifications a second there are.
    private static func throughput(_ system: System, _ threads: Int, _ plan: Plan) -> Sampler {
        let peer = system.peer.init()
        peer.addReading(observers)
        // Long compared with the start of the threads.
        let passes = repetitions(filling: 20 * plan.sampleTime) { peer.notify($0) }
        return {
            let bodies = (0..<threads).map { _ -> @Sendable () -> Void in { peer.notify(passes) } }
            return Double(threads * passes) * 1000 / Double(together(bodies))
        }
    }
}
