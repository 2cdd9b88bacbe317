import ObserverSet

/// Publishing events that are found by their type.
enum EventRows {
    static var all: [Row] { times + memory }

    private struct Observed: Event {
        let value: Int
    }

    private struct Unobserved: Event {
        let value: Int
    }

    /// An event that is too large for the memory inside an existential.
    private struct Large: Event {
        let values: (Int, Int, Int, Int)
    }

    private final class Message: Event {}

    // MARK: Times

    private static var times: [Row] {
        [
            // A good run has 1.75 to 2.0. A lock that is taken, or an allocation, would make it 3.
            .comparing("publish, 1 observer", to: "notify of a set, 1 observer", reach: .time(atMost: 2.3)) { plan in
                (publishing(publisher(), plan) { Observed(value: $0) }, NotifyRows.notifying(set(), plan))
            },
            .comparing(
                "publish, 1 observer, among 1000 types", to: "notify of a set, 1 observer", reach: .time(atMost: 2.3)
            ) { plan in
                let publisher = publisher()
                observeTypes(1000, of: publisher, Unobserved.self)
                return (publishing(publisher, plan) { Observed(value: $0) }, NotifyRows.notifying(set(), plan))
            },
            .comparing("publish, nobody observes the type", to: "notify of a set, 1 observer", reach: .time(atMost: 1))
            {
                plan in
                (publishing(publisher(), plan) { Unobserved(value: $0) }, NotifyRows.notifying(set(), plan))
            },
            .comparing("publish, 1 observer of all events", to: "notify of a set, 1 observer", reach: .time(atMost: 4))
            {
                plan in
                let publisher = EventPublisher()
                let counter = Counter()
                _ = publisher.allEvents.addNonisolated { _ in counter.value &+= 1 }
                return (publishing(publisher, plan) { Unobserved(value: $0) }, NotifyRows.notifying(set(), plan))
            },
        ]
    }

    private static func set() -> ObserverSet<Int> { NotifyRows.nonisolatedSet(1) }

    @inline(never)
    private static func publisher() -> EventPublisher {
        let publisher = EventPublisher()
        let counter = Counter()
        _ = publisher.observers(of: Observed.self).addNonisolated { counter.value &+= $0.value }
        return publisher
    }

    /// Observes `count` types, each of which wraps the previous one.
    private static func observeTypes<Wrapped: Event>(_ count: Int, of publisher: EventPublisher, _ type: Wrapped.Type) {
        guard count > 0 else { return }
        _ = publisher.observers(of: Wrapper<Wrapped>.self).addNonisolated { _ in }
        observeTypes(count - 1, of: publisher, Wrapper<Wrapped>.self)
    }

    private struct Wrapper<Wrapped: Event>: Event {}

    private static func publishing(
        _ publisher: EventPublisher, _ plan: Plan, _ event: @escaping (Int) -> some Event
    ) -> Sampler {
        loop(plan) { repetitions in publish(publisher, repetitions, event) }
    }

    @inline(__always)
    private static func publish(_ publisher: EventPublisher, _ repetitions: Int, _ event: (Int) -> some Event) {
        for value in 0..<repetitions { publisher.publish(event(value)) }
    }

    // MARK: Allocations

    #if canImport(Glibc)
    private static let publications = 1000

    private static var memory: [Row] {
        [
            .figure("allocations per publish, 1 observer or nobody", reach: .figure(atMost: 0, unit: "blocks")) { _ in
                Heap.checkThatItCounts()
                let publisher = publisher()
                return allocated {
                    publisher.publish(Observed(value: 1))
                    publisher.publish(Unobserved(value: 1))
                    publisher.publish(Large(values: (1, 2, 3, 4)))
                }
            },
            .figure(
                "allocations per publish, everything was observed once", reach: .figure(atMost: 0, unit: "blocks")
            ) { _ in
                Heap.checkThatItCounts()
                let publisher = publisher()
                publisher.allEvents.add { _ in }.remove()
                publisher.observers(of: Message.self).add { _ in }.remove()
                let object = Message()
                return allocated {
                    publisher.publish(Observed(value: 1))
                    publisher.publish(Large(values: (1, 2, 3, 4)))
                    publisher.publish(object)
                }
            },
        ]
    }

    private static func allocated(by body: () -> Void) -> Double {
        // The first call is not counted, because the runtime may create metadata during it.
        body()
        return Double(
            Heap.change {
                for _ in 0..<publications { body() }
            }.allocations) / Double(publications)
    }
    #else
    // Allocations can't be counted on this platform.
    private static var memory: [Row] { [] }
    #endif
}
