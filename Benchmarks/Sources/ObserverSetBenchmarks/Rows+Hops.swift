import Dispatch
import Foundation
import ObserverSet

/// Notifying an observer that belongs to another actor, from one thread.
///
/// The time is measured from the first notification to the last delivery or, if calls are awaited, to the end of the
/// last call.
enum HopRows {
    static var all: [Row] {
        [
            // A good run has 0.12 to 0.16. With a task for each value, it would be 1.
            .comparing(
                "notify to another actor, 1 producer", to: "a Task { } for each value", reach: .time(atMost: 0.25)
            ) { plan in
                // A sample takes long compared with the time that a busy machine needs to wake the receiver.
                let count = Int(plan.sampleTime / 10)
                return (posting(count), launching(count))
            },
            .comparing(
                "burst of 2000 to ten observers of one actor", to: "a Task { } for each value and observer",
                reach: .time(atMost: 0.15)
            ) { _ in
                (postingToTen(2_000), launching(20_000))
            },
            .comparing(
                "burst of 10000 from a thread to an owner on the main actor",
                to: "`DispatchQueue.main.async` in its callback",
                reach: .time(atMost: 0.65)
            ) { _ in
                MainActor.assumeIsolated { Unchecked((hoppingToMain(10_000), dispatchingToMain(10_000))) }.value
            },
            // A good run has 0.26 to 0.4. With a task for each value, it would be 1.
            .comparing(
                "notify to an observer that awaits", to: "a Task { } for each value", reach: .time(atMost: 0.5)
            ) { plan in
                let count = Int(plan.sampleTime / 10)
                return (awaiting(count), launching(count))
            },
            .comparing(
                "burst of 10000 to an observer that awaits once each", to: "`AsyncStream`, `for await` on the actor",
                reach: .time(atMost: 1.2)
            ) { _ in
                (bursting(10_000), streaming(10_000))
            },
        ]
    }

    /// The actor that receives the values.
    private actor Sink {
        private let expected: Int
        private let done = DispatchSemaphore(value: 0)
        private var received = 0

        init(expecting count: Int) {
            expected = count
        }

        func receive(_ value: Int) {
            received += 1
            guard received == expected else { return }
            received = 0
            done.signal()
        }

        /// Handles a value in a call that suspends once.
        func work(on value: Int) async {
            await Self.elsewhere(value)
            receive(value)
        }

        private nonisolated static func elsewhere(_ value: Int) async {
            await Task.yield()
        }

        func loop(over stream: AsyncStream<Int>) async {
            for await value in stream { await work(on: value) }
        }

        /// Blocks until all expected values have been received.
        nonisolated func wait() {
            done.wait()
        }
    }

    private static func posting(_ count: Int) -> Sampler {
        notifying(count) { set, sink in set.add(sink) { sink, value in sink.receive(value) } }
    }

    private static func postingToTen(_ count: Int) -> Sampler {
        let sink = Sink(expecting: 10 * count)
        let set = ObserverSet<Int>()
        for _ in 0..<10 { set.add(sink) { sink, value in sink.receive(value) } }
        let notification = timing(count, sink) { value in set.notify(value) }
        return { notification() / 10 }
    }

    private static func launching(_ count: Int) -> Sampler {
        let sink = Sink(expecting: count)
        return timing(count, sink) { value in
            Task { await sink.receive(value) }
        }
    }

    private static func awaiting(_ count: Int) -> Sampler {
        notifying(count) { set, sink in set.addAsync(sink) { sink, value in sink.receive(value) } }
    }

    private static func bursting(_ count: Int) -> Sampler {
        notifying(count) { set, sink in set.addAsync(sink) { sink, value in await sink.work(on: value) } }
    }

    private static func streaming(_ count: Int) -> Sampler {
        let sink = Sink(expecting: count)
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let end = EndOfStream(continuation)
        Task.detached { await sink.loop(over: stream) }
        return timing(count, sink) { value in end.continuation.yield(value) }
    }

    private static func notifying(_ count: Int, _ observe: (ObserverSet<Int>, Sink) -> ObserverToken) -> Sampler {
        let sink = Sink(expecting: count)
        let set = ObserverSet<Int>()
        _ = observe(set, sink)
        return timing(count, sink) { value in set.notify(value) }
    }

    private static func timing(_ count: Int, _ sink: Sink, _ send: @escaping (Int) -> Void) -> Sampler {
        {
            let start = now()
            for value in 0..<count { send(value) }
            sink.wait()
            return Double(now() - start) / Double(count)
        }
    }

    // MARK: On the main actor, whose jobs the main thread runs while it waits

    /// The receiver on the main actor.
    @MainActor private final class MainSink {
        private let expected: Int
        private var received = 0

        init(expecting count: Int) {
            expected = count
        }

        func receive(_ value: Int) { received += 1 }

        func wait() {
            while received < expected { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
            received = 0
        }
    }

    @MainActor private static func hoppingToMain(_ count: Int) -> Sampler {
        let sink = MainSink(expecting: count)
        let set = ObserverSet<Int>()
        set.add(sink) { sink, value in sink.receive(value) }
        return timingFromThread(count, sink, set)
    }

    @MainActor private static func dispatchingToMain(_ count: Int) -> Sampler {
        let sink = MainSink(expecting: count)
        let set = ObserverSet<Int>()
        set.addNonisolated(sink) { sink, value in
            DispatchQueue.main.async { sink.receive(value) }
        }
        return timingFromThread(count, sink, set)
    }

    @MainActor private static func timingFromThread(_ count: Int, _ sink: MainSink, _ set: ObserverSet<Int>) -> Sampler
    {
        {
            MainActor.assumeIsolated {
                let start = now()
                Thread.detachNewThread { for value in 0..<count { set.notify(value) } }
                sink.wait()
                return Double(now() - start) / Double(count)
            }
        }
    }
}
