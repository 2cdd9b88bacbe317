import Dispatch
import Foundation
import ObserverSet
import Synchronization

/// Eight threads that use one set, one actor or one queue, or that use one of their own each.
///
/// There are eight threads on every machine. On two processors, the system often interrupts a thread while it holds
/// what all the others need, which shows as much as sixteen processors would. The targets depend on the number of
/// processors: see `reach`.
///
/// The time of one operation is the time of all threads together, divided by the number of their operations.
enum ContentionRows {
    static var all: [Row] { posts + awaitedPosts + queues + changes + notifications + locks }

    private static let threads = 8

    /// The target for a throughput: one for two processors, another for sixteen or more, and in proportion in between.
    private static func reach(onTwo few: Double, onSixteen many: Double) -> Reach {
        let processors = ProcessInfo.processInfo.activeProcessorCount
        let share = min(max(Double(processors - 2) / 14, 0), 1)
        return .throughput(atLeast: ((few + share * (many - few)) * 100).rounded() / 100)
    }

    // MARK: Posts

    private static var posts: [Row] {
        let name = "post to one actor, 8 threads"
        return [
            .comparing(name, to: "`DispatchQueue.async`, 8 threads", reach: reach(onTwo: 0.5, onSixteen: 0.3)) { plan in
                (posting(threads, plan), dispatching(threads, plan))
            },
            .comparing(name, to: "on 1 thread", reach: reach(onTwo: 0.5, onSixteen: 0.35)) { plan in
                (posting(threads, plan), posting(1, plan))
            },
        ]
    }

    private static var awaitedPosts: [Row] {
        [
            .comparing(
                "post to an observer that awaits, 8 threads", to: "on 1 thread", reach: .throughput(atLeast: 0.5)
            ) { plan in (awaiting(threads, plan), awaiting(1, plan)) }
        ]
    }

    private static var queues: [Row] {
        [
            .comparing("post to a queue, 8 threads", to: "on 1 thread", reach: .throughput(atLeast: 0.5)) { plan in
                (enqueuing(threads, plan), enqueuing(1, plan))
            }
        ]
    }

    /// Counts the values that arrive.
    ///
    /// The receiver, which may be an actor or a queue, receives one after the other.
    private final class Arrivals: @unchecked Sendable {
        private let expected: Int
        private let done = DispatchSemaphore(value: 0)
        private var received = 0

        init(expecting count: Int) {
            expected = count
        }

        func note() {
            received += 1
            guard received == expected else { return }
            received = 0
            done.signal()
        }

        /// Blocks until all expected values have arrived.
        func wait() { done.wait() }
    }

    private actor Sink {
        private let arrivals: Arrivals

        init(_ arrivals: Arrivals) {
            self.arrivals = arrivals
        }

        func receive(_ value: Int) { arrivals.note() }
    }

    private static func posting(_ threads: Int, _ plan: Plan) -> Sampler {
        sending(threads, plan) { arrivals in
            let set = ObserverSet<Int>()
            let sink = Sink(arrivals)
            set.add(sink) { sink, value in sink.receive(value) }
            return { value in withExtendedLifetime(sink) { set.notify(value) } }
        }
    }

    private static func awaiting(_ threads: Int, _ plan: Plan) -> Sampler {
        sending(threads, plan) { arrivals in
            let set = ObserverSet<Int>()
            let sink = Sink(arrivals)
            set.addAsync(sink) { sink, value in sink.receive(value) }
            return { value in withExtendedLifetime(sink) { set.notify(value) } }
        }
    }

    private static func enqueuing(_ threads: Int, _ plan: Plan) -> Sampler {
        sending(threads, plan) { arrivals in
            let set = ObserverSet<Int>()
            _ = set.addNonisolated(on: DispatchQueue(label: "receiver")) { _ in arrivals.note() }
            return { value in set.notify(value) }
        }
    }

    private static func dispatching(_ threads: Int, _ plan: Plan) -> Sampler {
        sending(threads, plan) { arrivals in
            let queue = DispatchQueue(label: "receiver")
            return { _ in queue.async { arrivals.note() } }
        }
    }

    /// Makes a sampler of the time from when the threads begin to send until the last value has arrived.
    private static func sending(
        _ threads: Int, _ plan: Plan, to receiver: (Arrivals) -> @Sendable (Int) -> Void
    ) -> Sampler {
        // There are enough values for the threads to interrupt each other.
        let total = Self.threads * Int(plan.sampleTime / 30)
        let arrivals = Arrivals(expecting: total)
        let send = receiver(arrivals)
        let body: @Sendable () -> Void = { for value in 0..<total / threads { send(value) } }
        return {
            let sending = together(Array(repeating: body, count: threads))
            let sent = now()
            arrivals.wait()
            return Double(sending + now() - sent) / Double(total)
        }
    }

    // MARK: Changes

