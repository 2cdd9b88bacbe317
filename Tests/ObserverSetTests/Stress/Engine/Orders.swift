import ObserverSet

/// Threads notify several sets by turns, and two actors and the main actor each observe all of them: every actor must receive
/// what a thread notifies in that thread's order, over all sets.
///
/// A third actor notifies the sets itself. It delivers what waits for the observers of a set before its own value, ahead of
/// what waits for those of other sets; so it must receive what a thread notifies in order from each set.
struct Orders: Sendable {
    private let threads: Int
    private let perSource: Int
    private let mistakes: Mistakes
    private let sets = (0..<4).map { _ in ObserverSet<Numbered>() }

    /// Makes about that many deliveries.
    init(threads: Int, deliveries: Int, _ mistakes: Mistakes) {
        self.threads = threads
        self.mistakes = mistakes
        perSource = max(1, deliveries / 4 / (threads + 1))
    }

    func run() async {
        let receivers = [OrderReceiver(sources: threads + 1, sets), OrderReceiver(sources: threads + 1, sets)]
        let onMain = await MainOrderReceiver(sources: threads + 1, sets)
        let notifier = NotifyingReceiver(sources: threads + 1, sets)

        async let fromActor: Void = notifier.notify(sets, source: threads, times: perSource)
        await onThreads(threads) { [sets] source in
            for number in 1...perSource {
                sets[(number &* 7 + source) % 4].notify(Numbered(source: source, number: number))
            }
        }
        await fromActor
        for set in sets { await set.settled() }

        let complete = Received(counts: Array(repeating: perSource, count: threads + 1))
        for receiver in receivers { mistakes.note(.overtaken, unless: await receiver.received == complete) }
        mistakes.note(.overtaken, unless: await onMain.received == complete)
        await notifier.check(perSource * (threads + 1), mistakes)
    }
}

private actor OrderReceiver {
    private(set) var received: Received

    init(sources: Int, _ sets: [ObserverSet<Numbered>]) {
        received = Received(counts: Array(repeating: 0, count: sources))
        for set in sets { set.add(self) { receiver, value in receiver.received.receive(value) } }
    }
}

@MainActor private final class MainOrderReceiver {
    private(set) var received: Received

    init(sources: Int, _ sets: [ObserverSet<Numbered>]) {
        received = Received(counts: Array(repeating: 0, count: sources))
        for set in sets { set.add(self) { receiver, value in receiver.received.receive(value) } }
    }
}

/// Notifies the sets that it observes.
private actor NotifyingReceiver {
    /// The last number of each source, by set.
    private var last: [[Int]]
    private var count = 0
    private var isInOrder = true

    init(sources: Int, _ sets: [ObserverSet<Numbered>]) {
        last = Array(repeating: Array(repeating: 0, count: sources), count: sets.count)
        for (index, set) in sets.enumerated() {
            set.add(self) { receiver, value in receiver.receive(value, index) }
        }
    }

    private func receive(_ value: Numbered, _ set: Int) {
        count += 1
        if value.number <= last[set][value.source] { isInOrder = false }
        last[set][value.source] = value.number
    }

    /// Lets other jobs run on the actor in between.
    func notify(_ sets: [ObserverSet<Numbered>], source: Int, times: Int) async {
        for number in 1...times {
            sets[number % 4].notify(Numbered(source: source, number: number))
            if number % 64 == 0 { await Task.yield() }
        }
    }

    func check(_ expected: Int, _ mistakes: Mistakes) {
        mistakes.note(.overtaken, unless: isInOrder && count == expected)
    }
}
