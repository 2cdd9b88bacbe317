// An object with any number of delegates, which are held weakly, instead of the single one that a `weak var delegate`
// allows.

import ObserverSet

@MainActor protocol DownloadDelegate: AnyObject {
    func downloadDidProgress(_ fraction: Double)
    func downloadWillFinish() throws
}

@MainActor final class Download {
    let delegates = MulticastDelegate<any DownloadDelegate>()

    func run() {
        for step in 1...2 { delegates.notify { $0.downloadDidProgress(Double(step) / 2) } }
        do {
            try delegates.notify { try $0.downloadWillFinish() }
        } catch {
            print("refused: \(error)")  // the other delegates have still been called
        }
    }
}

@MainActor final class ProgressBar: DownloadDelegate {
    func downloadDidProgress(_ fraction: Double) { print("bar: \(fraction)") }
    func downloadWillFinish() { print("bar: done") }
}

@MainActor final class Guard: DownloadDelegate {
    struct DiskFull: Error {}

    func downloadDidProgress(_ fraction: Double) {}
    func downloadWillFinish() throws { throw DiskFull() }
}

let download = Download()
let diskGuard = Guard()
download.delegates.add(diskGuard)
do {
    let bar = ProgressBar()
    download.delegates.add(bar)
    download.delegates.add(bar)  // held once
    download.run()
    debugPrint(download.delegates)
}
print(download.delegates)  // the bar is gone; nothing had to be removed
download.delegates.remove(diskGuard)

// MARK: The README's example

@MainActor final class PlayerView: PlayerDelegate {
    func playerDidStop() { print("stopped") }
}

let view = PlayerView()

@MainActor protocol PlayerDelegate: AnyObject { func playerDidStop() }
let delegates = MulticastDelegate<any PlayerDelegate>()
delegates.add(view)
delegates.notify { $0.playerDidStop() }
