// How to observe, and how an observer ends: forms of the page "Cheat sheet"; four ways to end, none of which has to be
// remembered; and a model that works in the background, which tasks follow with `for await`.
//
//     swift run Lifetimes

import Foundation
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
let clearing = playlist.cleared.add { print("cleared") }
clearing.remove()

player.play("Freddie Freeloader")
playlist.itemAdded.notify((name: "Blue in Green", index: 1))
await playlist.itemAdded.settled()

// MARK: - Four ways for an observer to end

@MainActor final class Radio {
    let tuned = ObserverSet<Double>()
}

@MainActor final class Display {
    let name: String

    init(_ name: String, _ radio: Radio) {
        self.name = name
        // 1. An observer ends together with its owner, which is held weakly.
        radio.tuned.add(self) { display, megahertz in print("  \(display.name) shows \(megahertz)") }
    }
}

@MainActor final class Recorder {
    // 2. An observer ends together with the bag that holds its token. This bag is released together with the recorder.
    private let bag = ObserverBag()

    init(_ radio: Radio) {
        radio.tuned.add { megahertz in print("  recorded: tuned to \(megahertz)") }.store(in: bag)
    }
}

let radio = Radio()
var display: Display? = Display("kitchen", radio)
var recorder: Recorder? = Recorder(radio)

// 3. An observer that is added to `once` ends after one call.
_ = radio.tuned.once.add { _ in print("  the first tune of the day") }

// 4. An observer ends when you remove its token.
let token = radio.tuned.add { megahertz in if megahertz > 100 { print("  high up the band") } }

func tune(to megahertz: Double) {
    print("\(megahertz) MHz, heard by \(radio.tuned.count)")
    radio.tuned.notify(megahertz)
}

withExtendedLifetime((display, recorder)) { tune(to: 101.5) }
display = nil
withExtendedLifetime(recorder) { tune(to: 104.2) }
recorder = nil
tune(to: 107.8)
token.remove()
tune(to: 88.1)

// MARK: - Tasks that follow a model

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
