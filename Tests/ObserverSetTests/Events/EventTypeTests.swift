import ObserverSet
import Testing

/// Which types of events are distinguished: scenarios 51 to 54, and bad input with regard to event types.
@Suite("Types of events", .lifetimesChecked)
struct EventTypeTests {
    private let publisher = EventPublisher()
    private let log = Log<String>()

    /// Observes the type, and logs its events under that name.
    private func observe<E: Event>(_ type: E.Type, as name: String) {
        _ = publisher.observers(of: type).add { [log] _ in log.append(name) }
    }

    /// Publishes the event, and returns which observers have received it.
    private func heard(_ event: some Event) -> [String] {
        log.removeAll()
        publisher.publish(event)
        return log.entries
    }

    // MARK: Names

    /// Scenario 51: keys made of type names collide (measured for local types and for equally named nested ones).
    @Test("Nested types with the same name are distinguished")
    func nested() {
        observe(One.Saved.self, as: "one")
        observe(Two.Saved.self, as: "two")
        observe(Saved.self, as: "outer")

        expect(heard(One.Saved()), equals: ["one"])
        expect(heard(Two.Saved()), equals: ["two"])
        expect(heard(Saved()), equals: ["outer"])
    }

    /// Scenario 51.
    @Test("Local types with the same name are distinguished")
    func local() {
        let (first, second) = (firstLocalEvent(), secondLocalEvent())
        observeDynamically(first, as: "first")
        observeDynamically(second, as: "second")
        do {
            struct Local: Event {}
            observe(Local.self, as: "third")
            expect(heard(Local()), equals: ["third"])
        }

        expect("\(type(of: first))", equals: "\(type(of: second))")
        expect(heard(first), equals: ["first"])
        expect(heard(second), equals: ["second"])
    }

    /// Scenario 51: a type with the same name in another file.
    @Test("A private type is distinguished from a type of the same name in another file")
    func privateTypes() {
        observe(PrivateSaved.self, as: "this file's")
        observeDynamically(privateSavedOfAnotherFile(), as: "another file's")

        expect(heard(PrivateSaved()), equals: ["this file's"])
        expect(heard(privateSavedOfAnotherFile()), equals: ["another file's"])
    }

    @Test("Enumerations, types without values and actors may be events")
    func kinds() async {
        enum Change: Event { case inserted, removed(at: Int) }
        enum Nothing: Event {}
        actor Agent: Event {}
        observe(Change.self, as: "enumeration")
        observe(Nothing.self, as: "nothing")
        observe(Agent.self, as: "actor")

        expect(heard(Change.removed(at: 1)), equals: ["enumeration"])
        expect(heard(Change.inserted), equals: ["enumeration"])
        expect(heard(Agent()), equals: ["actor"])
    }

    // MARK: Generic types

    /// Scenario 52.
    @Test("Each specialisation of a generic type is a separate event")
    func generic() {
        observe(Changed<Int>.self, as: "Int")
        observe(Changed<String>.self, as: "String")
        observe(Changed<Changed<Int>>.self, as: "nested Int")
        observe(Outer<Int>.Ended.self, as: "ended Int")
        observe(Outer<String>.Ended.self, as: "ended String")

        expect(heard(Changed(new: 1)), equals: ["Int"])
        expect(heard(Changed(new: "a")), equals: ["String"])
        expect(heard(Changed(new: Changed(new: 1))), equals: ["nested Int"])
        expect(heard(Changed(new: 1.5)), equals: [])
        expect(heard(Outer<Int>.Ended()), equals: ["ended Int"])
        expect(heard(Outer<String>.Ended()), equals: ["ended String"])
    }

    /// Scenario 52: the same specialisation is the same type, wherever it is made.
    @Test("A specialisation that generic code makes is the same event as the one that is written out")
    func specialisedByGenericCode() {
        func publishChange<Value: Sendable>(to value: Value) { publisher.publish(Changed(new: value)) }
        func observeChange<Value: Sendable>(of type: Value.Type) { observe(Changed<Value>.self, as: "\(type)") }
        observe(Changed<Int>.self, as: "written out")
        observeChange(of: Int.self)
        observeChange(of: String.self)

        publishChange(to: 1)
        expect(log.entries, equals: ["written out", "Int"])
        expect(heard(Changed(new: "a")), equals: ["String"])
    }

    // MARK: Existentials

    /// Scenario 54.
    @Test("An event published as `any Event` is delivered to the observers of its dynamic type")
    func existential() {
        observe(Saved.self, as: "saved")
        observe(Changed<Int>.self, as: "changed")
        let events: [any Event] = [Saved(), Changed(new: 1), One.Saved(), Changed(new: "a")]

        for event in events { publisher.publish(event) }

        expect(log.entries, equals: ["saved", "changed"])
    }

