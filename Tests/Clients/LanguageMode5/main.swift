// A client in language mode 5: older code that has not been made safe for concurrency.

import Dispatch
import ObserverSet

/// A class like any other, used on one thread.
class Playlist {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let moved = ObserverSet<(Int, Int)>()
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    private let playedObservers = ObserverSet<Int>()
    var played: some NotificationSource<Int> { playedObservers }

    var title = "" {
        didSet { renamed.notify(title) }
    }

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

final class Logger: Sendable {
    func rename(_ name: String) {}
    func clear() {}
}

actor Index {
    private(set) var names: [String] = []

    func observe(_ renamed: ObserverSet<String>) {
        renamed.add(self) { index, name in index.names.append(name) }
    }
}

@MainActor func run() async {
    useLocalSets()
    let playlist = Playlist()
    let view = PlaylistView()
    view.observe(playlist)
    playlist.cleared.notify()
    // Notified from code that is not declared to be on the main actor.
    playlist.title = "Kind of Blue"
    playlist.moved.notify(2, 5)
    playlist.itemAdded.notify((name: "So What", index: 0))
    playlist.play(0)
    precondition(
        view.log == [
            "cleared", "renamed Kind of Blue", "first Kind of Blue", "moved 2 to 5", "So What at 0", "playing 0",
        ], "\(view.log)")

    let logger = Logger()
    let index = Index()
    await index.observe(playlist.renamed)
    playlist.renamed.add(method: Logger.rename, of: logger)
    playlist.cleared.add(method: Logger.clear, of: logger)
    _ = playlist.renamed.addNonisolated { name in print("renamed", name) }
    playlist.renamed.addNonisolated(logger) { logger, name in logger.rename(name) }
    _ = playlist.renamed.once.add { name in print("once", name) }
    _ = playlist.renamed.addNonisolated(on: .global()) { name in print("on a queue", name) }
    playlist.renamed.addNonisolated(on: .main, logger) { logger, name in logger.rename(name) }
    let token = playlist.renamed.add { name in print("never", name) }
    precondition(token.isActive && playlist.renamed.remove(token) && !token.remove())
    playlist.title = "Sketches of Spain"
    await playlist.renamed.settled()
    let names = await index.names
    precondition(names == ["Sketches of Spain"], "\(names)")
}

await run()
await useGroupsAndBags()
await useMethods()

await runEvents()
try await useDelegates()
await useSequences()
useTypedNotifications()
