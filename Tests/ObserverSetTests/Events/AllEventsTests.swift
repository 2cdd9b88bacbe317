import ObserverSet
import Testing

/// Observers of all events are called before the observers of the event's type.
@Suite("All events come first", .lifetimesChecked, .againstHanging)
struct AllEventsTests {
    private let publisher = EventPublisher()
    private let log = Log<String>()
}

extension AllEventsTests {
    private struct DoorOpened: Event {}
    private struct LightTurnedOn: Event {}
    private struct LightDimmed: Event {}

    // MARK: Causes before effects

    @Test(
        "A log shows causes before effects, wherever it and the observers run that publish them",
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

    /// Guarantee 3.
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

    @Test("An observer of all events may remove itself or one of the type, and one of the type finds it was called")
    func removals() {
        let token = Shared<ObserverToken?>(nil)
        let ofTheType = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("never") }
        token.value = publisher.allEvents.add { [log] _ in
            log.append("all, removes itself: \(token.value?.remove() ?? false), and another: \(ofTheType.remove())")
        }
        let lasting = publisher.allEvents.add { [log] _ in log.append("lasting") }
        _ = publisher.observers(of: DoorOpened.self).add { [log] _ in log.append("door: \(lasting.remove())") }

        for _ in 0..<2 { publisher.publish(DoorOpened()) }

        let first = ["all, removes itself: true, and another: true", "lasting", "door: true"]
        expect(log.entries, equals: first + ["door: false"])
        token.value = nil
    }
}
