import Foundation

/// The stress program, which runs what the options ask for, and exits with 1 if an expectation didn't hold.
///
///     swift run -c release --package-path Tools/Stress --sanitize=thread \
///         -Xswiftc -DOBSERVERSET_TSAN Stress --deliveries 10000000
///
/// `Core/Support/Lock.swift` explains `OBSERVERSET_TSAN`. If you give the same seed, each thread decides the
/// same, but the threads interleave in another way.
@main
enum Stress {
    static func main() {
        guard let options = Options(CommandLine.arguments.dropFirst()) else {
            say(Options.usage)
            exit(2)
        }
        // `main` isn't asynchronous, because then the first thread would end while the process goes on, which crashes
        // valgrind.
        Task { await run(options) }
        RunLoop.main.run()
    }

    private static func run(_ options: Options) async {
        say("seed \(options.seed)")
        let mistakes = Mistakes()
        if let operations = options.growth {
            await Growth(operations: operations, seed: options.seed, mistakes: mistakes).run()
        } else {
            await storms(options, mistakes)
        }
        let list = mistakes.list
        say(list.isEmpty ? "all held" : "did not hold: \(list.map { "\($0)" }.joined(separator: ", "))")
        exit(list.isEmpty ? 0 : 1)
    }

    private static func storms(_ options: Options, _ mistakes: Mistakes) async {
        watch(options.seconds)
        var total = 0
        for threads in options.threads {
            let share = options.deliveries / options.threads.count
            let seconds = options.seconds.map { $0 / Double(options.threads.count) }
            let began = Date()
            if threads > 1 {
                let deadline = Deadline(seconds.map { $0 / 2 })
                await Meetings(threads: threads, rounds: min(20_000, share / 50 / threads), mistakes)
                    .run { deadline.isOver }
            }
            await Hops(threads: threads, deliveries: share / 4, mistakes).run()
            let limit = Deadline(seconds.map { $0 / 2 })
            await Awaits(threads: threads, races: min(10_000, share / 100), seed: options.seed, mistakes)
                .run { limit.isOver }
            await Streams(races: min(2_000, share / 100), seed: options.seed, mistakes: mistakes).run { limit.isOver }
            let deadline = Deadline(seconds)
            let storm = Storm(threads: threads, deliveries: share, seed: options.seed, mistakes)
            let deliveries = await storm.run { deadline.isOver }
            total += deliveries
            let time = Date().timeIntervalSince(began)
            say("threads \(threads): \(deliveries) deliveries in \(time.formatted(digits: 1)) s")
        }
        say("total: \(total) deliveries")
    }

    /// Ends the program if it hangs.
    ///
    /// It waits for twice the given time and a minute, because the program may only be slow.
    private static func watch(_ seconds: Double?) {
        guard let seconds else { return }
        Thread.detachNewThread {
            Thread.sleep(forTimeInterval: 2 * seconds + 60)
            say("did not hold: the threads wait for ever")
            exit(1)
        }
    }
}
