import ObserverSet
import Synchronization

/// Races of an observer that awaits: several threads and a task notify it, while another thread removes it, or releases
/// its owner or its set, at any of its suspensions.
///
/// The observer's own counts are not atomic: since calls do not overlap, each call must see what the previous one has
/// written.
struct Awaits: Sendable {
    private let threads: Int
    private let races: Int
    private let seed: UInt64
    private let mistakes: Mistakes

    /// How many races are under way before it is checked what they leave behind.
    private static var batch: Int { 32 }

    /// Uses that many threads, at least two; the last one ends the registration.
    init(threads: Int, races: Int, seed: UInt64, _ mistakes: Mistakes) {
        self.threads = max(2, threads)
        self.races = races
        self.seed = seed
        self.mistakes = mistakes
    }

    /// Returns how many races there were.
    @discardableResult
    func run(until isOver: @escaping @Sendable () -> Bool = { false }) async -> Int {
        var seeds = SeededGenerator(seed: seed)
        var done = 0
        while done < races, !isOver() {
            let lifetimes = Lifetimes()
            let count = min(Self.batch, races - done)
            var races: [Race] = []
            for _ in 0..<count {
                races.append(Race(seed: seeds.next(), threads: threads, lifetimes: lifetimes, mistakes))
            }
            await onThreads(threads) { [races, threads] thread in
                for race in races {
                    if thread == threads - 1 { race.end() } else { race.notify(from: thread) }
                }
            }
            for race in races { await race.finish() }
            races = []
            await eventually { lifetimes.count == 0 }
            mistakes.note(.notReleased, unless: lifetimes.count == 0)
            done += count
        }
        return done
    }
}

/// One observer, from its registration to its end.
private final class Race: Sendable {
    enum Form: CaseIterable { case closure, global, owner, actorOwner }
    enum End: CaseIterable { case never, removed, removedWithAll, removedInside, ownerDies, setDies }

    private let form: Form
    private let ending: End
    private let buffering: Buffering
    private let isMerged: Bool
    private let pace: Int
    /// After how many calls the last thread acts, or at which number the observer removes itself or waits for its
    /// cancellation.
    private let moment: Int
    private let perThread: Int
    private let threads: Int
    private let lifetimes: Lifetimes
    private let mistakes: Mistakes
    private let first: Shared<ObserverSet<Item>?>
    private let second: Shared<ObserverSet<Item>?>
    private let owner = Shared<(any AnyObject & Sendable)?>(nil)
    private let token = Shared<ObserverToken?>(nil)
    private let record: CallRecord
    private let sent = Counter()
    private let isRemoved = Atomic<Bool>(false)
    /// The task that notifies and waits.
    private let waiting = Shared<Task<Void, Never>?>(nil)

    init(seed: UInt64, threads: Int, lifetimes: Lifetimes, _ mistakes: Mistakes) {
        var random = SeededGenerator(seed: seed)
        form = Form.allCases[random.below(4)]
        let ending = End.allCases[random.below(6)]
        self.ending = ending == .ownerDies && (form == .closure || form == .global) ? .removed : ending
        let room = 1 + random.below(3)
        buffering = [.unbounded, .unbounded, .newest(room), .oldest(room)][random.below(4)]
        isMerged = random.below(3) == 0
        pace = random.below(4)
        perThread = 1 + random.below(6)
        moment = 1 + random.below(perThread)
        self.threads = threads
        self.lifetimes = lifetimes
        self.mistakes = mistakes
        first = Shared(ObserverSet())
        second = Shared(isMerged ? ObserverSet() : nil)
        record = CallRecord(sources: threads)
        token.value = register()
        let yields = random.below(20)
        let priority = [TaskPriority.low, .medium, .high][random.below(3)]
        waiting.value = Task.detached(priority: priority) { [self] in
            for _ in 0..<yields { await Task.yield() }
            await notifyAndWait()
        }
    }

    private func register() -> ObserverToken {
        let first = first.value!
        guard let second = second.value else { return register(first) }
        return register(first.merge(with: second))
    }

    private func register(_ source: some NotificationSource<Item>) -> ObserverToken {
        let capture = Tracked(in: lifetimes)
        switch form {
        case .closure: return source.addAsync(buffering: buffering) { [self] in await hear($0, capture) }
        case .global: return source.addAsync(buffering: buffering) { @Clerks [self] in await hear($0, capture) }
        case .owner:
            let tracked = Tracked(in: lifetimes)
            owner.value = tracked
            return source.addAsync(tracked, buffering: buffering) { [self] owner, item in
                await hear(item, capture)
                mistakes.note(.calledWithTheDead, unless: owner.isIntact)
            }
        case .actorOwner:
            let clerk = Clerk(Tracked(in: lifetimes))
            owner.value = clerk
            return source.addAsync(clerk, buffering: buffering) { [self] (clerk: isolated Clerk, item) in
                mistakes.note(.calledWhileCalled, unless: clerk.calls == 0)
                clerk.calls += 1
                await hear(item, capture)
                clerk.calls -= 1
            }
        }
    }

