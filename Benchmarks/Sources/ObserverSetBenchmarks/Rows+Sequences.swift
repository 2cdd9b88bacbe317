import Dispatch
import ObserverSet

/// Sending to one consumer that waits in a `for await` loop.
///
/// The time is measured from the first element that is sent to the last one that is received.
enum SequenceRows {
    static var all: [Row] {
        [
            // A good run has 1.08 to 1.15. With a buffer in front of the stream's own buffer, it would be 2.
            .comparing(
                "`values()`: notify to one waiting consumer, per element", to: "`AsyncStream` yield",
                reach: .time(atMost: 1.3)
            ) { plan in
                // A sample takes long compared with the time that a busy machine needs to wake the receiver.
                let count = Int(plan.sampleTime / 10)
                return (notifying(count), yielding(count))
            },
            // Nobody iterates over the stream. Once its buffer is full, each element drops an older one.
            .comparing(
                "`values(buffering: .newest(10))`, full: notify, per element", to: "`AsyncStream` yield",
                reach: .time(atMost: 1.5)
            ) { _ in (notifyingFull(), yieldingIntoFull()) },
        ]
    }

    /// Counts the elements that arrive, and signals when all expected ones have arrived.
    private struct Arrivals {
        let expected: Int
        let done: DispatchSemaphore
        private var received = 0

        init(expecting count: Int, _ done: DispatchSemaphore) {
            expected = count
            self.done = done
        }

        mutating func count() {
            received += 1
            guard received == expected else { return }
            received = 0
            done.signal()
        }
    }

    private static func notifying(_ count: Int) -> Sampler {
        let set = ObserverSet<Int>()
        let done = DispatchSemaphore(value: 0)
        Task.detached { [values = set.values()] in
            var arrivals = Arrivals(expecting: count, done)
            for await _ in values { arrivals.count() }
        }
        return {
            let start = now()
            for value in 0..<count { set.notify(value) }
            done.wait()
            return Double(now() - start) / Double(count)
        }
    }

    private static func notifyingFull() -> Sampler {
        let set = ObserverSet<Int>()
        let full = set.values(buffering: .newest(10))
        return timingEach { value in withExtendedLifetime(full) { set.notify(value) } }
    }

    private static func yieldingIntoFull() -> Sampler {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(10))
        return timingEach { value in withExtendedLifetime(stream) { _ = continuation.yield(value) } }
    }

    private static func timingEach(_ send: @escaping (Int) -> Void) -> Sampler {
        {
            let count = 1_000
            let start = now()
            for value in 0..<count { send(value) }
            return Double(now() - start) / Double(count)
        }
    }

    private static func yielding(_ count: Int) -> Sampler {
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let end = EndOfStream(continuation)
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            var arrivals = Arrivals(expecting: count, done)
            for await _ in stream { arrivals.count() }
        }
        return {
            let start = now()
            for value in 0..<count { end.continuation.yield(value) }
            done.wait()
            return Double(now() - start) / Double(count)
        }
    }
}

/// Finishes the stream when the sampler is released, just as a set finishes its streams when it is deallocated.
final class EndOfStream: Sendable {
    let continuation: AsyncStream<Int>.Continuation

    init(_ continuation: AsyncStream<Int>.Continuation) {
        self.continuation = continuation
    }

    deinit { continuation.finish() }
}
