import Foundation
import ObserverSet

/// Notifying an observer on the main actor from another thread, outside any task.
///
/// On Linux the library asks the system whether it is on the main thread, until the main thread itself has asked once and is
/// known. That state belongs to the process, and other rows change it. So this row starts the program anew: in one process
/// the main thread never asks, in the other it asks first.
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

    /// The argument that makes the program print samples, and do nothing else; the next is whether the main thread asks, and
    /// the last for how many nanoseconds.
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

    /// What the other process does.
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

    /// The time of one notification on a thread.
    ///
    /// The main thread waits meanwhile, and receives all values afterwards.
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
