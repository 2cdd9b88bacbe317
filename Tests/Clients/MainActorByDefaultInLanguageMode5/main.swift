// A client with the settings of a new Xcode project: language mode 5 with minimal checking, code that is isolated to the main actor
// by default, and the five features of Approachable Concurrency.

import ObserverSet

nonisolated final class Download: Sendable {
    let progressed = ObserverSet<Double>()
    let finished = ObserverSet<Void>()

    func run() {
        for step in 1...4 { progressed.notify(Double(step) / 4) }
        finished.notify()
    }
}

/// On the main actor by default, where its closures are called, although the download runs elsewhere.
final class ProgressBar {
    private(set) var log: [String] = []

    init(_ download: Download) {
        download.progressed.add(self) { bar, fraction in bar.hear("\(fraction)") }
        download.progressed.once.add(self) { bar, fraction in bar.hear("first \(fraction)") }
        download.progressed.addAsync(self) { bar, fraction in bar.hear("awaited \(fraction)") }
        _ = download.finished.add { [weak self] in self?.hear("finished") }
    }

    private func hear(_ text: String) {
        MainActor.preconditionIsolated()
        log.append(text)
    }
}

/// A class must be marked if its methods are passed with `method:`.
///
/// Otherwise, the compiler warns: see Tests/Clients/NewProject.
@MainActor final class Label {
    private(set) var text = ""

    init(_ download: Download) {
        download.progressed.add(method: Label.show, of: self)
        download.finished.add(method: Label.clear, of: self)
    }

    private func show(_ fraction: Double) {
        MainActor.preconditionIsolated()
        text += "\(fraction) "
    }

    private func clear() {
        MainActor.preconditionIsolated()
        text += "done"
    }
}

let download = Download()
let bar = ProgressBar(download)
let label = Label(download)
await Task.detached { download.run() }.value
await download.progressed.settled()
await download.finished.settled()
precondition(bar.log.filter { $0.hasPrefix("0") || $0.hasPrefix("1") } == ["0.25", "0.5", "0.75", "1.0"])
precondition(bar.log.filter { $0.hasPrefix("first") } == ["first 0.25"])
precondition(bar.log.filter { $0.hasPrefix("awaited") }.count == 4)
precondition(bar.log.filter { $0 == "finished" }.count == 1)
precondition(label.text.replacing("done", with: "").split(separator: " ") == ["0.25", "0.5", "0.75", "1.0"])

await checkAllNames()
