/// One line of the report: what is measured, against what, and what is to be reached.
struct Row: Sendable {
    let name: String
    /// What it is measured against, in the words of the report.
    let baseline: String
    let reach: Reach
    let measure: @Sendable (Plan) -> Outcome
}

/// What a row is to reach.
enum Reach {
    /// The time, as a multiple of the baseline's.
    case time(atMost: Double)
    /// The throughput, as a multiple of the baseline's.
    case throughput(atLeast: Double)
    /// Neither more than that many times as slow as the other, nor as fast.
    case within(Double)
    /// A figure that stands alone.
    case figure(atMost: Double, unit: String)
    /// A throughput that is told and not judged.
    case toldThroughput
    /// A figure that is told and not judged.
    case told(unit: String)
}

/// How much time a row may take.
struct Plan {
    /// How often everything is built anew: where objects happen to lie in memory is a part of what one measures.
    ///
    /// Many, since there are such places in which the shortest of loops takes half as long again as in others.
    let rounds: Int
    /// How long to repeat in each round, in nanoseconds.
    let roundTime: UInt64
    /// How long one sample of a loop takes, in nanoseconds: long against the clock's own cost, short against a time slice.
    let sampleTime: UInt64

    /// Up to how many observers to follow the cost.
    let observers: Int
    /// How many mixed operations to look for spikes in.
    let operations: Int

    static let full = Plan(
        rounds: 25, roundTime: 200_000_000, sampleTime: 300_000, observers: 1_000_000, operations: 10_000_000)
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
        _ name: String, to baseline: String, reach: Reach,
        _ sides: @escaping @Sendable (Plan) -> (measured: Sampler, baseline: Sampler)
    ) -> Row {
        Row(name: name, baseline: baseline, reach: reach) { plan in
            var pairs: [Outcome.Pair] = []
            for _ in 0..<plan.rounds {
                let (measured, baseline) = sides(plan)
                let samples = interleaved([measured, baseline], for: plan.roundTime)
                pairs += zip(samples[0], samples[1]).map { Outcome.Pair(measured: $0, baseline: $1) }
            }
            return .pairs(pairs)
        }
    }

    /// A row that tells one figure, which is the same whenever it is measured.
    static func figure(_ name: String, reach: Reach, _ figure: @escaping @Sendable (Plan) -> Double) -> Row {
        Row(name: name, baseline: "", reach: reach) { plan in .figure(figure(plan)) }
    }
}
