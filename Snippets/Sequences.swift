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
/// The loop ends when the download has been deallocated, because a stream doesn't keep its set alive.
func report(_ percents: AsyncStream<Int>) async {
    var count = 0
    for await _ in percents { count += 1 }
    print("report: \(count) values")
}

/// Takes only the newest value each time, because it is too slow to receive every value.
func show(_ percents: AsyncStream<Int>) async {
    var last = 0
    for await percent in percents {
        last = percent
        try? await Task.sleep(for: .milliseconds(1))
    }
    print("view: \(last) %")
}

/// Begins a download that two tasks follow.
///
/// Only the download's own thread keeps it alive.
func begin() -> [Task<Void, Never>] {
    let download = Download()
    // The streams are registered here, so they miss no value, however late the tasks begin.
    let all = download.progressed.values()
    let newest = download.progressed.values(buffering: .newest(1))
    Thread.detachNewThread { download.run() }
    return [Task { await report(all) }, Task { await show(newest) }]
}

for task in begin() { await task.value }

// Waits for a single value.
let download = Download()
Task { download.run() }
print("next: \(await download.finished.first() ?? "cancelled")")

// When a task is cancelled, its loop ends at once, and so does the stream's registration.
let waiting = Task { [values = download.progressed.values()] in
    for await _ in values {}
}
print("observers: \(download.progressed.count)")
waiting.cancel()
await waiting.value
print("observers: \(download.progressed.count)")
