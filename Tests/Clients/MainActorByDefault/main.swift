// A client in language mode 6 whose code is isolated to the main actor by default.

import Dispatch
import ObserverSet

final class Playlist {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let moved = ObserverSet<(Int, Int)>()
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    private let playedObservers = ObserverSet<Int>()
    var played: some NotificationSource<Int> { playedObservers }

    func play(_ index: Int) { playedObservers.notify(index) }
}

final class PlaylistView {
    var log: [String] = []

    func observe(_ playlist: Playlist) {
        playlist.cleared.add(method: PlaylistView.clear, of: self)
        playlist.renamed.add(method: PlaylistView.rename, of: self)
        playlist.moved.add(method: PlaylistView.move, of: self)
        playlist.itemAdded.add(self) { view, item in view.log.append("\(item.name) at \(item.index)") }
        _ = playlist.played.add { [weak self] index in self?.log.append("playing \(index)") }
        playlist.renamed.once.add(self) { view, name in view.log.append("first \(name)") }
    }

    func clear() { log.append("cleared") }
    func rename(_ name: String) { log.append("renamed \(name)") }
    func move(_ from: Int, _ to: Int) { log.append("moved \(from) to \(to)") }
}

nonisolated final class Download: Sendable {
    let progressed = ObserverSet<Double>()
    let finished = ObserverSet<Void>()

    func run() {
        for step in 1...4 { progressed.notify(Double(step) / 4) }
        finished.notify()
    }
}

/// On the main actor, although the download runs elsewhere: its observers are called here, in order.
final class ProgressBar {
    var fractions: [Double] = []
    var hasFinished = false

    init(_ download: Download) {
        download.progressed.add(self) { bar, fraction in bar.fractions.append(fraction) }
        download.finished.add(method: ProgressBar.finish, of: self)
    }

    func finish() { hasFinished = true }
}

actor Statistics {
    private(set) var fractions: [Double] = []

    func observe(_ download: Download) {
        download.progressed.add(self) { statistics, fraction in statistics.fractions.append(fraction) }
    }
}

nonisolated final class Logger: Sendable {
    func progress(_ fraction: Double) {}
    func finish() {}
}

let playlist = Playlist()
let view = PlaylistView()
view.observe(playlist)
playlist.cleared.notify()
playlist.renamed.notify("Kind of Blue")
playlist.moved.notify(2, 5)
playlist.itemAdded.notify((name: "So What", index: 0))
playlist.play(0)
precondition(
    view.log == [
        "cleared", "renamed Kind of Blue", "first Kind of Blue", "moved 2 to 5", "So What at 0", "playing 0",
    ], "\(view.log)")

let download = Download()
let bar = ProgressBar(download)
let statistics = Statistics()
let logger = Logger()
await statistics.observe(download)
download.progressed.add(method: Logger.progress, of: logger)
download.finished.add(method: Logger.finish, of: logger)
_ = download.progressed.addNonisolated { fraction in print("progress", fraction) }
download.progressed.addNonisolated(logger) { logger, fraction in logger.progress(fraction) }
_ = download.progressed.once.add { fraction in print("started at", fraction) }
_ = download.progressed.addNonisolated(on: .global()) { fraction in print("on a queue", fraction) }
download.progressed.addNonisolated(on: .main, logger) { logger, fraction in logger.progress(fraction) }
let token = download.progressed.add { fraction in print("never", fraction) }
precondition(token.isActive && download.progressed.remove(token) && !token.remove())

await Task.detached { [download] in download.run() }.value
await download.progressed.settled()
await download.finished.settled()
precondition(bar.fractions == [0.25, 0.5, 0.75, 1] && bar.hasFinished)
let counted = await statistics.fractions
precondition(counted == bar.fractions)
await useGroupsAndBags()
await useMethods()

await runEvents()
try await useDelegates()
await useSequences()

useLocalSets()
await measureElsewhere()
useTypedNotifications()
