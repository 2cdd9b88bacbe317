import Testing

@testable import ObserverSet

/// Publishers that several threads use at once.
@Suite("Events on several threads", .lifetimesChecked, .againstHanging)
struct EventThreadTests {}

extension EventThreadTests {
    private struct Numbered: Event {
        let thread: Int
        let number: Int
    }

    private struct Changed<Value: Sendable>: Event {}

    private final class Closed: Event {}

    @Test("Threads that observe a type for the first time, all at once, all receive its events")
    func firstObservers() async {
        let threads = 32
        for _ in 0..<100 {
            let publisher = EventPublisher()
            let calls = Counter()

            await onThreads(threads) { _ in
                _ = publisher.observers(of: Numbered.self).addNonisolated { _ in calls.increment() }
            }
            publisher.publish(Numbered(thread: 0, number: 0))

            expect(calls.value, equals: threads)
            expect(publisher.channels.withLock { $0.count }, equals: 1)
        }
    }

    @Test("Threads that first observe many types at once all find their observers while the table of types grows")
    func manyTypes() async {
        for _ in 0..<20 {
            let publisher = EventPublisher()
            let calls = Counter()

            await onThreads(8) { thread in
                if thread % 2 == 0 {
                    Self.observe(64, Int.self, publisher, calls)
                } else {
                    Self.publish(64, Int.self, publisher)
                }
            }
            let before = calls.value
            Self.publish(64, Int.self, publisher)

            expect(calls.value - before, equals: 4 * 64)
        }
    }

    private static func observe<Value: Sendable>(
        _ count: Int, _ type: Value.Type, _ publisher: EventPublisher, _ calls: Counter
    ) {
        guard count > 0 else { return }
        let heard = calls.value
        _ = publisher.observers(of: Changed<Value>.self).addNonisolated { _ in calls.increment() }
        publisher.publish(Changed<Value>())
        expect(calls.value > heard, "an observer receives what its own thread publishes next")
        observe(count - 1, [Value].self, publisher, calls)
    }

    private static func publish<Value: Sendable>(_ count: Int, _ type: Value.Type, _ publisher: EventPublisher) {
        guard count > 0 else { return }
        publisher.publish(Changed<Value>())
        publish(count - 1, [Value].self, publisher)
    }

    /// For the thread sanitizer.
    ///
    /// The publisher's table exists already, and the new set has no observers yet. So the type's entry in the table is
    /// all that orders the creation of the set before its use.
    @Test("A type that is first observed while its events are published is never found incomplete")
    func enteredWhilePublished() async {
        for _ in 0..<many(8_000) {
            let publisher = EventPublisher()
            _ = publisher.observers(of: Numbered.self).addNonisolated { _ in }
            _ = publisher.allEvents.addNonisolated { _ in }
            let calls = Counter()
            let isPublished = Signal()

            await onThreads(2) { thread in
                if thread == 0 {
                    let source = publisher.observers(of: Changed<Int>.self)
                    isPublished.wait()
                    _ = source.addNonisolated { _ in calls.increment() }
                } else {
                    for _ in 0..<100 { publisher.publish(Changed<Int>()) }
                    isPublished.set()
                }
            }
            publisher.publish(Changed<Int>())

            expect(calls.value, equals: 1)
        }
    }

    /// Guarantee 11.
    @Test("Publishing does not wait for a thread that is adding a type")
    func lockIsHeld() async {
        let publisher = EventPublisher()
        let calls = Counter()
        _ = publisher.observers(of: Numbered.self).add { _ in calls.increment() }
        _ = publisher.allEvents.add { _ in calls.increment() }
        let isHeld = Signal()
        let mayLetGo = Signal()

        await onThreads(2) { thread in
            if thread == 0 {
                publisher.channels.withLock { _ in
                    isHeld.set()
                    mayLetGo.wait()
                }
            } else {
                isHeld.wait()
                publisher.publish(Numbered(thread: 1, number: 1))
                publisher.publish(Changed<Int>())
                mayLetGo.set()
            }
        }

        expect(calls.value, equals: 3)
    }

    @Test("Publishing, observing, removing and releasing publishers may happen at once, in any combination")
    func storm() async {
        let lifetimes = Lifetimes.current
        let current = Shared(EventPublisher())
        let wrong = Counter()

        await onThreads(6) { thread in
            var generator = SeededGenerator(seed: UInt64(thread))
            var tokens: [ObserverToken] = []
            for number in 0..<many(20_000) {
                let publisher = current.value
                switch Int.random(in: 0..<12, using: &generator) {
                case 0, 1, 2: publisher.publish(Numbered(thread: thread, number: number))
                case 3: publisher.publish(Closed())
                case 4: publisher.publish(Changed<Int>())
                case 5:
                    let life = Tracked(number, in: lifetimes)
                    tokens.append(
                        publisher.observers(of: Numbered.self).add { _ in if !life.isIntact { wrong.increment() } })
                case 6:
                    let life = Tracked(number, in: lifetimes)
                    tokens.append(
                        publisher.observers(of: Closed.self).add { _ in if !life.isIntact { wrong.increment() } })
                case 7:
                    let life = Tracked(number, in: lifetimes)
                    tokens.append(publisher.allEvents.add { _ in if !life.isIntact { wrong.increment() } })
                case 8:
                    tokens.append(
                        publisher.observers(of: Closed.self).once.add { [weak publisher] _ in
                            publisher?.publish(Changed<String>())
                        })
                case 9:
                    let owner = Tracked(number, in: lifetimes)
                    publisher.observers(of: Changed<Int>.self).add(owner) { owner, _ in
                        if !owner.isIntact { wrong.increment() }
                    }
                    publisher.publish(Changed<Int>())
                    if number % 2 == 0, publisher.removeAll(ownedBy: owner) != 1 { wrong.increment() }
                case 10:
                    tokens.shuffle(using: &generator)
                    tokens.popLast()?.remove()
                default:
                    if number % 10 == 0 { current.value = EventPublisher() }
                }
            }
        }

        expect(wrong.value, equals: 0)
        current.value = EventPublisher()
        expect(lifetimes.count, equals: 0)
    }

}
