// A client in language mode 6, where nothing is isolated unless it is declared to be.

import Dispatch
import ObserverSet

/// A model on the main actor, with a notification for each kind of parameters.
@MainActor final class Playlist {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let moved = ObserverSet<(Int, Int)>()
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    // Only the playlist itself can notify.
    private let playedObservers = ObserverSet<Int>()
    var played: some NotificationSource<Int> { playedObservers }

    func play(_ index: Int) { playedObservers.notify(index) }
}

@MainActor final class PlaylistView {
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

/// A model that any thread may use.
final class Download: Sendable {
    let progressed = ObserverSet<Double>()
    let finished = ObserverSet<Void>()

    func run() {
        for step in 1...4 { progressed.notify(Double(step) / 4) }
        finished.notify()
    }
}

actor Statistics {
    private(set) var fractions: [Double] = []
    private(set) var hasFinished = false

    func observe(_ download: Download) {
        download.progressed.add(self) { statistics, fraction in statistics.fractions.append(fraction) }
        download.finished.add(self) { statistics, _ in statistics.hasFinished = true }
    }
}

@globalActor actor Storage {
    static let shared = Storage()
}

@Storage final class Recorder {
    var fractions: [Double] = []

    nonisolated init() {}

    func observe(_ download: Download) {
        download.progressed.add(self) { recorder, fraction in recorder.fractions.append(fraction) }
    }
}

final class Logger: Sendable {
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
let statistics = Statistics()
let recorder = Recorder()
let logger = Logger()
await statistics.observe(download)
await recorder.observe(download)
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
let counted = await statistics.fractions
let hasFinished = await statistics.hasFinished
let recorded = await recorder.fractions
precondition(counted == [0.25, 0.5, 0.75, 1] && hasFinished && recorded == counted)
await useGroupsAndBags()
await useMethods()

await runEvents()
try await useDelegates()
await useSequences()

useLocalSets()
await useLocalSetsOnActors()
useTypedNotifications()
