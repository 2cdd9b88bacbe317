import ObserverSet
import Synchronization

/// Notifying one set on two threads, and notifying it while another thread changes it.
///
/// Each sample starts new threads, but takes long compared with starting them.
enum ThreadRows {
    static var all: [Row] { [twoThreads, beingChanged] }

    /// The number of notifications of one thread in one sample.
    ///
    /// They take a few milliseconds.
    private static func passes(_ plan: Plan) -> Int { Int(plan.sampleTime) }

    /// Compares two threads that notify one set with two threads that share nothing.
    ///
    /// The baseline is needed, because two processors may be two halves of a core, which together do less than two
    /// cores.
    private static var twoThreads: Row {
        .comparing(
            "notify, N = 10, on 2 threads", to: "limit: 2 threads, a set each", reach: .throughput(atLeast: 0.85),
            needsQuiet: true
        ) { plan in
            let set = readingSet(10)
            return (notifying([set, set], plan), notifying([readingSet(10), readingSet(10)], plan))
        }
    }

    private static var beingChanged: Row {
        .comparing(
            "notify, N = 10, while another adds + removes", to: "the notifier alone",
            // A good run has 0.15 to 0.6, depending on how the threads meet. With a lock, it would be less than 0.1.
            reach: .throughput(atLeast: 0.12), needsQuiet: true
        ) { plan in
            let passes = passes(plan)
            let changed = readingSet(10)
            return (
                {
                    let isDone = Flag()
                    let notifier: @Sendable () -> Void = {
                        notify(changed, passes)
                        isDone.raise()
                    }
                    let time = together([notifier], beside: [{ change(changed, until: isDone) }])
                    return Double(time) / Double(passes)
                },
                notifying([readingSet(10)], plan)
            )
        }
    }

    // MARK: What the threads do

    private final class Flag: Sendable {
        private let value = Atomic<Bool>(false)

        var isRaised: Bool { value.load(ordering: .relaxed) }
        func raise() { value.store(true, ordering: .relaxed) }
    }

    /// Makes a set whose observers only read what they share.
    ///
    /// If the observers wrote to it, the row would measure the contention for its cache line. The function is not
    /// inlined, because copies of its closure would be merged, and then be called through a jump.
    @inline(never)
    private static func readingSet(_ count: Int) -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<count { _ = set.addNonisolated { counter.check($0) } }
        return set
    }

    /// Notifies each set on its own thread.
    private static func notifying(_ sets: [ObserverSet<Int>], _ plan: Plan) -> Sampler {
        let passes = passes(plan)
        return {
            let bodies = sets.map { set -> @Sendable () -> Void in { notify(set, passes) } }
            return Double(together(bodies)) / Double(sets.count * passes)
        }
    }

    @inline(never)
    private static func notify(_ set: ObserverSet<Int>, _ passes: Int) {
        for value in 0..<passes { set.notify(value) }
    }

    @inline(never)
    private static func change(_ set: ObserverSet<Int>, until isDone: Flag) {
        let counter = Counter()
        repeat {
            let token = set.addNonisolated { counter.check($0 &+ 1) }
            token.remove()
        } while !isDone.isRaised
    }
}
