import ObserverSet
import Testing

/// Which types of events are distinguished: scenarios 51 to 54, and bad input with regard to event types.
@Suite("Types of events", .lifetimesChecked)
struct EventTypeTests {
    private let publisher = EventPublisher()
    private let log = Log<String>()
}

extension EventTypeTests {
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
    @Test("Nested, local and private types with the same name are distinguished, also from those of another file")
    func names() {
        let (first, second) = (firstLocalEvent(), secondLocalEvent())
        let theirs = privateSavedOfAnotherFile()
        observe(One.Saved.self, as: "one")
        observe(Two.Saved.self, as: "two")
        observe(Saved.self, as: "outer")
        observeDynamically(first, as: "first")
        observeDynamically(second, as: "second")
        observe(PrivateSaved.self, as: "this file's")
        observeDynamically(theirs, as: "another file's")
        expect("\(type(of: first))", equals: "\(type(of: second))")

        let events: [any Event] = [One.Saved(), Two.Saved(), Saved(), first, second, PrivateSaved(), theirs]

        let names = ["one", "two", "outer", "first", "second", "this file's", "another file's"]
        expect(events.flatMap { heard($0) }, equals: names)
    }

    @Test("Enumerations, types without values and actors may be events, and one that contains another is another event")
    func kinds() async {
        enum Change: Event { case inserted, removed(at: Int) }
        enum Nothing: Event {}
        actor Agent: Event {}
        observe(Change.self, as: "enumeration")
        observe(Nothing.self, as: "nothing")
        observe(Agent.self, as: "actor")
        observe(Saved.self, as: "saved")
        observe(Box.self, as: "box")

        let events: [any Event] = [Change.removed(at: 1), Change.inserted, Agent(), Box(event: Saved()), Saved()]
        expect(events.flatMap { heard($0) }, equals: ["enumeration", "enumeration", "actor", "box", "saved"])
    }

    // MARK: Generic types

    /// Scenario 52: the same specialisation is the same type, wherever it is made.
    @Test("Each specialisation of a generic type is a separate event, and the same in generic code as written out")
    func generic() {
        func changed<Value: Sendable>(to value: Value) -> some Event { Changed(new: value) }
        observe(Changed<Int>.self, as: "Int")
        observe(Changed<Changed<Int>>.self, as: "nested Int")
        observeDynamically(changed(to: "b"), as: "String")
        observe(Outer<Int>.Ended.self, as: "ended Int")
        observe(Outer<String>.Ended.self, as: "ended String")

        let events: [any Event] = [
            Changed(new: 1), changed(to: 2), Changed(new: "a"), Changed(new: Changed(new: 1)), Changed(new: 1.5),
            Outer<Int>.Ended(), Outer<String>.Ended(),
        ]

        let expected = ["Int", "Int", "String", "nested Int", "ended Int", "ended String"]
        expect(events.flatMap { heard($0) }, equals: expected)
    }

    // MARK: Classes

    /// Scenario 53.
    @Test("An event of a class, generic or not, is delivered to the observers of this class alone")
    func subclass() {
        observe(Base.self, as: "base")
        observe(Leaf.self, as: "leaf")
        observe(Middle.self, as: "middle")
        observe(OtherLeaf.self, as: "other leaf")
        observe(GenericBase<Int>.self, as: "base Int")
        observe(GenericBase<String>.self, as: "base String")
        observe(GenericLeaf<Int>.self, as: "leaf Int")

        expect([heard(Leaf()), heard(OtherLeaf()), heard(Middle())], equals: [["leaf"], ["other leaf"], ["middle"]])
        expect([heard(Base()), heard(Unrelated())], equals: [["base"], []])
        expect([heard(GenericLeaf<Int>()), heard(GenericLeaf<String>())], equals: [["leaf Int"], []])
        expect([heard(GenericBase<Int>()), heard(GenericBase<String>())], equals: [["base Int"], ["base String"]])
    }

    /// Scenario 53, and Scenario 54: an event that is published as an existential.
    @Test("The type that an object is published as decides which observers receive it, and not its class")
    func staticType() {
        observe(Leaf.self, as: "leaf")
        observe(Base.self, as: "base")
        _ = publisher.allEvents.add { [log] event in log.append("all \(type(of: event))") }
        let asEvent: any Event = Leaf()

        expect(heard(Leaf()), equals: ["all Leaf", "leaf"])
        expect(heard(Leaf() as Base), equals: ["all Leaf", "base"])
        expect(heard(Leaf() as Middle), equals: ["all Leaf"])
        expect(heard(asEvent), equals: ["all Leaf", "leaf"])
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
    private func observeDynamically<E: Event>(_ event: E, as name: String) { observe(E.self, as: name) }
}
