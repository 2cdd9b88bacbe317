#if NotificationCenter
import Foundation
public import ObserverSet
import Testing

/// The names under which events are posted, and what the notifications contain.
@Suite("Bridged events", .lifetimesChecked, .againstHanging)
struct BridgedEventTests {
    private let center = NotificationCenter()
    private let log = Log<String>()
}

extension BridgedEventTests {
    /// Scenarios 51 and 52: types whose plain names are the same.
    ///
    /// Scenario 53: the class of the instance decides, whatever the static type.
    ///
    /// Scenario 54: an existential is posted under the name of its dynamic type.
    @Test(
        "An event of any kind of type, plain or with a name of its own, is delivered to the observers of that type alone"
    )
    func types() {
        struct Local: BridgedEvent {
            static var notificationName: Notification.Name { Notification.Name("Local") }
            var userInfo: [AnyHashable: Any]? { nil }
        }
        func observe<E: BridgedEvent>(_ type: E.Type, _ text: @escaping @Sendable (E) -> String) {
            _ = center.observers(of: type).add { [log] in log.append(text($0)) }
        }
        observe(TrackStarted.self) { "\($0.title) at \($0.second)" }
        observe(LoggedOut.self) { _ in "logged out" }
        observe(Connection.self) { "\($0)" }
        observe(Player.Stopped.self) { _ in "player" }
        observe(Player.Queue.Stopped.self) { _ in "queue" }
        observe(Setting<Int>.self) { "Int \($0.value)" }
        observe(Setting<String>.self) { "String \($0.value)" }
        observe(Warning.self) { _ in "warning" }
        observe(Alarm.self) { _ in "alarm" }
        observe(Local.self) { _ in "local" }
        observe(NamedSecret.self) { _ in "private" }
        let events: [any BridgedEvent] = [
            TrackStarted(title: "So What", second: 0), LoggedOut(), Connection.lost(code: 4), Player.Stopped(),
            Player.Queue.Stopped(), Setting(value: 1), Setting(value: "a"), Warning(), Alarm(), Local(), NamedSecret(),
        ]

        for event in events { center.post(event) }
        center.post(Alarm() as Warning)

        let expected = [
            "So What at 0", "logged out", "lost(code: 4)", "player", "queue", "Int 1", "String a", "warning", "alarm",
            "local", "private", "alarm",
        ]
        expect(log.entries, equals: expected)
    }

    @Test("By default, an event has its type's full name, and its notification carries it for code that knows that")
    func defaults() {
        let event = TrackStarted(title: "So What", second: 3)
        let names = [TrackStarted.notificationName, Player.Queue.Stopped.notificationName]
        expect(
            names.map(\.rawValue), equals: ["TrackStarted", "Player.Queue.Stopped"].map { "ObserverSetTests.\($0)" })
        expect(event.userInfo?.count, equals: 1)
        expect(TrackStarted(Notification(name: names[0], userInfo: event.userInfo))?.title, equals: "So What")
        expect(TrackStarted(Notification(name: names[0]))?.title, equals: nil)
        // A missing value can be cast to an optional type.
        expect(LoggedOut?(Notification(name: names[0])) == nil)
    }

    @Test("To post or observe a private or local type without a declared name stops the program, with the remedy")
    func nameless() async {
        let local = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            struct Local: BridgedEvent {}
            NotificationCenter().post(Local())
        }
        let observed = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NotificationCenter().observers(of: Secret.self).add { _ in }
        }
        let generic = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            NotificationCenter().post(Setting(value: Secret()))
        }
        for (result, type) in [(local, "Local"), (observed, "Secret"), (generic, "Setting<Secret>")] {
            let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            let remedy = "declare `static var notificationName: Notification.Name` in it"
            #expect(text.contains("\(type) is private or local, and has no stable name: \(remedy)"), "\(text)")
        }
    }

    @Test("Many threads that request a name at once all get the right name")
    func nameFromManyThreads() async {
        await onThreads(8) { _ in
            for _ in 0..<100 {
                let name = Setting<[UInt16]>.notificationName.rawValue
                expect(name, equals: "ObserverSetTests.Setting<Swift.Array<Swift.UInt16>>")
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
    case lost(code: Int)
}

enum Player {
    struct Stopped: BridgedEvent {}

    enum Queue {
        struct Stopped: BridgedEvent {}
    }
}

extension Optional: Event where Wrapped == LoggedOut {}
extension Optional: BridgedEvent where Wrapped == LoggedOut {}

class Warning: BridgedEvent, @unchecked Sendable {}

final class Alarm: Warning, @unchecked Sendable {}

private struct Secret: BridgedEvent {}

private struct NamedSecret: BridgedEvent {
    static var notificationName: Notification.Name { Notification.Name("NamedSecret") }
}
#endif
