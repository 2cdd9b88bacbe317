import Dispatch

/// Takes one sample: the time of one operation, in nanoseconds.
typealias Sampler = () -> Double

/// The time, in nanoseconds.
func now() -> UInt64 {
    DispatchTime.now().uptimeNanoseconds
}

/// Samples a loop, which is passed how often to repeat the operation.
func loop(_ plan: Plan, _ body: @escaping (Int) -> Void) -> Sampler {
    // The first runs only find out how many repetitions fill a sample, and warm up.
    var repetitions = 1
    while true {
        let start = now()
        body(repetitions)
        if now() - start >= plan.sampleTime { break }
        repetitions *= 2
    }
    return {
        let start = now()
        body(repetitions)
        return Double(now() - start) / Double(repetitions)
    }
}

/// Takes samples of both in turn, A B A B and so on: whatever slows the machine down for a while slows down both.
func interleaved(_ measured: Sampler, _ baseline: Sampler, for time: UInt64) -> [Outcome.Pair] {
    // Thrown away: it warms up.
    _ = measured()
    _ = baseline()
    var pairs: [Outcome.Pair] = []
    let start = now()
    repeat {
        let first = measured()
        let second = baseline()
        pairs.append(Outcome.Pair(measured: first, baseline: second))
    } while pairs.count < 3 || now() - start < time
    return pairs
}

/// What lies in the middle, and how far a quarter of the samples lies from it on either side.
struct Quartiles {
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
