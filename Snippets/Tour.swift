// The README's first example: an actor notifies in the background, a view and another actor observe.
//
//     swift run Tour

import ObserverSet

actor Downloader {
    nonisolated let downloaded = ObserverSet<(file: String, size: Int)>()

    func run() {
        downloaded.notify((file: "intro.mp3", size: 120))
        downloaded.notify((file: "so-what.mp3", size: 940))
    }
}

@MainActor final class DownloadView {
    init(_ downloader: Downloader) {
        // Runs on the main actor, where the closure is formed. The view is held weakly.
        downloader.downloaded.add(self) { view, item in view.show("\(item.file): \(item.size) KB") }
    }
    func show(_ text: String) { print(text) }
}

actor Statistics {
    private(set) var total = 0

    func observe(_ downloader: Downloader) {
        // Runs on this actor, in the order of the notifications.
        downloader.downloaded.add(self) { statistics, item in statistics.total += item.size }
    }
}

let downloader = Downloader()
let statistics = Statistics()
await statistics.observe(downloader)
var view: DownloadView? = DownloadView(downloader)

await downloader.run()
await downloader.downloaded.settled()  // waits until both observers have received both files
print("total: \(await statistics.total) KB")

view = nil  // the view's observer ends with it
debugPrint(downloader.downloaded)