    private static var changes: [Row] {
        [
            // A good run has 0.22 to 0.41. With a lock that is handed to a sleeping thread, it is 0.01.
            .comparing(
                "add + remove, 8 threads, one set", to: "on 1 thread", reach: reach(onTwo: 0.15, onSixteen: 0.08)
            ) { plan in
                let set = ObserverSet<Int>()
                return (changing(threads, plan) { set }, changing(1, plan) { ObserverSet() })
            },
            .comparing(
                "add + remove, 8 threads, a set each", to: "on 1 thread", reach: reach(onTwo: 1.4, onSixteen: 5),
                needsQuiet: true
            ) { plan in (changing(threads, plan) { ObserverSet() }, changing(1, plan) { ObserverSet() }) },
            .comparing(
                "add + remove on an actor, 8 threads, an actor and a set each", to: "on 1 thread",
                reach: reach(onTwo: 1.2, onSixteen: 4), needsQuiet: true
            ) { plan in (changingOnActors(threads, plan), changingOnActors(1, plan)) },
        ]
    }

    private static func changing(_ threads: Int, _ plan: Plan, _ set: () -> ObserverSet<Int>) -> Sampler {
        // Each thread has a counter of its own. Each observer retains the counter that it captures, so with only one
        // counter the threads would contend for its reference count.
        acting((0..<threads).map { _ in (set(), Counter()) }, plan) { set, counter in
            set.addNonisolated { counter.check($0) }.remove()
        }
    }

    private static func changingOnActors(_ threads: Int, _ plan: Plan) -> Sampler {
        acting((0..<threads).map { _ in Place() }, plan) { place in
            place.set.add(place.sink) { sink, value in sink.receive(value) }.remove()
        }
    }

    /// An actor, and a set that it observes.
    private final class Place: Sendable {
        let sink = Sink(Arrivals(expecting: 0))
        let set = ObserverSet<Int>()
    }

    // MARK: Notifications

    private static var notifications: [Row] {
        [
            .comparing(
                "notify, N = 10, 8 threads", to: "on 1 thread", reach: reach(onTwo: 1.4, onSixteen: 2), needsQuiet: true
            ) { plan in
                let set = readingSet()
                return (notifying(threads, plan) { set }, notifying(1, plan) { readingSet() })
            }
        ]
    }

    private static func notifying(_ threads: Int, _ plan: Plan, _ set: () -> ObserverSet<Int>) -> Sampler {
        acting((0..<threads).map { _ in set() }, plan) { set in set.notify(1) }
    }

    /// Makes a set whose observers only read what they share.
    ///
    /// The function is not inlined, because copies of its closure would be merged, and then be called through a jump.
    @inline(never)
    private static func readingSet() -> ObserverSet<Int> {
        let set = ObserverSet<Int>()
        let counter = Counter()
        for _ in 0..<10 { _ = set.addNonisolated { counter.check($0) } }
        return set
    }

    /// Makes a sampler in which each target has a thread that repeatedly acts on it.
    ///
    /// A sample takes so long that the threads interrupt each other.
    private static func acting<Target: Sendable>(
        _ targets: [Target], _ plan: Plan, _ act: @escaping @Sendable (Target) -> Void
    ) -> Sampler {
        {
            let tally = Tally()
            let bodies = targets.map { target -> @Sendable () -> Void in
                {
                    var count = 0
                    repeat {
                        for _ in 0..<32 { act(target) }
                        count += 32
                    } while !tally.isOver.load(ordering: .relaxed)
                    tally.count.wrappingAdd(count, ordering: .relaxed)
                }
            }
            let time = together(
                bodies,
                beside: [
                    {
                        usleep(UInt32(plan.roundTime / 5000))
                        tally.isOver.store(true, ordering: .relaxed)
                    }
                ])
            return Double(time) / Double(tally.count.load(ordering: .relaxed))
        }
    }

    private final class Tally: Sendable {
        let isOver = Atomic<Bool>(false)
        let count = Atomic<Int>(0)
    }

    // MARK: Locks

    #if canImport(Glibc)
    /// Rows that show when the library no longer needs a lock of its own on Linux.
    ///
    /// Its `Lock.swift` says why it has one.
    private static var locks: [Row] {
        [
            .comparing(
                "a lock, 8 threads: `Mutex`", to: "adaptive pthread mutex; `Lock` needs none from 0.8 × on",
                reach: .toldThroughput
            ) { plan in
                let standard = Locked(), system = SystemLocked()
                return (
                    acting(Array(repeating: standard, count: threads), plan) { $0.step() },
                    acting(Array(repeating: system, count: threads), plan) { $0.step() }
                )
            }
        ]
    }

    /// The work of a critical section that is as short as the library's.
    private struct Work {
        private var count = 0
        private var words: InlineArray<4, Int> = [0, 0, 0, 0]

        mutating func step() {
            count &+= 1
            words[count & 3] &+= count
            words[(count &+ 1) & 3] &+= 1
        }
    }

    private final class Locked: Sendable {
        private let work = Mutex(Work())

        func step() { work.withLock { $0.step() } }
    }

    private final class SystemLocked: @unchecked Sendable {
        private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        private var work = Work()

        init() {
            mutex.initialize(to: pthread_mutex_t())
            mutex.pointee.__data.__kind = Int32(PTHREAD_MUTEX_ADAPTIVE_NP)
        }

        func step() {
            pthread_mutex_lock(mutex)
            work.step()
            pthread_mutex_unlock(mutex)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }
    }
    #else
    private static var locks: [Row] { [] }
    #endif
}
