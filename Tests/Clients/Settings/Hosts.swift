// The types and functions whose names the forms of `.ci/settings` pass. Where the main actor is the default, `.ci/settings` takes
// `@MainActor` away at the beginning of each line. Between `// Each kind:` and an empty line, it repeats everything for values of
// other types than `String`.

import Dispatch
import Foundation
import ObserverSet
import Probe

@MainActor final class View: Shower {
    let queue = DispatchQueue(label: "queue")
    // Each kind:
    lazy var storedText: @MainActor @Sendable (String) -> Void = showText
    func showText(_ value: String) { Place.note() }
    func showTextLater(_ value: String) async { Place.note() }
    func returnedText() -> (String) -> Void { { value in self.showText(value) } }
    static func tellText(_ value: String) { Place.note() }
    static func bothText(_ view: View, _ value: String) { Place.note() }

    func shorten(_ text: String) -> String {
        Place.note()
        return text
    }
    func shortenOrDrop(_ text: String) -> String? {
        Place.note()
        return text
    }
    func isGood(_ text: String) -> Bool {
        Place.note()
        return true
    }
    func pick(_ notification: Notification) -> String? {
        Place.note()
        return ""
    }
    func watch(_ isObserved: Bool) { Place.note() }
    static func shortenAll(_ text: String) -> String {
        Place.note()
        return text
    }
    static func isGoodAll(_ text: String) -> Bool {
        Place.note()
        return true
    }
    func stopped() { Place.note() }
}

@MainActor protocol Shower: AnyObject {
    // Each kind:
    func showText(_ value: String)

    func stopped()
}

// Each kind:
@MainActor func handleText(_ value: String) { Place.note() }
@MainActor func handleTextLater(_ value: String) async { Place.note() }
@MainActor func handleTextBy(_ view: View, _ value: String) { Place.note() }

@MainActor func shorten(_ text: String) -> String {
    Place.note()
    return text
}
@MainActor func isGood(_ text: String) -> Bool {
    Place.note()
    return true
}
@MainActor func pick(_ notification: Notification) -> String? {
    Place.note()
    return ""
}
@MainActor func watch(_ isObserved: Bool) { Place.note() }
@MainActor func tell(_ shower: any Shower) { shower.stopped() }

actor Keeper {
    nonisolated let executor = QueueExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    nonisolated let queue = DispatchQueue(label: "queue")
    func notify(_ model: Model) { model.notify() }
    // Each kind:
    func showText(_ value: String) { Place.note() }
    func showTextLater(_ value: String) async { Place.note() }

    func shorten(_ text: String) -> String {
        Place.note()
        return text
    }
    func isGood(_ text: String) -> Bool {
        Place.note()
        return true
    }
    func pick(_ notification: Notification) -> String? {
        Place.note()
        return ""
    }
    func watch(_ isObserved: Bool) { Place.note() }
}

nonisolated final class Log: Sendable {
    // Each kind:
    func showText(_ value: String) { Place.note() }
    func showTextLater(_ value: String) async { Place.note() }
    @concurrent func showTextElsewhere(_ value: String) async { Place.note() }

    func shorten(_ text: String) -> String {
        Place.note()
        return text
    }
}