    /// Scenario 54.
    @Test(
        "An event published as another existential, or by generic code, is delivered to observers of its dynamic type")
    func otherExistentials() {
        func publish(_ event: some Named) { publisher.publish(event) }
        observe(Titled.self, as: "titled")
        let named: any Named = Titled()
        let equatable: any Event & Equatable = Titled()

        publisher.publish(named)
        publisher.publish(equatable)
        publish(named)

        expect(log.entries, equals: ["titled", "titled", "titled"])
    }

    @Test("An event that contains another event is not delivered to the observers of the contained event")
    func wrapped() {
        observe(Saved.self, as: "saved")
        observe(Box.self, as: "box")

        expect(heard(Box(event: Saved())), equals: ["box"])
        expect(heard(Saved()), equals: ["saved"])
    }

    // MARK: Classes

    /// Scenario 53.
    @Test("An event of a class is delivered to the observers of this class, and of no superclass or subclass")
    func subclass() {
        observe(Base.self, as: "base")
        observe(Leaf.self, as: "leaf")
        observe(Middle.self, as: "middle")
        observe(OtherLeaf.self, as: "other leaf")

        expect(heard(Leaf()), equals: ["leaf"])
        expect(heard(OtherLeaf()), equals: ["other leaf"])
        expect(heard(Middle()), equals: ["middle"])
        expect(heard(Base()), equals: ["base"])
        expect(heard(Unrelated()), equals: [])
    }

    /// Scenarios 53 and 54.
    @Test("The type that an object is published as decides which observers receive it, and not its class")
    func staticType() {
        observe(Leaf.self, as: "leaf")
        observe(Base.self, as: "base")
        _ = publisher.allEvents.add { [log] event in log.append("all \(type(of: event))") }
        let asEvent: any Event = Leaf()

        expect(heard(Leaf()), equals: ["leaf", "all Leaf"])
        expect(heard(Leaf() as Base), equals: ["base", "all Leaf"])
        expect(heard(Leaf() as Middle), equals: ["all Leaf"])
        expect(heard(asEvent), equals: ["leaf", "all Leaf"])
    }

    /// A value of `Base.Type` may denote a subclass, and `type(of:)` returns such values.
    @Test("The static type decides when a type is observed, and not the dynamic metatype")
    func metatype() {
        let type: Base.Type = Leaf.self
        observe(type, as: "as base")
        observe(Leaf.self, as: "leaf")
        observe(Base.self, as: "base")

        expect(heard(Leaf()), equals: ["leaf"])
        expect(heard(Base()), equals: ["as base", "base"])
    }

    @Test("Generic classes and their subclasses are distinguished")
    func genericClasses() {
        observe(GenericBase<Int>.self, as: "base Int")
        observe(GenericBase<String>.self, as: "base String")
        observe(GenericLeaf<Int>.self, as: "leaf Int")

        expect(heard(GenericLeaf<Int>()), equals: ["leaf Int"])
        expect(heard(GenericLeaf<String>()), equals: [])
        expect(heard(GenericBase<Int>()), equals: ["base Int"])
        expect(heard(GenericBase<String>()), equals: ["base String"])
    }

    @Test("An event of a final class is delivered like a structure, and released after its delivery")
    func finalClass() {
        final class Note: Event {
            let life = Tracked(7)
        }
        _ = publisher.observers(of: Note.self).add { [log] note in log.append("\(note.life.value)") }
        _ = publisher.allEvents.add { [log] note in log.append("all \((note as? Note)?.life.value ?? 0)") }

        expect(heard(Note()), equals: ["7", "all 7"])
        expect(Lifetimes.current.count, equals: 0)
    }
}

private enum One {
    struct Saved: Event {}
}

private enum Two {
    struct Saved: Event {}
}

private struct Saved: Event {}

private struct PrivateSaved: Event {}

private struct Changed<Value: Sendable>: Event {
    let new: Value
}

private struct Outer<Value> {
    struct Ended: Event {}
}

private struct Box: Event {
    let event: any Event
}

private protocol Named: Event {}

private struct Titled: Named, Equatable {}

private class Base: Event, @unchecked Sendable {}
private class Middle: Base, @unchecked Sendable {}
private final class Leaf: Middle, @unchecked Sendable {}
private final class OtherLeaf: Middle, @unchecked Sendable {}
private class Unrelated: Event, @unchecked Sendable {}
private class GenericBase<Value>: Event, @unchecked Sendable {}
private final class GenericLeaf<Value>: GenericBase<Value>, @unchecked Sendable {}

private func firstLocalEvent() -> any Event {
    struct Local: Event {}
    return Local()
}

private func secondLocalEvent() -> any Event {
    struct Local: Event {}
    return Local()
}

extension EventTypeTests {
    /// Observes the type of `event`, which cannot be named here.
    private func observeDynamically<E: Event>(_ event: E, as name: String) {
        observe(E.self, as: name)
    }
}
