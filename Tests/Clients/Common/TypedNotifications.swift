import Foundation
import ObserverSet

struct TemperatureMeasured: BridgedEvent {
    let degrees: Int

    static var notificationName: Notification.Name { Notification.Name("TemperatureMeasured") }

    init?(_ notification: Notification) {
        guard let degrees = notification.userInfo?["degrees"] as? Int else { return nil }
        self.degrees = degrees
    }
}

struct TargetChanged: BridgedEvent {
    let degrees: Int

    static var notificationName: Notification.Name { Notification.Name("TargetChanged") }
    var userInfo: [AnyHashable: Any]? { ["degrees": degrees] }

    init(degrees: Int) {
        self.degrees = degrees
    }

    init?(_ notification: Notification) {
        guard let degrees = notification.userInfo?["degrees"] as? Int else { return nil }
        self.degrees = degrees
    }
}

/// An event that needs no additional code.
struct AlarmRaised: BridgedEvent {
    let text: String
}

func useTypedNotifications() {
    let center = NotificationCenter()
    let old = OldThermostat(center)
    let measured = ObserverSet<Int>()
    let bag = ObserverBag()
    let heard = HeardNumbers()
    measured.addNonisolated { heard.append($0) }.store(in: bag)
    center.observers(of: TemperatureMeasured.self, object: old)
        .addNonisolated { measured.notify($0.degrees) }.store(in: bag)
    center.observers(of: AlarmRaised.self).addNonisolated { measured.notify($0.text.count) }.store(in: bag)

    old.report(19)
    old.reportNonsense()
    old.report(20)
    center.post(TargetChanged(degrees: 21))
    center.post(AlarmRaised(text: "frost"))
    bag.removeAll()
    old.report(30)
    old.end()

    precondition(heard.numbers == [19, 20, 5], "\(heard.numbers)")
    precondition(old.heard == [21], "\(old.heard)")
}

nonisolated final class HeardNumbers: @unchecked Sendable {
    private(set) var numbers: [Int] = []

    func append(_ number: Int) { numbers.append(number) }
}
