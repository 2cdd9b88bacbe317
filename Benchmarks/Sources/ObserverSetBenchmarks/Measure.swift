import Dispatch

/// Takes one sample: the time of one operation, in nanoseconds.
typealias Sampler = () -> Double

/// The current time, in nanoseconds.
func now() -> UInt64 {
    DispatchTime.now().uptimeNanoseconds
}

/// Makes a sampler of a loop, which receives the number of repetitions.
func loop(_ plan: Plan, _ body: @escaping (Int) -> Void) -> Sampler {
    let repetitions = repetitions(filling: plan.sampleTime, body)
    return {
        let start = now()
        body(repetitions)
        return Double(now() - start) / Double(repetitions)
    }
}

/// Determines how many repetitions take the given time, and thereby warms up the code.
func repetitions(filling time: UInt64, _ body: (Int) -> Void) -> Int {
    var repetitions = 1
    while true {
        let start = now()
        body(repetitions)
        if now() - start >= time { return repetitions }
        repetitions *= 2
    }
}

/// Takes samples in turn, A B A B and so on, so that anything that slows down the machine for a while affects all
/// samplers.
///
/// - Returns: The samples of each sampler, which are equally many.
func interleaved(_ samplers: [Sampler], for time: UInt64) -> [[Double]] {
    // The first samples only warm up the code, and are discarded.
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
