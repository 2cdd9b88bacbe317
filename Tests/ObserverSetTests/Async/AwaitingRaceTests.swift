import Foundation
import ObserverSet
import Testing

/// Races of observers that await, between several threads; the stress tests contain more of them.
@Suite("Races of observers that await", .lifetimesChecked, .againstHanging, .serialized)
struct AwaitingRaceTests {
    @Test(
        "An actor that suspends during a call is not entered by its next value, however many threads notify")
    func neverReEntered() async {
        let set = ObserverSet<Int>()
        let teller = Teller()
        let perThread = many(100_000, long: 1_000_000) / 8
        set.addAsync(teller) { (teller: isolated Teller, value) in await teller.work(on: value) }

        await onThreads(8) { thread in
            for number in 0..<perThread { set.notify(perThread * thread + number) }
        }
        await set.settled()

        expect(await teller.entries, equals: 8 * perThread)
        expect(await teller.exits, equals: 8 * perThread)
        expect(await teller.mistakes, equals: 0)
    }

    @Test(
        "An observer that is removed while its call ends is inactive afterwards, and `settled()` returns",
        arguments: AwaitingForm.allCases)
    func removedAsItEnds(_ form: AwaitingForm) async {
        let lifetimes = Lifetimes.current
        for round in 0..<many(2_000, long: 100_000) {
            let set = ObserverSet<Tracked>()
            let registration = form.add(to: set) { value in
                for _ in 0..<round % 4 { await Task.yield() }
                _ = value.isIntact
            }

            await race(times: 1) { _ in
                for _ in 0..<3 { set.notify(Tracked(in: lifetimes)) }
            } _: { _ in
                for _ in 0..<round % 50 * 10 { continue }
                registration.token.remove()
            }
            await set.settled()

            #expect(!registration.token.isActive)
            registration.end()
        }
    }

    /// Scenario 49: no value is lost without being counted.
    ///
    /// Source: tokio loom_broadcast.rs (drop_rx, broadcast_wrap: received + lagged == sent).
    @Test(
        "The delivered and the dropped values add up to the values sent, whichever side is faster",
        arguments: [.unbounded, .newest(1), .newest(3), .oldest(1), .oldest(3), .latest] as [Buffering])
    func everyValueIsAccountedFor(_ buffering: Buffering) async {
        for round in 0..<many(400, long: 100_000) {
            let set = ObserverSet<Int>()
            let received = Log<Int>()
            let token = set.addAsync(buffering: buffering) { value in
                received.append(value)
                for _ in 0..<value % 3 { await Task.yield() }
            }
            let sent = 1 + round % 200
            await onThread {
                for value in 1...sent {
                    set.notify(value)
                    if value % 7 == 0 { Thread.yield() }
                }
            }
            await set.settled()

            let values = received.entries
            expect(values.count + token.droppedCount, equals: sent)
            #expect(zip(values, values.dropFirst()).allSatisfy(<))
            if case .oldest = buffering { expect(values.first, equals: 1) } else { expect(values.last, equals: sent) }
            token.remove()
        }
    }

    @Test("A task that awaits `settled()` while an observer is removed resumes")
    func waitsWhileRemoved() async {
        for round in 0..<many(4_000, long: 200_000) {
            let set = ObserverSet<Int>()
            let token = set.addAsync { _ in while !Task.isCancelled { await Task.yield() } }
            set.notify(1)
            let waiting = Task { await set.settled() }
            for _ in 0..<round % 5 { await Task.yield() }
            if round % 2 == 0 { set.notify(2) }

            await onThread { _ = token.remove() }

            await waiting.value
        }
    }
}

/// An actor whose work suspends in the middle.
private actor Teller {
    private(set) var entries = 0
    private(set) var exits = 0
    private(set) var mistakes = 0

    func work(on value: Int) async {
        if entries != exits { mistakes += 1 }
        entries += 1
        for _ in 0...value % 2 { await Task.yield() }
        exits += 1
    }
}
