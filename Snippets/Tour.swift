// The README's examples: a model and a view on the main actor, and a server's actors.
//
//     swift run Tour

import ObserverSet

@MainActor final class Playlist {
    let added = ObserverSet<String>()
    func append(_ title: String) { added.notify(title) }
}

@MainActor final class PlaylistView {
    init(_ playlist: Playlist) {
        playlist.added.add(self) { view, title in view.show(title) }  // no token, no [weak self]
    }
    func show(_ title: String) { print("added: \(title)") }
}

let playlist = Playlist()
var view: PlaylistView? = PlaylistView(playlist)
playlist.append("So What")
debugPrint(playlist.added)
view = nil  // and the observer is gone, too
debugPrint(playlist.added)

// MARK: A server

actor Orders {
    nonisolated let placed = ObserverSet<Int>()
    func place(_ number: Int) { placed.notify(number) }  // returns at once: the mailer works later
}

actor Mailer {
    init(_ orders: Orders) {
        orders.placed.addAsync(self) { mailer, number in await mailer.confirm(number) }  // one at a time, in order
    }
    func confirm(_ number: Int) async { print("confirmed order \(number)") }
}

let orders = Orders()
let mailer = Mailer(orders)
await orders.place(1)
await orders.place(2)
await orders.placed.settled()  // both are confirmed: for tests, and for a shutdown
