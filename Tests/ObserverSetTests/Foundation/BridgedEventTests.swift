#if NotificationCenter
import Foundation
import ObserverSet
import Testing

/// The names under which events are posted, and what the notifications contain.
@Suite("Bridged events", .lifetimesChecked, .againstHanging)
struct BridgedEventTests {
    private let center = NotificationCenter()
    private let log = Log<String>()

    // MARK: Without additional code

    @Test("A plain structure is posted and observed without additional code")
    func plainStructure() {
        _ = center.observers(of: TrackStarted.self).add { [log] in log.append("\($0.title) at \($0.second)") }

        center.post(TrackStarted(title: "So What", second: 0))

        expect(log.entries, equals: ["So What at 0"])
    }

    @Test("By default, an event is posted under its type's name, and carries itself")
    func defaults() throws {
        let event = TrackStarted(title: "So What", second: 3)
        let found = try #require(event.userInfo?["event"] as? TrackStarted)

        expect(TrackStarted.notificationName.rawValue, equals: "ObserverSetTests.TrackStarted")
        expect(found.title, equals: "So What")
        expect(event.userInfo?.count, equals: 1)
    }

    @Test("Code that knows the type can read an event from the notification that carries it")
    func read() {
        let name = TrackStarted.notificationName
        let token = center.addObserver(forName: name, object: nil, queue: nil) { [log] notification in
            log.append(TrackStarted(notification)?.title ?? "nothing")
        }

        center.post(TrackStarted(title: "So What", second: 0))
        center.post(name: name, object: nil)

        expect(log.entries, equals: ["So What", "nothing"])
        center.removeObserver(token)
    }

    @Test("An event without `userInfo` is received")
    func withoutUserInfo() {
        struct Cleared: BridgedEvent {
            static let notificationName = Notification.Name("Cleared")
            var userInfo: [AnyHashable: Any]? { nil }
        }
        _ = center.observers(of: Cleared.self).add { [log] _ in log.append("cleared") }

        center.post(Cleared())

        expect(log.entries, equals: ["cleared"])
    }

    @Test("The notification's name contains the module and the types in which the type is nested")
    func nestedName() {
        expect(Player.Stopped.notificationName.rawValue, equals: "ObserverSetTests.Player.Stopped")
        expect(Player.Queue.Stopped.notificationName.rawValue, equals: "ObserverSetTests.Player.Queue.Stopped")
    }

    /// Scenarios 51 and 52: types whose plain names are the same.
    @Test("Events with the same plain name, or of different specialisations, are distinguished")
    func namesakes() {
        _ = center.observers(of: Player.Stopped.self).add { [log] _ in log.append("player") }
        _ = center.observers(of: Player.Queue.Stopped.self).add { [log] _ in log.append("queue") }
        _ = center.observers(of: Setting<Int>.self).add { [log] in log.append("Int \($0.value)") }
        _ = center.observers(of: Setting<String>.self).add { [log] in log.append("String \($0.value)") }

        center.post(Player.Stopped())
        center.post(Player.Queue.Stopped())
        center.post(Setting(value: 1))
        center.post(Setting(value: "a"))

        expect(log.entries, equals: ["player", "queue", "Int 1", "String a"])
    }

    @Test("An enumeration and an event without content need no additional code")
    func otherKinds() {
        _ = center.observers(of: Connection.self).add { [log] in log.append("\($0)") }
        _ = center.observers(of: LoggedOut.self).add { [log] _ in log.append("logged out") }

        center.post(Connection.lost(code: 4))
        center.post(LoggedOut())

        expect(log.entries, equals: ["lost(code: 4)", "logged out"])
    }

    /// Scenario 53: the class of the instance decides, whatever the static type.
    @Test("An instance of a subclass is posted under the name of its own class")
    func subclass() {
        _ = center.observers(of: Warning.self).add { [log] _ in log.append("warning") }
        _ = center.observers(of: Alarm.self).add { [log] _ in log.append("alarm") }

        center.post(Warning())
        center.post(Alarm())
        center.post(Alarm() as Warning)

        expect(log.entries, equals: ["warning", "alarm", "alarm"])
    }

    /// Scenario 54: an existential is posted under the name of its dynamic type.
    @Test("An event whose static type is unknown is posted under the name of its dynamic type")
    func existential() {
        _ = center.observers(of: TrackStarted.self).add { [log] in log.append($0.title) }
        let events: [any BridgedEvent] = [LoggedOut(), TrackStarted(title: "Blue in Green", second: 0)]

        for event in events { center.post(event) }

        expect(log.entries, equals: ["Blue in Green"])
    }

    // MARK: Names that must be declared

    @Test("A local type without a declared name stops the program, with a message that gives the remedy")
    func localType() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            struct Local: BridgedEvent {}
            NotificationCenter().post(Local())
        }
        expectRemedy(in: result, for: "Local")
    }

    @Test("A private type without a declared name also stops the program when it is observed")
    func privateType() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = NotificationCenter().observers(of: Secret.self).add { _ in }
        }
        expectRemedy(in: result, for: "Secret")
    }

    @Test("A generic event of a private type stops the program when it is posted")
    func genericOfPrivateType() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            NotificationCenter().post(Setting(value: Secret()))
        }
        expectRemedy(in: result, for: "Setting<Secret>")
    }

    private func expectRemedy(in result: ExitTest.Result?, for type: String) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "\(type) is private or local, and has no stable name: "
                    + "declare `static var notificationName: Notification.Name` in it"), "\(text)")
    }

    @Test("Local and private types with a declared name are events like any other")
    func namedLocalTypes() {
        struct Local: BridgedEvent {
            static var notificationName: Notification.Name { Notification.Name("Local") }
        }
        _ = center.observers(of: Local.self).add { [log] _ in log.append("local") }
        _ = center.observers(of: NamedSecret.self).add { [log] _ in log.append("private") }

        center.post(Local())
        center.post(NamedSecret())

        expect(log.entries, equals: ["local", "private"])
    }

    @Test("Many threads that request a name at once all get the right name")
    func nameFromManyThreads() async {
        await onThreads(8) { _ in
            for _ in 0..<100 {
                expect(
                    Setting<[UInt16]>.notificationName.rawValue,
                    equals: "ObserverSetTests.Setting<Swift.Array<Swift.UInt16>>"
                )
            }
        }
    }
}

struct TrackStarted: BridgedEvent {
    let title: String
    let second: Int
}

struct LoggedOut: BridgedEvent {}

struct Setting<Value: Sendable>: BridgedEvent {
    let value: Value
}

enum Connection: BridgedEvent {
    case made
    case lost(code: Int)
}

enum Player {
    struct Stopped: BridgedEvent {}

    enum Queue {
        struct Stopped: BridgedEvent {}
    }
}

class Warning: BridgedEvent, @unchecked Sendable {}

final class Alarm: Warning, @unchecked Sendable {}

private struct Secret: BridgedEvent {}

private struct NamedSecret: BridgedEvent {
    static var notificationName: Notification.Name { Notification.Name("NamedSecret") }
}
#endif
