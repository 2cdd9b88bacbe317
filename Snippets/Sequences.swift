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
/// The loop ends when the download is gone, since a sequence does not keep its set alive.
func report(_ percents: NotificationSequence<Int>) async {
    var count = 0
    for await _ in percents { count += 1 }
    print("report: \(count) values, \(percents.droppedCount) dropped")
}

/// Too slow to receive every value: it uses the latest one, and knows how many it has missed.
func show(_ percents: NotificationSequence<Int>) async {
    var count = 0
    for await percent in percents {
        count += 1
        if percent == 100 { break }
        try? await Task.sleep(for: .milliseconds(1))
    }
    print("view: 100 %; \(count) values and \(percents.droppedCount) dropped make \(count + percents.droppedCount)")
}

/// Begins a download that two tasks follow, and that only its own thread keeps alive.
func begin() -> [Task<Void, Never>] {
    let download = Download()
    // Live from here on: nothing is missed, however late the tasks begin.
    let all = download.progressed.values()
    let latest = download.progressed.values(buffering: .newest(1))
    Thread.detachNewThread { download.run() }
    return [Task { await report(all) }, Task { await show(latest) }]
}

for task in begin() { await task.value }

// One notification is one `await`.
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
