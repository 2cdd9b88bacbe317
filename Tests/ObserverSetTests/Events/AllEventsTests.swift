import ObserverSet
import Testing

/// Observers of all events are called before the observers of the event's type.
@Suite("All events come first", .lifetimesChecked, .againstHanging)
struct AllEventsTests {
    private struct DoorOpened: Event {}
    private struct LightTurnedOn: Event {}
    private struct LightDimmed: Event {}

    private let publisher = EventPublisher()
    private let log = Log<String>()

    // MARK: Causes before effects

    @Test(
        "A log shows causes before effects, wherever it runs and wherever the observers run that publish the effects",
        arguments: ObserverKind.lasting)
    func causesBeforeEffects(_ kind: ObserverKind) async {
        for automation in ObserverKind.lasting {
            let publisher = EventPublisher()
            let (early, late) = (Log<String>(), Log<String>())
            let registrations = [
                kind.add(to: publisher.allEvents) { early.append("\(type(of: $0))") },
                automation.add(to: publisher.observers(of: DoorOpened.self)) { [weak publisher] _ in
                    publisher?.publish(LightTurnedOn())
                },
                automation.add(to: publisher.observers(of: LightTurnedOn.self)) { [weak publisher] _ in
                    publisher?.publish(LightDimmed())
                },
                kind.add(to: publisher.allEvents) { late.append("\(type(of: $0))") },
            ]

            publisher.publish(DoorOpened())
            // Once for each event, since each may be published only when the one before has been delivered.
            for _ in 0..<3 { await publisher.settled() }

            for log in [early, late] { expect(log.entries, equals: ["DoorOpened", "LightTurnedOn", "LightDimmed"]) }
            for registration in registrations { registration.end() }
        }
    }

    /// Promise 6.
    @Test(
        "An event that an observer of all events publishes reaches all its observers before the outer event continues")
    func nested() {
        _ = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("door") }
        _ = publisher.observers(of: LightTurnedOn.self).add { [log] _ in log.append("light") }
        _ = publisher.allEvents.add { [weak publisher, log] event in
            log.append("all 1 \(type(of: event))")
            if event is DoorOpened { publisher?.publish(LightTurnedOn()) }
        }
        _ = publisher.allEvents.add { [log] event in log.append("all 2 \(type(of: event))") }

        publisher.publish(DoorOpened())

        let inner = ["all 1 LightTurnedOn", "all 2 LightTurnedOn", "light"]
        expect(log.entries, equals: ["all 1 DoorOpened"] + inner + ["all 2 DoorOpened", "door"])
    }

    @Test("In an observer of all events, state that the observers of the type change is old; in a task it is new")
    @MainActor func oldState() async {
        let isOpen = Shared(false)
        let hasSeen = Signal()
        _ = publisher.observers(of: DoorOpened.self).add { _ in isOpen.value = true }
        _ = publisher.allEvents.add { @MainActor [log] _ in
            log.append("in place: \(isOpen.value)")
            Task {
                log.append("in a task: \(isOpen.value)")
                hasSeen.set()
            }
        }

        publisher.publish(DoorOpened())
        await eventually { hasSeen.isSet }

        expect(log.entries, equals: ["in place: false", "in a task: true"])
    }

    // MARK: Changes during the event

    /// Promise 3.
    @Test(
        "An observer of the type that an observer of all events adds is first called for the next event",
        arguments: ["never observed", "asked for", "observed no more", "observed"])
    func addsToTheType(_ before: String) {
        switch before {
        case "asked for": _ = publisher.observers(of: DoorOpened.self)
        case "observed no more": publisher.observers(of: DoorOpened.self).add { _ in }.remove()
        case "observed": _ = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("first") }
        default: break
        }
        let isAdded = Shared(false)
        _ = publisher.allEvents.add { [weak publisher, log] _ in
            log.append("all")
            guard !isAdded.exchange(true) else { return }
            _ = publisher?.observers(of: DoorOpened.self).add { _ in log.append("added") }
        }
        let first = before == "observed" ? ["first"] : []

        publisher.publish(DoorOpened())
        expect(log.entries, equals: ["all"] + first)
        publisher.publish(DoorOpened())

        expect(log.entries, equals: ["all"] + first + ["all"] + first + ["added"])
    }

    /// Promise 3: the inner event is published after the observer was added, the outer one before.
    @Test(
        "An observer of the type that an observer of all events adds receives an event published inside, but not the outer one"
    )
    func addsAndPublishes() {
        let isAdded = Shared(false)
        _ = publisher.allEvents.add { [weak publisher, log] _ in
            guard !isAdded.exchange(true) else { return log.append("inner") }
            log.append("outer")
            _ = publisher?.observers(of: DoorOpened.self).add { _ in log.append("added") }
            publisher?.publish(DoorOpened())
        }

        publisher.publish(DoorOpened())

        expect(log.entries, equals: ["outer", "inner", "added"])
    }

    @Test("An observer of all events that an observer of the type removes has already received the event")
    func removedByTheType() {
        let token = publisher.allEvents.add { [log] _ in log.append("all") }
        _ = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("removes: \(token.remove())") }

        publisher.publish(DoorOpened())
        publisher.publish(DoorOpened())

        expect(log.entries, equals: ["all", "removes: true", "removes: false"])
    }

    @Test("An observer of all events that removes itself does not keep the observers of the type from the event")
    func removesItself() {
        let token = Shared<ObserverToken?>(nil)
        token.value = publisher.allEvents.add { [log] _ in
            log.append("all")
            token.exchange(nil)?.remove()
        }
        _ = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("door") }

        for _ in 0..<2 { publisher.publish(DoorOpened()) }

        expect(log.entries, equals: ["all", "door", "door"])
    }
}
