import Dispatch
import ObserverSet

/// Threads, an actor and the main actor notify several sets by turns, while other observers are added and removed.
///
/// An actor and a queue that only observe must receive what a thread notifies in that thread's order, over all sets. Where
/// something notifies, it delivers what waits for the observers of a set before its own value, ahead of what waits for those
/// of other sets; so the order holds for each set there.
struct Hops: Sendable {
    private let threads: Int
    private let perSource: Int
    private let mistakes: Mistakes
    private let sets = (0..<4).map { _ in ObserverSet<Numbered>() }
    private let lifetimes = Lifetimes()

    /// Makes about that many deliveries, counted over all observers that stay.
    init(threads: Int, deliveries: Int, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        perSource = max(8, deliveries / 4 / (threads + 2))
    }

    func run() async {
        let sources = threads + 2
        let (hearer, notifier, queue) = (Porter(), Porter(), DispatchQueue(label: "stress"))
        // The last source is the echo of the first.
        let received = (0..<4).map { Received(sources: sources + 1, sets: $0 < 2 ? 1 : sets.count) }
        for (index, set) in sets.enumerated() {
            set.add(hearer) { (_: isolated Porter, value) in received[0].receive(value, from: 0) }
            set.addNonisolated(on: queue, received[1]) { received, value in received.receive(value, from: 0) }
            set.add(received[2]) { @MainActor received, value in received.receive(value, from: index) }
            set.add(notifier) { [weak set] (_: isolated Porter, value) in
                received[3].receive(value, from: index)
                // Notified inside a delivery, so it is enqueued behind the values of that delivery.
                if value.source == 0, value.number % 8 == 0 {
                    set?.notify(Numbered(source: sources, number: value.number / 8))
                }
            }
        }

        async let fromActor: Void = notify(from: threads, isolation: notifier)
        async let fromMain: Void = notify(from: threads + 1, isolation: MainActor.shared)
        await onThreads(threads) { index in
            var visitors = Visitors(
                set: sets[0], queue: queue, actor: notifier, lifetimes: lifetimes, mistakes: mistakes,
                generator: SeededGenerator(seed: UInt64(index)), owner: Tracked(in: lifetimes))
            for number in 1...perSource {
                notify(number, from: index)
                if number % 16 == 0 { visitors.comeOrGo() }
            }
            for token in visitors.tokens { token.remove() }
        }
        await fromActor
        await fromMain
        // Echoes are sent until all values that were sent before have been delivered, hence the second time.
        for set in sets + sets { await set.settled() }

        let complete = Array(repeating: perSource, count: sources) + [perSource / 8]
        // Each where it was received, which orders this after the calls.
        await hearer.perform { received[0].check(complete, mistakes) }
        queue.sync { received[1].check(complete, mistakes) }
        await MainActor.run { received[2].check(complete, mistakes) }
        await notifier.perform { received[3].check(complete, mistakes) }
        mistakes.note(.wrongCount, unless: sets.allSatisfy { $0.count == 4 })
        // A drain that has delivered its last value may still be releasing it.
        await eventually { lifetimes.count == 0 }
        mistakes.note(.notReleased, unless: lifetimes.count == 0)
    }

    /// Notifies on that actor, and lets other jobs run there in between.
    private func notify(from source: Int, isolation: isolated any Actor) async {
        for number in 1...perSource {
            notify(number, from: source)
            if number % 64 == 0 { await Task.yield() }
        }
    }

    private func notify(_ number: Int, from source: Int, isolation: isolated (any Actor)? = #isolation) {
        sets[(number &* 7 + source) % sets.count].notify(Numbered(source: source, number: number))
    }
}

/// The number of a notification among those of its source, from 1.
private struct Numbered: Sendable {
    let source: Int
    let number: Int
}

/// What an observer has received.
///
/// It is not protected by a lock, so that the thread sanitizer reports a race if the sets do not order the calls.
private final class Received: @unchecked Sendable {
    /// How many values of each source.
    private var counts: [Int]
    private var isInOrder = true
    /// The last number of each source, by set.
    private var last: [[Int]]

    init(sources: Int, sets: Int) {
        counts = Array(repeating: 0, count: sources)
        last = Array(repeating: counts, count: sets)
    }

    func receive(_ value: Numbered, from set: Int) {
        counts[value.source] += 1
        if value.number <= last[set][value.source] { isInOrder = false }
        last[set][value.source] = value.number
    }

    func check(_ complete: [Int], _ mistakes: Mistakes) {
        mistakes.note(.overtaken, unless: isInOrder)
        mistakes.note(.missedOrOutOfOrder, unless: counts == complete)
    }
}

private actor Porter {
    func perform(_ body: @Sendable () -> Void) { body() }
}

/// Observers that one thread adds and removes, or leaves to end with their owners.
private struct Visitors {
    let set: ObserverSet<Numbered>
    let queue: DispatchQueue
    let actor: Porter
    let lifetimes: Lifetimes
    let mistakes: Mistakes
    var generator: SeededGenerator
    var owner: Tracked
    var tokens: [ObserverToken] = []

    mutating func comeOrGo() {
        let called: @Sendable (Tracked?) -> Void = { [mistakes, capture = Tracked(in: lifetimes)] owner in
            mistakes.note(.calledWithTheDead, unless: capture.isIntact && owner?.isIntact != false)
        }
        switch generator.below(6) {
        case 0: tokens.append(set.addNonisolated(on: queue) { _ in called(nil) })
        case 1: tokens.append(set.addNonisolated(on: queue, owner) { owner, _ in called(owner) })
        case 2: tokens.append(set.add(actor) { _, _ in called(nil) })
        case 3: tokens.append(set.add(owner) { @MainActor owner, _ in called(owner) })
        case 4: owner = Tracked(in: lifetimes)
        default: leave()
        }
        if tokens.count > 4 { leave() }
    }

    private mutating func leave() {
        guard !tokens.isEmpty else { return }
        let token = tokens.removeFirst()
        token.remove()
        mistakes.note(.activeAfterRemoval, unless: !token.isActive)
    }
}
