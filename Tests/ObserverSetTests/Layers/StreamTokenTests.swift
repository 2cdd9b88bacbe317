import Foundation
import ObserverSet
import Testing

/// A stream that its owner can end, and watch: `makeStream(buffering:)`.
@Suite("A stream and its token", .lifetimesChecked, .againstHanging)
struct StreamTokenTests {}

extension StreamTokenTests {
    enum End: CaseIterable, Sendable {
        case token, bag, combination, set, removeAll, release

        /// Whether a token ends the stream, and so `remove()` returns true there.
        static let byToken: [End] = [.token, .bag, .combination, .set]
    }

    @Test(
        "The stream ends behind what is buffered, and delivered and dropped elements are those that were sent",
        arguments: End.allCases, [Buffering.unbounded, .newest(3), .oldest(3), .latest])
    func ends(_ end: End, _ buffering: Buffering) async {
        var set: ObserverSet<Int>? = ObserverSet()
        let (stream, token) = set!.makeStream(buffering: buffering)
        for value in 1...10 { set!.notify(value) }
        #expect(token.isActive)

        switch end {
        case .token: #expect(token.remove())
        case .bag: do { ObserverBag().insert(token) }
        case .combination: #expect(ObserverToken([token]).remove())
        case .set: #expect(set!.remove(token))
        case .removeAll: set!.removeAll()
        case .release: set = nil
        }
        set?.notify(11)

        var received: [Int] = []
        for await value in stream { received.append(value) }
        let expected: [Int] =
            switch buffering {
            case .unbounded: Array(1...10)
            case .newest: [8, 9, 10]
            case .oldest: [1, 2, 3]
            case .latest: [10]
            }
        expect(received, equals: expected)
        expect(token.droppedCount, equals: 10 - expected.count, "it can be read after the end")
        expect(ObserverToken([token]).droppedCount, equals: token.droppedCount)
        expect([token.isActive, token.remove()], equals: [false, false])
        expect(token.pendingCount, equals: 0)
    }

    @Test("What ends the loop ends the registration, and the token with it", arguments: [true, false])
    func loopEnds(byCancelling: Bool) async {
        let set = ObserverSet<Int>()
        let (stream, token) = set.makeStream(buffering: .newest(1))
        let hasBegun = Signal()
        let reading = Task {
            for await value in stream {
                hasBegun.set()
                if value == 2 { break }
            }
        }
        set.notify(1)
        await eventually { hasBegun.isSet }
        if byCancelling { reading.cancel() } else { set.notify(2) }
        await reading.value

        if byCancelling { await eventually { !token.isActive } }
        // Leaving a loop ends nothing while the stream is held.
        expect(token.isActive, equals: !byCancelling)
        expect(token.remove(), equals: !byCancelling)
        #expect(set.isEmpty)
        withExtendedLifetime(stream) {}
    }

    @Test("The token ends a stream behind map, filter, once and a first value")
    func adapted() async {
        let set = ObserverSet<Int>()
        let sources: [any NotificationSource<Int>] = [
            set.map { $0 * 10 }, set.filter { $0 > 1 }, set.once, set.starting(with: 0),
            set.starting(with: 0).map { $0 }.once,
        ]
        let streams = sources.map { $0.makeStream(buffering: .oldest(1)) }
        for value in 1...3 { set.notify(value) }

        expect(streams.map { $0.token.droppedCount }, equals: [2, 1, 0, 3, 0])
        expect(streams.map { $0.token.remove() }, equals: [true, true, false, true, false])
        var received: [[Int]] = []
        for (stream, _) in streams { received.append(await stream.reduce(into: []) { $0.append($1) }) }
        expect(received, equals: [[10], [2], [1], [0], [0]])
        expect(streams.map { $0.token.droppedCount }, equals: [2, 1, 0, 3, 0])
    }

    @Test("Behind a merge there is one buffer, and one number of what it has dropped")
    func merged() async {
        let (first, second) = (ObserverSet<Int>(), ObserverSet<Int>())
        let (stream, token) = first.merge(with: second).makeStream(buffering: .newest(1))
        for value in 1...3 {
            first.notify(value)
            second.notify(-value)
        }
        expect(token.droppedCount, equals: 5)

        first.removeAll()
        #expect(token.isActive)
        #expect(token.remove())

        expect(await stream.reduce(into: []) { $0.append($1) }, equals: [-3])
        expect(token.droppedCount, equals: 5)
        expect(first.isEmpty && second.isEmpty)
    }

    @Test("The token holds neither the stream nor what it has buffered")
    func lifetimes() {
        let set = ObserverSet<Tracked>()
        let token: ObserverToken
        do {
            let (stream, ofStream) = set.makeStream()
            token = ofStream
            set.notify(Tracked())
            expect(Lifetimes.current.count, equals: 1)
            withExtendedLifetime(stream) {}
        }
        expect(Lifetimes.current.count, equals: 0)
        expect(!token.isActive && set.isEmpty)
    }

    /// Scenarios 42 and 49, for a stream that several threads end in different ways while another one sends.
    ///
    /// Source: BLESwift#25, swift#87082, tokio loom_broadcast.rs (received + lagged == sent).
    @Test("Whoever ends the stream while values are sent, each value is received or counted, or came after the end")
    func races() async {
        let wrong = Counter()
        let set = ObserverSet<Int>()
        let current = Shared<(stream: AsyncStream<Int>, token: ObserverToken)?>(nil)
        await race(times: many(3_000, long: 500_000)) { round in
            let stream = set.makeStream(buffering: .newest(2))
            current.value = stream
            let sum = Shared(0)
            let isOver = Signal()
            let reading = Task {
                for await _ in stream.stream { sum.value += 1 }
                isOver.set()
            }
            for _ in 0..<round % 8 { Thread.yield() }
            switch round % 3 {
            case 0: _ = stream.token.remove()
            case 1: reading.cancel()
            default: set.removeAll()
            }
            isOver.wait()
            // Five values are sent in each round, from one thread.
            if sum.value + stream.token.droppedCount > 10 { wrong.increment() }
            if stream.token.isActive { wrong.increment() }
        } _: { round in
            for value in 0..<5 { set.notify(value) }
            if round % 4 == 0 { _ = current.value?.token.remove() }
        }
        current.value = nil

        expect(wrong.value, equals: 0)
        await eventually { set.isEmpty }
    }
}
