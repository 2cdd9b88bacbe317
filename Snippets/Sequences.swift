// A model that works in the background, and tasks that follow it with `for await`.
//
//     swift run Sequences

import Foundation
import ObserverSet

final class Download: Sendable {
    let progressed = ObserverSet<Int>()
    let finished = ObserverSet<String>()

    func run() {
        for percent in 1...100 { progressed.notify(percent) }
        finished.notify("index.html")
    }
}

/// Receives every value.
///
/// The loop ends when the download is gone, since a stream does not keep its set alive.
func report(_ percents: AsyncStream<Int>) async {
    var count = 0
    for await _ in percents { count += 1 }
    print("report: \(count) values")
}

/// Too slow to receive every value: it uses the newest one.
func show(_ percents: AsyncStream<Int>) async {
    var last = 0
    for await percent in percents {
        last = percent
        try? await Task.sleep(for: .milliseconds(1))
    }
    print("view: \(last) %")
}

/// Begins a download that two tasks follow, and that only its own thread keeps alive.
func begin() -> [Task<Void, Never>] {
    let download = Download()
    // Registered from here on: nothing is missed, however late the tasks begin.
    let all = download.progressed.values()
    let newest = download.progressed.values(buffering: .newest(1))
    Thread.detachNewThread { download.run() }
    return [Task { await report(all) }, Task { await show(newest) }]
}

for task in begin() { await task.value }

// To wait for one notification.
let download = Download()
Task { download.run() }
print("next: \(await download.finished.first() ?? "cancelled")")

// A cancelled task's loop ends at once, and its registration with it.
let waiting = Task { [values = download.progressed.values()] in
    for await _ in values {}
}
print("observers: \(download.progressed.count)")
waiting.cancel()
await waiting.value
print("observers: \(download.progressed.count)")
