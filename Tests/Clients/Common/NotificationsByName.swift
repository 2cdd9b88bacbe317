import Foundation

// A program that knows only names and `userInfo`: the other half, in `TypedNotifications.swift`, knows only types.

/// Posts and observes by name, as all code did before there were typed notifications.
final class OldThermostat: @unchecked Sendable {
    private let center: NotificationCenter
    private var token: (any NSObjectProtocol)?
    nonisolated(unsafe) private(set) var heard: [Int] = []

    init(_ center: NotificationCenter) {
        self.center = center
        token = center.addObserver(forName: Notification.Name("TargetChanged"), object: nil, queue: nil) {
            [weak self] notification in
            if let degrees = notification.userInfo?["degrees"] as? Int { self?.heard.append(degrees) }
        }
    }

    func report(_ degrees: Int) {
        center.post(
            name: Notification.Name("TemperatureMeasured"), object: self, userInfo: ["degrees": degrees, "unit": "C"])
    }

    func reportNonsense() {
        center.post(name: Notification.Name("TemperatureMeasured"), object: self, userInfo: ["degrees": "warm"])
    }

    func end() {
        if let token { center.removeObserver(token) }
    }
}
