// The first example of the documentation, and calls from its page "Cheat sheet".

import ObserverSet

@MainActor final class Playlist {
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    let cleared = ObserverSet<Void>()
}

@MainActor final class PlaylistView {
    init(_ playlist: Playlist) {
        playlist.itemAdded.add(self) { view, item in view.show("\(item.name) at \(item.index)") }
        playlist.cleared.add(method: PlaylistView.clear, of: self)  // weakly held: no removal needed, ever
    }
    func show(_ text: String) { print(text) }
    func clear() { print("nothing to play") }
}

let playlist = Playlist()
let view = PlaylistView(playlist)
playlist.itemAdded.notify((name: "So What", index: 0))
playlist.cleared.notify()

// Calls from the page "Cheat sheet".

final class Logger: Sendable {
    func log(_ text: String) { print("log: \(text)") }
}

actor History {
    var names: [String] = []

    func follow(_ playlist: Playlist) {
        playlist.itemAdded.add(self) { history, item in history.names.append(item.name) }
    }
}

@MainActor final class Player {
    private let titleObservers = ObserverSet<String>()
    nonisolated var titleChanged: some NotificationSource<String> { titleObservers }
    let moved = ObserverSet<(Int, Int)>()

    func play(_ title: String) { titleObservers.notify(title) }
}

let player = Player()
let logger = Logger()
let history = History()
await history.follow(playlist)

player.titleChanged.add(method: Logger.log, of: logger)
_ = player.titleChanged.once.add { title in print("first: \(title)") }
_ = player.titleChanged.addNonisolated { title in print("on the notifying thread: \(title)") }
_ = player.titleChanged.addNonisolated(on: .global()) { title in print("on a queue: \(title)") }
player.moved.notify(2, 5)
let token = playlist.cleared.add { print("cleared") }
token.remove()

player.play("Freddie Freeloader")
playlist.itemAdded.notify((name: "Blue in Green", index: 1))
await playlist.itemAdded.settled()
