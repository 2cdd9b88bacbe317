// The README's examples: a model and a view, and the same view with `NotificationCenter`.
//
//     swift run Tour

import Foundation
import ObserverSet

@MainActor final class Playlist {
    let added = ObserverSet<String>()
    func append(_ title: String) { added.notify(title) }
}

@MainActor final class PlaylistView {
    init(_ playlist: Playlist) {
        playlist.added.add(self) { view, title in view.show(title) }
    }
    func show(_ title: String) { print("added: \(title)") }
}

let playlist = Playlist()
var view: PlaylistView? = PlaylistView(playlist)
playlist.append("So What")
debugPrint(playlist.added)
view = nil  // the observer goes away, too
debugPrint(playlist.added)

// MARK: Before

extension Notification.Name {
    static let titleAdded = Notification.Name("TitleAdded")
}

@MainActor final class OldPlaylistView {
    private var observation: (any NSObjectProtocol)?
    init(_ playlist: Playlist) {
        observation = NotificationCenter.default.addObserver(
            forName: .titleAdded, object: playlist, queue: .main
        ) { [weak self] notification in
            guard let title = notification.userInfo?["title"] as? String else { return }
            MainActor.assumeIsolated { self?.show(title) }
        }
    }
    func close() { NotificationCenter.default.removeObserver(observation!) }
    func show(_ title: String) { print("added: \(title)") }
}