    // MARK: The observer

    private func hear(_ item: Item, _ capture: Tracked) async {
        mistakes.note(.calledWhileCalled, unless: !record.isInside.exchange(true, ordering: .relaxed))
        mistakes.note(.calledWithTheDead, unless: item.tracked.isIntact && capture.isIntact)
        mistakes.note(.calledAfterRemoval, unless: !item.isLate)
        mistakes.note(.missedOrOutOfOrder, unless: item.number > record.last[item.thread])
        record.last[item.thread] = item.number
        for _ in 0..<(item.number + pace) % 4 { await Task.yield() }
        if ending == .removedInside, item.number == moment {
            // Several calls may get here, and none of them is cancelled by that.
            token.value?.remove()
            mistakes.note(.cancelledByItself, unless: !Task.isCancelled)
        }
        if ending == .removed || ending == .removedWithAll, item.number == moment {
            await cancellation()
        }
        record.isInside.store(false, ordering: .relaxed)
        record.finished.add(1, ordering: .relaxed)
    }

    // MARK: The threads

    func notify(from thread: Int) { for number in 1...perThread { notify(thread, number) } }

    private func notify(_ thread: Int, _ number: Int) {
        let isLate = isRemoved.load(ordering: .relaxed)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard let set = number % 2 == 0 && isMerged ? second.value : first.value else { return }
        set.notify(Item(thread: thread, number: number, isLate: isLate, tracked: Tracked(in: lifetimes)))
        sent.increment()
    }

    private func notifyAndWait() async {
        guard let set = first.value else { return }
        notify(threads - 1, 1)
        await set.settled()
        guard ending == .never, case .unbounded = buffering else { return }
        mistakes.note(.notSettled, unless: record.calls > 0)
    }

    /// What the last thread does.
    func end() {
        // Waits a little, so that the registration does not always end at the beginning.
        for _ in 0..<moment * 100 where record.calls < moment { continue }
        switch ending {
        case .never, .removedInside: return
        case .removed: token.value?.remove()
        case .removedWithAll:
            first.value?.removeAll()
            second.value?.removeAll()
        case .ownerDies:
            owner.value = nil
            return
        case .setDies:
            first.value = nil
            second.value = nil
            return
        }
        mistakes.note(.activeAfterRemoval, unless: token.value?.isActive == false)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        isRemoved.store(true, ordering: .relaxed)
    }

    // MARK: Afterwards

    func finish() async {
        await waiting.exchange(nil)?.value
        await first.value?.settled()
        await second.value?.settled()
        switch (ending, buffering) {
        case (.never, _):
            // Dropped values are counted, and all others have been delivered when `settled()` has returned.
            let lost = token.value?.droppedCount ?? 0
            mistakes.note(.missedOrOutOfOrder, unless: record.calls + lost == sent.value)
        case (.setDies, .unbounded):
            await eventually { record.calls == sent.value }
            mistakes.note(.missedOrOutOfOrder, unless: record.calls == sent.value)
        default: break
        }
        if ending == .setDies {
            await eventually { !record.isInside.load(ordering: .relaxed) }
        } else {
            // Not even the call of an observer that was removed is under way.
            mistakes.note(.notSettled, unless: !record.isInside.load(ordering: .relaxed))
        }
        token.value?.remove()
        token.value = nil
        owner.value = nil
        first.value = nil
        second.value = nil
    }
}

private struct Item: Sendable {
    let thread: Int
    let number: Int
    /// Whether the removal had returned before the item was notified.
    let isLate: Bool
    let tracked: Tracked
}

/// What an observer has received, by source.
private final class CallRecord: @unchecked Sendable {
    var last: [Int]
    let isInside = Atomic<Bool>(false)
    let finished = Atomic<Int>(0)

    var calls: Int { finished.load(ordering: .relaxed) }

    init(sources: Int) { last = Array(repeating: 0, count: sources) }
}

private actor Clerk {
    private let life: Tracked
    var calls = 0

    init(_ life: Tracked) { self.life = life }
}

@globalActor private actor Clerks {
    static let shared = Clerks()
}
