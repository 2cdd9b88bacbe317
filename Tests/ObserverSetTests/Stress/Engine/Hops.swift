import Dispatch
import ObserverSet
import Synchronization

/// Threads, an actor and the main actor notify one set, whose observers run on an actor, on the main actor and on a
/// queue, while other observers are added and removed.
struct Hops: Sendable {
    private let threads: Int
    private let perSource: Int
    private let mistakes: Mistakes
    private let set = ObserverSet<Numbered>()
    private let lifetimes = Lifetimes()

    /// Makes about that many deliveries, counted over all observers that stay.
    init(threads: Int, deliveries: Int, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        perSource = deliveries / 3 / (threads + 2)
    }

    func run() async {
        let sources = threads + 2
        // The last source is the echo of the first.
        let complete = Received(counts: Array(repeating: perSource, count: sources) + [perSource / 8])
        let onActor = ActorReceiver(sources: sources + 1)
        let onMain = await MainReceiver(sources: sources + 1, observing: set)
        let queue = DispatchQueue(label: "stress")
        let onQueue = QueueReceiver(sources: sources + 1)
        set.add(onActor) { [weak set] receiver, value in
            receiver.receive(value)
            // Notified inside a delivery, so it is enqueued behind the values of that delivery.
            if value.source == 0, value.number % 8 == 0 {
                set?.notify(Numbered(source: sources, number: value.number / 8))
            }
        }
        set.addNonisolated(on: queue, onQueue) { receiver, value in receiver.receive(value) }

        async let fromActor: Void = onActor.notify(set, source: threads, times: perSource)
        async let fromMain: Void = onMain.notify(set, source: threads + 1, times: perSource)
        await onThreads(threads) { index in
            var visitors = Visitors(
                set, queue: queue, actor: onActor, lifetimes: lifetimes, mistakes: mistakes, seed: UInt64(index))
            for number in 1...perSource {
                set.notify(Numbered(source: index, number: number))
                if number % 16 == 0 { visitors.comeOrGo() }
            }
            visitors.end()
        }
        await fromActor
        await fromMain
        // Echoes are sent until all values that were sent before have been delivered, hence the second wait.
        await set.settled()
        await set.settled()

        mistakes.note(.missedOrOutOfOrder, unless: await onActor.received == complete)
        mistakes.note(.missedOrOutOfOrder, unless: await onMain.received == complete)
        mistakes.note(.missedOrOutOfOrder, unless: queue.sync { onQueue.received } == complete)
        mistakes.note(.wrongCount, unless: set.count == 3)
        // A drain that has delivered its last value may still be releasing it.
        await eventually { lifetimes.count == 0 }
        mistakes.note(.notReleased, unless: lifetimes.count == 0)
    }
}

/// The number of a notification among those of its source, from 1.
struct Numbered: Sendable {
    let source: Int
    let number: Int
}

/// What an observer has received, by source.
///
/// It is not protected by a lock, so that the thread sanitizer reports a race if the set does not order the calls.
struct Received: Equatable, Sendable {
    var counts: [Int]
    var isInOrder = true

    mutating func receive(_ value: Numbered) {
        counts[value.source] += 1
        if counts[value.source] != value.number { isInOrder = false }
    }
}

private actor ActorReceiver {
    private(set) var received: Received

    init(sources: Int) {
        received = Received(counts: Array(repeating: 0, count: sources))
    }

    func receive(_ value: Numbered) {
        received.receive(value)
    }

    /// Notifies from the observer's own actor, and lets other jobs run on the actor in between.
    func notify(_ set: ObserverSet<Numbered>, source: Int, times: Int) async {
        for number in 1...times {
            set.notify(Numbered(source: source, number: number))
            if number % 64 == 0 { await Task.yield() }
        }
    }
}

@MainActor
private final class MainReceiver {
    private(set) var received: Received

    init(sources: Int, observing set: ObserverSet<Numbered>) {
        received = Received(counts: Array(repeating: 0, count: sources))
        set.add(self) { receiver, value in receiver.received.receive(value) }
    }

    func notify(_ set: ObserverSet<Numbered>, source: Int, times: Int) async {
        for number in 1...times {
            set.notify(Numbered(source: source, number: number))
            if number % 64 == 0 { await Task.yield() }
        }
    }
}

/// An observer that runs on a serial queue.
private final class QueueReceiver: @unchecked Sendable {
    private(set) var received: Received

    init(sources: Int) {
        received = Received(counts: Array(repeating: 0, count: sources))
    }

    func receive(_ value: Numbered) {
        received.receive(value)
    }
}

/// Observers that one thread adds and removes, or leaves to end with their owners.
private struct Visitors {
    private let set: ObserverSet<Numbered>
    private let queue: DispatchQueue
    private let actor: ActorReceiver
    private let lifetimes: Lifetimes
    private let mistakes: Mistakes
    private var generator: SeededGenerator
    private var owner: Tracked
    private var tokens: [ObserverToken] = []

    init(
        _ set: ObserverSet<Numbered>, queue: DispatchQueue, actor: ActorReceiver, lifetimes: Lifetimes,
        mistakes: Mistakes, seed: UInt64
    ) {
        self.set = set
        self.queue = queue
        self.actor = actor
        self.lifetimes = lifetimes
        self.mistakes = mistakes
        generator = SeededGenerator(seed: seed)
        owner = Tracked(in: lifetimes)
    }

    mutating func comeOrGo() {
        let capture = Tracked(in: lifetimes)
        let mistakes = mistakes
        switch generator.below(6) {
        case 0: keep(set.addNonisolated(on: queue) { _ in mistakes.note(.calledWithTheDead, unless: capture.isIntact) })
        case 1:
            keep(
                set.addNonisolated(on: queue, owner) { owner, _ in
                    mistakes.note(.calledWithTheDead, unless: owner.isIntact && capture.isIntact)
                })
        case 2: keep(set.add(actor) { _, _ in mistakes.note(.calledWithTheDead, unless: capture.isIntact) })
        case 3:
            keep(
                set.add(owner) { @MainActor owner, _ in
                    mistakes.note(.calledWithTheDead, unless: owner.isIntact && capture.isIntact)
                })
        case 4: owner = Tracked(in: lifetimes)
        default: leave()
        }
    }

    private mutating func keep(_ token: ObserverToken) {
        tokens.append(token)
        if tokens.count > 4 { leave() }
    }

    private mutating func leave() {
        guard !tokens.isEmpty else { return }
        let token = tokens.removeFirst()
        token.remove()
        mistakes.note(.activeAfterRemoval, unless: !token.isActive)
    }

    mutating func end() {
        for token in tokens { token.remove() }
    }
}
