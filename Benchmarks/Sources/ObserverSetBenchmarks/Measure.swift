import Dispatch

/// Takes one sample: the time of one operation, in nanoseconds.
typealias Sampler = () -> Double

/// The time, in nanoseconds.
func now() -> UInt64 {
    DispatchTime.now().uptimeNanoseconds
}

/// Samples a loop, which receives the number of repetitions.
func loop(_ plan: Plan, _ body: @escaping (Int) -> Void) -> Sampler {
    let repetitions = repetitions(filling: plan.sampleTime, body)
    return {
        let start = now()
        body(repetitions)
        return Double(now() - start) / Double(repetitions)
    }
}

/// Determines how many repetitions fill the given time, and warms up.
func repetitions(filling time: UInt64, _ body: (Int) -> Void) -> Int {
    var repetitions = 1
    while true {
        let start = now()
        body(repetitions)
        if now() - start >= time { return repetitions }
        repetitions *= 2
    }
}

/// Takes samples of all in turn, A B A B and so on, so that whatever slows the machine down for a while affects all.
///
/// - Returns: The samples of each, the same number of all.
func interleaved(_ samplers: [Sampler], for time: UInt64) -> [[Double]] {
    // These samples are discarded; they warm up.
    for sampler in samplers { _ = sampler() }
    var samples = [[Double]](repeating: [], count: samplers.count)
    let start = now()
    var turns = 0
    repeat {
        for (index, sampler) in samplers.enumerated() { samples[index].append(sampler()) }
        turns += 1
    } while turns < 3 || now() - start < time
    return samples
}

/// The median, and the quartiles below and above it.
struct Quartiles: Encodable {
    let low: Double
    let median: Double
    let high: Double

    init(_ samples: some Collection<Double>) {
        let sorted = samples.sorted()
        func quantile(_ share: Double) -> Double {
            let place = share * Double(sorted.count - 1)
            let index = Int(place)
            let next = min(index + 1, sorted.count - 1)
            return sorted[index] + (place - Double(index)) * (sorted[next] - sorted[index])
        }
        low = quantile(0.25)
        median = quantile(0.5)
        high = quantile(0.75)
    }
}
