// What the examples of `LocalObserverSet` take for granted; see Context.swift.

import ObserverSet

nonisolated final class Playlist {
    let itemAdded = LocalObserverSet<(name: String, index: Int)>()
    let cleared = LocalObserverSet<Void>()
}

nonisolated final class Document {
    let titleChanged = LocalObserverSet<String>()
}

nonisolated final class Table {
    let moved = LocalObserverSet<(Int, Int)>()
}

nonisolated final class Connection {
    let opened = LocalObserverSet<Void>()
}

@MainActor let playlist = Playlist()
@MainActor let document = Document()
@MainActor let table = Table()
@MainActor let connection = Connection()

/// Whatever an example calls its view: the examples are its methods.
@MainActor class View {
    func insert(_ name: String, at index: Int) {}
    func clear() {}
    func setTitle(_ title: String) {}
    func moveRow(_ from: Int, _ to: Int) {}
}

typealias PlaylistView = View
typealias TableView = View
typealias Window = View

@MainActor let view = View()
