// Typed notifications through Foundation's center, together with code that knows only names and `userInfo`.
//
//     swift run Notifications

// This code needs the package trait NotificationCenter, which is on by default.
#if NotificationCenter
import Foundation
import ObserverSet

// MARK: Code that uses names and `userInfo`

extension Notification.Name {
    static let batteryDidChange = Notification.Name("BatteryDidChange")
}

func postAsEver(_ percent: Int, to center: NotificationCenter) {
    center.post(name: .batteryDidChange, object: nil, userInfo: ["percent": percent])
}

// MARK: The same notification, typed

struct BatteryChanged: BridgedEvent {
    let percent: Int

    static var notificationName: Notification.Name { .batteryDidChange }
    var userInfo: [AnyHashable: Any]? { ["percent": percent] }

    init(percent: Int) { self.percent = percent }

    init?(_ notification: Notification) {
        guard let percent = notification.userInfo?["percent"] as? Int else { return nil }
        self.init(percent: percent)
    }
}

/// A new event, which only new code observes, needs no name and no `userInfo`.
struct ChargerConnected: BridgedEvent {
    let watts: Double
}

@MainActor final class StatusBar {
    init(_ center: NotificationCenter) {
        center.observers(of: BatteryChanged.self).add(self) { bar, battery in bar.show("\(battery.percent) %") }
        center.observers(of: ChargerConnected.self).add(self) { bar, charger in bar.show("\(charger.watts) W") }
        center.observers(named: UserDefaults.didChangeNotification).add(self) { bar in bar.show("other settings") }
    }

    func show(_ text: String) { print("status bar:", text) }
}

let center = NotificationCenter.default
var bar: StatusBar? = StatusBar(center)
let old = center.addObserver(forName: .batteryDidChange, object: nil, queue: nil) { notification in
    print("old observer:", notification.userInfo?["percent"] ?? "?")
}

postAsEver(80, to: center)  // the status bar receives it
center.post(BatteryChanged(percent: 79))  // the old observer receives it
center.post(name: .batteryDidChange, object: nil, userInfo: ["percent": "?"])  // the status bar skips this payload
center.post(ChargerConnected(watts: 65))

bar = nil  // nothing to remove
postAsEver(81, to: center)
center.removeObserver(old)
#endif
