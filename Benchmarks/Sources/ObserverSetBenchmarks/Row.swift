/// One line of the report: what is measured, against what, and which target is to be reached.
struct Row: Sendable {
    let name: String
    /// What it is measured against, in the words of the report.
    let baseline: String
    let reach: Reach
    /// Whether the figures mean nothing where other programs take a processor.
    var needsQuiet = false
    let measure: @Sendable (Plan) -> Outcome
}

/// The target of a row.
enum Reach {
    /// The time, as a multiple of the baseline's.
    case time(atMost: Double)
    /// The throughput, as a multiple of the baseline's.
    case throughput(atLeast: Double)
    /// At most that many times as slow as the other, and at most that many times as fast.
    case within(Double)
    /// A figure without a baseline.
    case figure(atMost: Double, unit: String)
    /// A throughput that is reported and not judged.
    case toldThroughput
    /// A figure that is reported and not judged.
    case told(unit: String)
}

/// How much time a row may take.
struct Plan {
    /// In how many rounds everything is built anew, since the addresses of objects influence the figures.
    ///
    /// There are many rounds, since at some addresses the shortest loops take one and a half times as long as at
    /// others.
    let rounds: Int
    /// How long to repeat in each round, in nanoseconds.
    let roundTime: UInt64
    /// How long one sample of a loop takes, in nanoseconds: long compared with the clock's own cost, short compared
    /// with a time slice.
    let sampleTime: UInt64

    /// The largest number of observers for which the cost is measured.
    let observers: Int
    /// How many mixed operations to look for spikes in.
    let operations: Int

    static let full = Plan(
        rounds: 25, roundTime: 200_000_000, sampleTime: 300_000, observers: 1_000_000, operations: 10_000_000)
    /// To see whether what is judged is reached; a row that misses is measured again.
    static let check = Plan(
        rounds: 10, roundTime: 100_000_000, sampleTime: 300_000, observers: 1_000_000, operations: 10_000_000)
    static let quick = Plan(
        rounds: 1, roundTime: 20_000_000, sampleTime: 100_000, observers: 1000, operations: 100_000)
}

/// What a row has measured.
enum Outcome {
    /// Times of one operation in nanoseconds, taken in turn.
    case pairs([Pair])
    /// A count or a size.
    case figure(Double)

    struct Pair {
        let measured: Double
        let baseline: Double
    }
}

extension Row {
    /// A row that compares two times.
    ///
    /// `sides` builds both anew, and returns what takes one sample of each.
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

    /// A row that reports one figure, which is the same whenever it is measured.
    static func figure(_ name: String, reach: Reach, _ figure: @escaping @Sendable (Plan) -> Double) -> Row {
        Row(name: name, baseline: "", reach: reach) { plan in .figure(figure(plan)) }
    }
}
