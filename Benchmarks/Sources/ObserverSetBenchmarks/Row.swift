/// One line of the report: what is measured, the baseline with which it is compared, and its target.
struct Row: Sendable {
    let name: String
    /// The baseline's name in the report.
    let baseline: String
    let reach: Reach
    /// Whether the figures mean nothing if other programs take a processor.
    var needsQuiet = false
    let measure: @Sendable (Plan) -> Outcome
}

/// The target of a row.
enum Reach {
    /// The time must be at most this multiple of the baseline's time.
    case time(atMost: Double)
    /// The throughput must be at least this multiple of the baseline's throughput.
    case throughput(atLeast: Double)
    /// The row must be at most this many times as slow as the baseline, and at most this many times as fast.
    case within(Double)
    /// The figure, which has no baseline, must be at most this number.
    case figure(atMost: Double, unit: String)
    /// There is no target. The row only reports a throughput.
    case toldThroughput
    /// There is no target. The row only reports a figure.
    case told(unit: String)
}

/// How much time a row may take.
struct Plan {
    /// The number of rounds.
    ///
    /// All objects are created anew in each round, because their addresses influence the figures.
    ///
    /// There are many rounds, because at some addresses the shortest loops take one and a half times as long as at
    /// others.
    let rounds: Int
    /// How long samples are taken in each round, in nanoseconds.
    let roundTime: UInt64
    /// How long one sample of a loop takes, in nanoseconds.
    ///
    /// That is long compared with the clock's own cost, and short compared with a time slice of the system.
    let sampleTime: UInt64

    /// The largest number of observers for which the cost is measured.
    let observers: Int
    /// The number of mixed operations in which spikes are searched for.
    let operations: Int

    static let full = Plan(
        rounds: 25, roundTime: 200_000_000, sampleTime: 300_000, observers: 1_000_000, operations: 10_000_000)
    /// For a check whether all targets are met.
    ///
    /// A row that misses its target is measured again.
    static let check = Plan(
        rounds: 10, roundTime: 100_000_000, sampleTime: 300_000, observers: 1_000_000, operations: 10_000_000)
    static let quick = Plan(
        rounds: 1, roundTime: 20_000_000, sampleTime: 100_000, observers: 1000, operations: 100_000)
}

/// The result of measuring a row.
enum Outcome {
    /// The times of one operation in nanoseconds, of the row and of the baseline, which were sampled in turn.
    case pairs([Pair])
    /// A count or a size.
    case figure(Double)

    struct Pair {
        let measured: Double
        let baseline: Double
    }
}

extension Row {
    /// Makes a row that compares two times.
    ///
    /// `sides` creates all objects anew, and returns two samplers: the row's and the baseline's.
    static func comparing(
        _ name: String, to baseline: String, reach: Reach, needsQuiet: Bool = false,
        _ sides: @escaping @Sendable (Plan) -> (measured: Sampler, baseline: Sampler)
    ) -> Row {
        Row(name: name, baseline: baseline, reach: reach, needsQuiet: needsQuiet) { plan in
            var pairs: [Outcome.Pair] = []
            for _ in 0..<plan.rounds {
                let (measured, baseline) = sides(plan)
                let samples = interleaved([measured, baseline], for: plan.roundTime)
                pairs += zip(samples[0], samples[1]).map { Outcome.Pair(measured: $0, baseline: $1) }
            }
            return .pairs(pairs)
        }
    }

    /// Makes a row that reports one figure, which is the same each time it is measured.
    static func figure(_ name: String, reach: Reach, _ figure: @escaping @Sendable (Plan) -> Double) -> Row {
        Row(name: name, baseline: "", reach: reach) { plan in .figure(figure(plan)) }
    }
}
