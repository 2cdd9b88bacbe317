import ObserverSet
import Testing

/// Random operations on an observer that awaits, compared with a model that is too simple to be wrong.
///
/// The observer is registered in two sets. Each call waits until it is let through, so that after each operation it is
/// known what must have happened.
@Suite("A model of an observer that awaits", .lifetimesChecked, .againstHanging)
struct AwaitingModelTests {
    @Test(
        "Random operations have the outcome that the model predicts",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3)] as [Buffering])
    func operationsAgree(_ buffering: Buffering) async {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<many(2_000, long: 200_000) {
            let tested = Tested(buffering)
            var model = Model(buffering)
            var operations: [String] = []
            for _ in 0..<30 {
                let source = random.below(2)
                switch random.below(16) {
                case 0..<8:
                    operations.append("notify \(source)")
                    model.notify(source)
                    tested.notify(source)
                case 8..<12:
                    operations.append("let on")
                    guard model.letOn() else { continue }
                    tested.door.letOnOne()
                case 12..<15:
                    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { continue }
                    operations.append("wait")
                    tested.wait(for: model.wait())
                default:
                    operations.append("remove \(source)")
                    model.remove(source)
                    tested.tokens[source].remove()
                }
                await eventually { tested.outcome == model.outcome }
                expect(tested.outcome, equals: model.outcome, "seed \(seed), \(buffering): \(operations)")
                if tested.outcome != model.outcome { break }
            }
            await tested.end()
        }
    }
}

/// What a test can see of the observer.
private struct Outcome: Equatable {
    /// What it has been called with so far, and whether the call is under way.
    var called: [Int] = []
    var isInside = false
    /// How many values are alive, and how many of each source have been dropped.
    var living = 0
    var dropped = [0, 0]
    /// How many waits for `settled()` have ended.
    var settled = 0
}

private final class Tested: Sendable {
    let door = Door()
    let tokens: [ObserverToken]
    private let sets = [ObserverSet<Tracked>(), ObserverSet<Tracked>()]
    private let lifetimes = Lifetimes()
    private let called = Log<Int>()
    private let number = Counter()
    private let settled = Counter()
    private let waiting = Log<Task<Void, Never>>()

    init(_ buffering: Buffering) {
        let (first, second) = addInBoth(sets[0], sets[1], buffering: buffering) { [door, called] value in
            called.append(value.value)
            await door.pass()
        }
        tokens = [first, second]
    }

    func notify(_ source: Int) { sets[source].notify(Tracked(number.increment(), in: lifetimes)) }

    /// The task is already waiting when this returns, since it begins at once, on this thread.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    func wait(for source: Int) {
        waiting.append(
            Task.immediateDetached { [set = sets[source], settled] in
                await set.settled()
                settled.increment()
            })
    }

    var outcome: Outcome {
        Outcome(
            called: called.entries, isInside: door.waiting == 1, living: lifetimes.count,
            dropped: tokens.map { $0.droppedCount }, settled: settled.value)
    }

    func end() async {
        tokens.forEach { $0.remove() }
        door.open()
        for task in waiting.entries { await task.value }
        await eventually { lifetimes.count == 0 }
        expect(lifetimes.count, equals: 0)
    }
}

private struct Model {
    private struct Job {
        let source: Int
        let number: Int
    }

    private let buffering: Buffering
    private var number = 0
    private var current: Job?
    private var jobs: [Job] = []
    private var waiters: [Int] = []
    private var isActive = [true, true]
    private var called: [Int] = []
    private var dropped = [0, 0]
    private var settled = 0

    init(_ buffering: Buffering) {
        self.buffering = buffering
    }

    var outcome: Outcome {
        Outcome(
            called: called, isInside: current != nil, living: jobs.count + (current == nil ? 0 : 1),
            dropped: isActive.indices.map { isActive[$0] ? dropped[$0] : 0 }, settled: settled)
    }

    mutating func notify(_ source: Int) {
        number += 1
        guard isActive[source] else { return }
        let job = Job(source: source, number: number)
        switch buffering {
        case .oldest(let room) where jobs.count == room:
            dropped[source] += 1
        case .newest(let room) where jobs.count == room:
            dropped[jobs.removeFirst().source] += 1
            jobs.append(job)
        default:
            jobs.append(job)
        }
        goOn()
    }

    /// Lets the current call return; returns whether there was one.
    mutating func letOn() -> Bool {
        guard current != nil else { return false }
        current = nil
        goOn()
        return true
    }

    /// Returns the source for which to wait: one that has the observer or, if none has, the one whose value it is being
    /// called with.
    mutating func wait() -> Int {
        let source = isActive.firstIndex(of: true) ?? current?.source ?? 0
        waiters.append(number)
        goOn()
        return source
    }

    mutating func remove(_ source: Int) {
        isActive[source] = false
        jobs.removeAll { $0.source == source }
        goOn()
    }

    private mutating func goOn() {
        let left = waiters.filter { last in
            ([current] + jobs).contains { $0.map { $0.number <= last } ?? false }
        }
        settled += waiters.count - left.count
        waiters = left
        guard current == nil, !jobs.isEmpty else { return }
        current = jobs.removeFirst()
        called.append(current!.number)
    }
}
