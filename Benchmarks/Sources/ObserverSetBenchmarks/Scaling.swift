/// How the cost of a notification grows with the number of observers, and of threads.
enum Scaling {
    // MARK: Observers

    static let observers = Section(
        name: "chart: observers, the cost of a notification against their number", unit: "ns",
        columns: { plan in counts(plan).map(Section.short) },
        measure: { plan in
            let systems: [System] =
                [.loop, .local, .nonisolated, .ours, .owners, .array, .tracking, .queue, .center, .bridge]
                + System.messages
            let columns = counts(plan).map { count in
                complain("    \(Section.short(count)) observers")
                return column(systems, count, plan)
            }
            return systems.indices.map { index in
                Section.Series(name: systems[index].name, figures: columns.map { $0[index] })
            }
        })

    /// Zero, and powers of ten.
    private static func counts(_ plan: Plan) -> [Int] {
        [0] + Array(sequence(first: 1) { $0 * 10 }.prefix { $0 <= plan.observers })
    }

    private static func column(_ systems: [System], _ count: Int, _ plan: Plan) -> [Quartiles?] {
        var samples = [[Double]](repeating: [], count: systems.count)
        let present = systems.indices.filter { count <= systems[$0].limit }
        // There are fewer rounds than for rows with a target, because there are many figures.
        for _ in 0..<min(3, plan.rounds) {
            let samplers = present.map { index in
                let peer = systems[index].make(count)
                return loop(plan) { repetitions in peer.notify(repetitions) }
            }
            for (index, some) in zip(present, interleaved(samplers, for: plan.roundTime)) { samples[index] += some }
        }
        return samples.map { $0.isEmpty ? nil : Quartiles($0) }
    }

    // MARK: Threads

    private static let counts = [1, 2, 4]

    /// Threads that notify the same ten observers at once, as often as they can.
    static let threads = Section(
        name: "chart: threads, notifications of 10 observers, in all, on 1, 2 and 4", unit: "M/s",
        columns: { _ in counts.map { $0 == 1 ? "1 thread" : "\($0) threads" } },
        measure: { plan in
            let systems: [System] = [.nonisolated, .ours, .owners, .queue, .center, .bridge]
            var samples = [[Double]](repeating: [], count: systems.count * counts.count)
            for _ in 0..<plan.rounds {
                let samplers = systems.flatMap { system in counts.map { throughput(system, $0, plan) } }
                for (index, some) in interleaved(samplers, for: plan.roundTime).enumerated() { samples[index] += some }
            }
            return systems.enumerated().map { index, system in
                let first = index * counts.count
                return Section.Series(
                    name: system.name, figures: samples[first..<first + counts.count].map { Quartiles($0) })
            }
        })

    /// Makes a sampler of the throughput, in millions of notifications a second.
    private static func throughput(_ system: System, _ threads: Int, _ plan: Plan) -> Sampler {
        let peer = system.peer.init()
        peer.addReading(10)
        // A sample takes long compared with starting the threads.
        let passes = repetitions(filling: 20 * plan.sampleTime) { peer.notify($0) }
        return {
            let bodies = (0..<threads).map { _ -> @Sendable () -> Void in { peer.notify(passes) } }
            return Double(threads * passes) * 1000 / Double(together(bodies))
        }
    }
}
