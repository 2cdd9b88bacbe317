import Dispatch
import Testing

@testable import ObserverSet

#if NotificationCenter
import Foundation
#endif

/// What a token, a bag and a waiting removal still do for values that a set left pending when it was deallocated.
///
/// They do the same whatever is between the set and the observer, and wherever the observer runs.
@Suite("What a set has left pending", .lifetimesChecked, .againstHanging)
@MainActor struct AfterTheSetsEndTests {
    private let log = Log<Int>()
    private let queue = DispatchQueue(label: "queue")
}

extension AfterTheSetsEndTests {
    /// A source whose sets are deallocated when the test says so.
    enum Origin: CaseIterable, Sendable {
        case set, map, filter, once, twiceOnce, merge, everywhere, adapted, group, events, allEvents
        #if NotificationCenter
        case center
        #endif

        /// Lets `add` add an observer, sends two values to it, and then lets go of everything that could send more.
        ///
        /// - Returns: The token of the observer.
        func leave(_ add: (any NotificationSource<Int>) -> ObserverToken) -> ObserverToken {
            let set = ObserverSet<Int>()
            let publisher = EventPublisher()
            #if NotificationCenter
            let center = NotificationCenter()
            #endif
            let source: any NotificationSource<Int> =
                switch self {
                case .set: set
                case .map: set.map { $0 }
                case .filter: set.filter { $0 > 0 }
                case .once: set.once
                case .twiceOnce: set.once.map { $0 }.once
                case .merge: set.merge(with: ObserverSet<Int>())
                case .everywhere: Everywhere([ObserverSet<Int>(), set])
                case .adapted: Mapped(source: set) { $0 }
                case .group: ObserverGroup(set, ObserverSet<Void>()).map { 1 }
                case .events: publisher.observers(of: Left.self).map { $0.value }
                case .allEvents: publisher.allEvents.compactMap { ($0 as? Left)?.value }
                #if NotificationCenter
                case .center: center.observers(of: LeftInACenter.self).map { $0.value }
                #endif
                }
            let token = add(source)
            for value in 1...2 {
                set.notify(value)
                publisher.publish(Left(value: value))
                #if NotificationCenter
                center.post(LeftInACenter(value: value))
                #endif
            }
            return token
        }

        /// The values that are delivered in the end, if nothing ends the observer.
        var delivered: [Int] {
            switch self {
            case .once, .twiceOnce: [1]
            case .group: [1, 1]
            default: [1, 2]
            }
        }
    }

    enum Place: CaseIterable, Sendable {
        case queue, queueOwner, mainActor, mainActorOwner, awaiting, awaitingOwner
    }

    /// Adds an observer that can't be called yet: its queue is suspended, or the test occupies its actor.
    private nonisolated func add(
        to source: any NotificationSource<Int>, _ place: Place, _ owner: Tracked
    ) -> ObserverToken {
        let hear: @Sendable (Int) -> Void = { [log] value in log.append(value) }
        return switch place {
        case .queue: source.addNonisolated(on: queue, hear)
        case .queueOwner: source.addNonisolated(on: queue, owner) { _, value in hear(value) }
        case .mainActor: source.add { @MainActor in hear($0) }
        case .mainActorOwner: source.add(owner) { @MainActor _, value in hear(value) }
        case .awaiting: source.addAsync { @MainActor in hear($0) }
        case .awaitingOwner: source.addAsync(owner) { @MainActor _, value in hear(value) }
        }
    }

    /// Makes an origin send values from another thread, while the test occupies the main actor, and lets go of it.
    private func leave(_ origin: Origin, _ place: Place, _ owner: Tracked) -> ObserverToken {
        queue.suspend()
        let token = Shared<ObserverToken?>(nil)
        join { token.value = origin.leave { source in add(to: source, place, owner) } }
        return token.value!
    }

    enum End: CaseIterable, Sendable {
        case nothing, token, combinedToken, waiting, bag, fullBag
    }

    @Test(
        "It is counted, and delivered or dropped as its token's holder wants", arguments: Origin.allCases,
        Place.allCases)
    func dropped(_ origin: Origin, _ place: Place) async {
        for end in End.allCases {
            let owner = Tracked()
            let token = leave(origin, place, owner)
            #expect(!token.isActive)
            expect(token.pendingCount, equals: 2, "\(end)")

            switch end {
            case .nothing: break
            case .token: #expect(!token.remove())
            case .combinedToken: #expect(!ObserverToken([token, token]).remove())
            case .waiting:
                // The queue goes on while the caller waits.
                let resumption = Task { queue.resume() }
                #expect(await !token.removeAndWait())
                await resumption.value
            case .bag: do { ObserverBag().insert(token) }
            case .fullBag:
                let (bag, other) = (ObserverBag(token), ObserverSet<Int>())
                for _ in 0..<40 { other.addNonisolated { _ in }.store(in: bag) }
            }

            if end != .nothing { expect(token.pendingCount, equals: 0, "\(end)") }
            if end != .waiting { queue.resume() }
            // The value of an only call stops being pending when it passes the gate, and a removal may prevent the call
            // even then.
            if end == .nothing { await eventually { log.entries.count == origin.delivered.count } }
            await eventually { token.pendingCount == 0 }
            await token.removeAndWait()
            expect(log.entries, equals: end == .nothing ? origin.delivered : [], "\(origin), \(place), \(end)")
            log.removeAll()
            withExtendedLifetime(owner) {}
        }
    }

    @Test(
        "A call in progress is cancelled, unless it is the only one that its observer gets", arguments: Origin.allCases)
    func cancelled(_ origin: Origin) async {
        let isCalled = Signal()
        let token = await onThread { [log] in
            origin.leave { source in
                source.addAsync { value in
                    isCalled.set()
                    if origin.delivered != [1] { await cancellation() }
                    log.append(Task.isCancelled ? -value : value)
                }
            }
        }
        await eventually { isCalled.isSet }

        await token.removeAndWait()

        expect(log.entries, equals: origin.delivered == [1] ? [1] : [-1])
    }
}

private struct Left: Event {
    let value: Int
}

#if NotificationCenter
private struct LeftInACenter: BridgedEvent {
    static var notificationName: Notification.Name { Notification.Name("LeftInACenter") }

    let value: Int
}
#endif
