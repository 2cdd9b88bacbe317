import Dispatch
import ObserverSet

/// Races of a stream's ends, and what two other rules of order and removal promise.
///
/// One thread sends 1, 2, 3 … to a set, another ends the stream in one of four ways meanwhile, and a task reads it. The drop
/// count must add up at every end: what was received and what was dropped is what was sent, up to the last value that
/// reached the buffer.
struct Streams: Sendable {
    private enum End: CaseIterable {
        case token, removeAll, set, task
    }

    let races: Int
    let seed: UInt64
    let mistakes: Mistakes

    /// Returns how many races there were.
    @discardableResult
    func run(until isOver: @escaping @Sendable () -> Bool = { false }) async -> Int {
        var seeds = SeededGenerator(seed: seed)
        for race in 0..<races {
            if race % 64 == 0, isOver() { return race }
            let sent = 1 + seeds.below(60)
            let buffering = [Buffering.unbounded, .newest(3), .oldest(3)][seeds.below(3)]
            await end(by: End.allCases[seeds.below(4)], buffering, sent, isLate: seeds.below(3) == 0)
            await publish(sent)
            await removeFirst(race)
        }
        return races
    }

    private func end(by end: End, _ buffering: Buffering, _ sent: Int, isLate: Bool) async {
        let set = Shared<ObserverSet<Int>?>(ObserverSet<Int>())
        let (stream, token) = set.value!.map { $0 }.makeStream(buffering: buffering)
        let reader = Task { [mistakes] in
            var (count, last) = (0, 0)
            for await value in stream {
                mistakes.note(.missedOrOutOfOrder, unless: value > last)
                (count, last) = (count + 1, value)
            }
            return (count, last)
        }
        let gate = Gate(2)
        await onThreads(2) { [mistakes] thread in
            if thread == 0 {
                if !isLate { gate.pass() }
                for value in 1...sent { set.value?.notify(value) }
                if isLate { gate.pass() }
                return
            }
            gate.pass()
            switch end {
            case .token:
                mistakes.note(.removedTwice, unless: token.remove() && !token.remove())
            case .removeAll: set.value?.removeAll()
            case .set: set.value = nil
            case .task: reader.cancel()
            }
        }
        let (count, last) = await reader.value
        mistakes.note(.activeAfterRemoval, unless: !token.isActive)
        let total = count + token.droppedCount
        switch (end, buffering) {
        // What is buffered when the task is cancelled is neither received nor counted.
        case (.task, _): mistakes.note(.wrongCount, unless: total <= sent)
        case (_, .oldest): mistakes.note(.wrongCount, unless: isLate ? total == sent : total >= last && total <= sent)
        default: mistakes.note(.wrongCount, unless: total == last && (!isLate || last == sent))
        }
    }

    private struct Sent: Event {
        let value: Int
    }

    /// Observers of all events are called before those of the type, and one that they add does not get the event.
    private func publish(_ sent: Int) async {
        let publisher = EventPublisher()
        let seen = Shared(0)
        let added = Shared<[ObserverToken]>([])
        let all = publisher.allEvents.addNonisolated { [mistakes] event in
            guard let event = event as? Sent else { return }
            seen.value = event.value
            let token = publisher.observers(of: Sent.self).addNonisolated { later in
                mistakes.note(.calledAfterRemoval, unless: later.value > event.value)
            }
            added.value.append(token)
        }
        let typed = publisher.observers(of: Sent.self).addNonisolated { [mistakes] event in
            mistakes.note(.missedOrOutOfOrder, unless: seen.value == event.value)
        }
        for value in 1...min(sent, 8) { publisher.publish(Sent(value: value)) }
        for token in added.value + [all, typed] { token.remove() }
        mistakes.note(.activeAfterRemoval, unless: publisher.description == "EventPublisher(0 observers)")
    }

    /// A first value that is pending when the registration ends is dropped, whatever is between the set and the observer.
    private func removeFirst(_ race: Int) async {
        let set = ObserverSet<Int>()
        let queue = DispatchQueue(label: "queue")
        queue.suspend()
        let source: any NotificationSource<Int> =
            race % 2 == 0 ? set.once.starting(with: 1) : set.map { $0 }.starting(with: 1)
        let token = source.addNonisolated(on: queue) { [mistakes] _ in mistakes.note(.calledAfterRemoval, unless: false)
        }
        if race % 4 < 2 { token.remove() } else { set.removeAll() }
        queue.resume()
        await set.settled()
    }
}
