import Foundation
import ObserverSet

/// Notifying an observer on the main actor from another thread, outside any task.
///
/// To know whether it is on the main thread, the library on Linux must ask the system, until it has been called on the
/// main thread once and has noted that thread. That state belongs to the process, and other rows change it. So this row
/// starts the program anew, in two processes: in one, the library is never called on the main thread, in the other it
/// is called there first.
enum MainThreadRows {
    static var all: [Row] {
        [
            Row(
                name: "notify an owner on the main actor from a thread, main thread unknown",
                baseline: "the same, once it has asked", reach: .told(unit: "ns")
            ) { plan in
                var pairs: [Outcome.Pair] = []
                for _ in 0..<min(5, plan.rounds) {
                    let (unknown, known) = (samples(asking: false, plan), samples(asking: true, plan))
                    pairs += zip(unknown, known).map { Outcome.Pair(measured: $0, baseline: $1) }
                }
                return .pairs(pairs)
            }
        ]
    }

    /// The argument that makes the program only print samples.
    ///
    /// The next argument says whether the main thread asks first, and the last one for how many nanoseconds to measure.
    static let argument = "--notify-from-thread"

    private static func samples(asking: Bool, _ plan: Plan) -> [Double] {
        let (program, output) = (Process(), Pipe())
        program.executableURL = Bundle.main.executableURL
        program.arguments = [argument, "\(asking)", "\(plan.roundTime)"]
        program.standardOutput = output
        do { try program.run() } catch { fatalError("the program could not be started again: \(error)") }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        program.waitUntilExit()
        return text.split(separator: "\n").compactMap { Double($0) }
    }

    /// Prints the samples, in the other process.
    static func printSamples(_ arguments: some Sequence<String>) {
        let arguments = Array(arguments)
        let (count, time) = (1_000, UInt64(arguments[1])!)
        let set = ObserverSet<Int>()
        let receiver = MainActor.assumeIsolated {
            let receiver = Receiver()
            set.add(receiver) { receiver, _ in receiver.received += 1 }
            return receiver
        }
        if arguments[0] == "true" { notify(set, 1) }
        let samples = interleaved([{ sample(set, receiver, count) }], for: time)[0]
        tell(samples.map { "\($0)" }.joined(separator: "\n"))
    }

    @MainActor private final class Receiver {
        var received = 0
    }

    /// The time of one notification on another thread.
    ///
    /// The main thread waits for that thread, and then receives all values.
    private static func sample(_ set: ObserverSet<Int>, _ receiver: Receiver, _ count: Int) -> Double {
        let time = together([{ notify(set, count) }])
        MainActor.assumeIsolated {
            receiver.received = 0
            while receiver.received < count { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
        }
        return Double(time) / Double(count)
    }

    @inline(never)
    private static func notify(_ set: ObserverSet<Int>, _ repetitions: Int) {
        for value in 0..<repetitions { set.notify(value) }
    }
}
