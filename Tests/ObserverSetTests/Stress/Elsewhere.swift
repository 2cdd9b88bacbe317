import Dispatch
import ObserverSet
import Synchronization

/// The number of a notification among those of its source, from 1.
struct Numbered: Sendable {
    let source: Int
    let number: Int
}

/// What an observer was told, by source.
///
/// Guarded by nothing, so that the sanitizer sees whether the set keeps its word.
struct Received: Equatable, Sendable {
    var counts: [Int]
    var isInOrder = true

    mutating func receive(_ value: Numbered) {
        counts[value.source] += 1
        if counts[value.source] != value.number { isInOrder = false }
    }
}

actor ActorReceiver {
    private(set) var received: Received

    init(sources: Int) {
        received = Received(counts: Array(repeating: 0, count: sources))
    }

    func receive(_ value: Numbered) {
        received.receive(value)
    }

    /// Notifies from the observer's own actor, and lets others onto it in between.
    func notify(_ set: ObserverSet<Numbered>, source: Int, times: Int) async {
        for number in 1...times {
            set.notify(Numbered(source: source, number: number))
            if number % 64 == 0 { await Task.yield() }
        }
    }
}

@MainActor
final class MainReceiver {
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

/// Lives on a serial queue.
final class QueueReceiver: @unchecked Sendable {
    private(set) var received: Received

    init(sources: Int) {
        received = Received(counts: Array(repeating: 0, count: sources))
    }

    func receive(_ value: Numbered) {
        received.receive(value)
    }
}

/// Counts what must not be, on any thread.
final class Mistakes: Sendable {
    private let noted = Atomic<Int>(0)

    var count: Int { noted.load(ordering: .relaxed) }

    func note(unless isRight: Bool) {
        if !isRight { noted.add(1, ordering: .relaxed) }
    }
}

/// Observers that one thread adds, removes, and leaves to die with their owners.
struct Visitors {
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
        switch generator.next() % 6 {
        case 0: keep(set.add(on: queue) { _ in mistakes.note(unless: capture.isIntact) })
        case 1:
            keep(set.add(on: queue, owner) { owner, _ in mistakes.note(unless: owner.isIntact && capture.isIntact) })
        case 2: keep(set.add(actor) { _, _ in mistakes.note(unless: capture.isIntact) })
        case 3:
            keep(
                set.add(owner) { @MainActor owner, _ in
                    mistakes.note(unless: owner.isIntact && capture.isIntact)
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
        mistakes.note(unless: !token.isActive)
    }

    mutating func end() {
        for token in tokens { token.remove() }
    }
}

/// Removes its own observer after so many calls.
actor Leaver {
    private(set) var calls = 0
    private let limit: Int
    private var token: ObserverToken?

    init(stayingFor limit: Int) {
        self.limit = limit
    }

    func observe(_ set: ObserverSet<Numbered>) {
        token = set.add(self) { leaver, _ in leaver.receive() }
    }

    private func receive() {
        calls += 1
        if calls == limit { token?.remove() }
    }
}
