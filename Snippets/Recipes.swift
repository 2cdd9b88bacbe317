// What the articles "Recipes", "On the server" and "SwiftUI, UIKit and AppKit" show, as far as it needs no user interface.
//
//     swift run Recipes
//
// It prints:
//
//     now playing: So What
//     sent: ["jazz: hello", "blues: hello", "blues: one, two, three"]
//     too slow: a line was lost
//     volume: 7
//     volume: 8
//     slider at 8
//     volume: 9
//     slider at 9
//     slider at 10
//     observed by the slider: false
//     jazz: hello
//     search for: kind of
//     drawn last: 100 %; fewer than all: true
//     huge: cancelled
//     small: uploaded
//     called when the session opened
//     called at once: the session is open
//     speed: 100
//     title: Notes
//     title: Memoirs
//     that is long
//     sensor on
//     21.5 degrees
//     sensor off
//     read: Kind of Blue
//     read: Giant Steps
//     words: 5
//     interrupted

import Dispatch
import Foundation
import Observation
import ObserverSet
import Synchronization

// MARK: A model for SwiftUI

actor Player {
    nonisolated let started = ObserverSet<String>()

    func play(_ title: String) { started.notify(title) }
}

@Observable @MainActor final class NowPlaying {
    private(set) var title = "silence"

    init(_ player: Player) {
        player.started.add(self) { model, title in model.title = title }
    }
}

let player = Player()
let nowPlaying = NowPlaying(player)
await player.play("So What")
await player.started.settled()
print("now playing: \(nowPlaying.title)")

// MARK: One observer of sources that come and go

actor Guest {
    nonisolated let outgoing = ObserverSet<(visit: Int, text: String)>()
    private var rooms: [String: (visit: Int, token: ObserverToken)] = [:]
    private var visits = 0
    private var sending: ObserverToken?
    private(set) var sent: [String] = []

    /// Called before the guest enters.
    func start() {
        sending = outgoing.addAsync(self, buffering: .oldest(64)) { guest, line in await guest.send(line) }
    }

    func enter(_ room: String, _ said: some NotificationSource<String>) {
        leave(room)
        visits += 1
        let token = said.addNonisolated(self) { [visits, sending] guest, text in
            guest.outgoing.notify((visit: visits, text: text))
            guard let sending, sending.droppedCount > 0, sending.remove() else { return }
            print("too slow: a line was lost")  // once: only one caller's remove() returns true
        }
        rooms[room] = (visits, token)
    }

    func leave(_ room: String) {
        rooms.removeValue(forKey: room)?.token.remove()
    }

    private func send(_ line: (visit: Int, text: String)) async {
        guard rooms.values.contains(where: { $0.visit == line.visit }) else { return }
        try? await Task.sleep(for: .milliseconds(1))
        guard !Task.isCancelled else { return }
        sent.append(line.text)
    }
}

let jazz = ObserverSet<String>()
let blues = ObserverSet<String>()
let guest = Guest()
await guest.start()
await guest.enter("jazz", jazz)
await guest.enter("blues", blues)
jazz.notify("jazz: hello")
blues.notify("blues: hello")
await guest.outgoing.settled()
await guest.leave("jazz")
jazz.notify("is anybody there?")
blues.notify("blues: one, two, three")
await guest.outgoing.settled()
print("sent: \(await guest.sent)")
for number in 1...1_000 { blues.notify("\(number)") }
await guest.outgoing.settled()

// MARK: A model with didSet

@MainActor final class Volume {
    private let changes = ObserverSet<Int>()
    nonisolated var changed: some NotificationSource<Int> { changes }

    var level = 5 {
        didSet {
            if level != oldValue { changes.notify(level) }
        }
    }
}

let volume = Volume()
volume.changed.add { level in print("volume: \(level)") }
volume.level = 7
volume.level = 7
volume.level = 8

// MARK: The current value, and every change from then on

extension Volume {
    func observe<Owner: AnyObject & Sendable>(
        _ owner: Owner, fileID: StaticString = #fileID, line: UInt = #line,
        _ observer: @escaping @MainActor (Owner, Int) -> Void
    ) {
        changed.add(owner, observer, fileID: fileID, line: line)
        observer(owner, level)
    }
}

@MainActor final class Slider {
    func move(to level: Int) { print("slider at \(level)") }
}

let slider = Slider()
volume.observe(slider) { slider, level in slider.move(to: level) }
volume.level = 9

// MARK: One registration for each client

final class Store: Sendable {
    private let changes = ObserverSet<Int>()
    var changed: some NotificationSource<Int> { changes.replacing }

    func isObserved(by client: AnyObject) -> Bool { changes.token(replaceableBy: client) != nil }
    func remove(_ client: AnyObject) { changes.token(replaceableBy: client)?.remove() }
}

extension Store {
    func set(_ state: Int) { changes.notify(state) }
}

let store = Store()
for _ in 1...2 { store.changed.add(slider) { slider, state in slider.move(to: state) } }
store.set(10)
store.remove(slider)
print("observed by the slider: \(store.isObserved(by: slider))")

// MARK: Many topics of one kind

final class Topics: Sendable {
    private let sets = Mutex<[String: ObserverSet<String>]>([:])

    subscript(name: String) -> ObserverSet<String> {
        sets.withLock { sets in
            let set = sets[name] ?? ObserverSet()
            sets[name] = set
            return set
        }
    }
}

let topics = Topics()
topics["jazz"].add { text in print("jazz: \(text)") }
topics["jazz"].notify("hello")
topics["blues"].notify("nobody is there")

// MARK: Debouncing

@MainActor final class SearchField {
    let edited = ObserverSet<String>()

    var text = "" {
        didSet {
            if text != oldValue { edited.notify(text) }
        }
    }
}

@MainActor final class SearchResults {
    init(_ field: SearchField) {
        field.edited.addAsync(self, buffering: .restarting) { results, text in
            try? await Task.sleep(for: .milliseconds(50))
            guard !Task.isCancelled else { return }
            await results.search(text)
        }
    }

    private func search(_ text: String) async { print("search for: \(text)") }
}

let field = SearchField()
let results = SearchResults(field)
for text in ["k", "ki", "kind", "kind of"] { field.text = text }
await field.edited.settled()

// MARK: Throttling

actor Gauge {
    private(set) var drawn: [Int] = []

    init(_ source: some NotificationSource<Int>) {
        source.addAsync(self, buffering: .newest(1)) { gauge, percent in
            gauge.drawn.append(percent)
            try? await Task.sleep(for: .milliseconds(20))
        }
    }
}

let loaded = ObserverSet<Int>()
let gauge = Gauge(loaded)
for percent in 1...100 { loaded.notify(percent) }
await loaded.settled()
let drawn = await gauge.drawn
print("drawn last: \(drawn.last ?? 0) %; fewer than all: \(drawn.count < 100)")

// MARK: A time limit for each call

extension NotificationSource {
    func addAsync(
        limit: Duration, _ observer: @escaping @Sendable (Parameters) async -> Void
    ) -> ObserverToken {
        addAsync { value in
            await withTaskGroup { group in
                group.addTask { await observer(value) }
                group.addTask { try? await Task.sleep(for: limit) }
                await group.next()
                group.cancelAll()
            }
        }
    }
}

let saved = ObserverSet<String>()
let uploading = saved.addAsync(limit: .milliseconds(50)) { text in
    try? await Task.sleep(for: text == "huge" ? .seconds(600) : .zero)
    print("\(text): \(Task.isCancelled ? "cancelled" : "uploaded")")
}
saved.notify("huge")
saved.notify("small")
await saved.settled()

// MARK: Once

@MainActor final class Session {
    private let opened = ObserverSet<Void>()
    private(set) var isOpen = false

    func open() {
        isOpen = true
        opened.notify()
    }

    func whenOpen(_ action: @escaping @MainActor () -> Void) {
        if isOpen { action() } else { opened.once.add { action() } }
    }

    func waitUntilOpen() async {
        if !isOpen { _ = await opened.first() }
    }
}

let session = Session()
session.whenOpen { print("called when the session opened") }
Task { session.open() }
await session.waitUntilOpen()
session.whenOpen { print("called at once: the session is open") }

// MARK: From a callback

/// A class that has one callback, and calls it on any thread.
final class Monitor: Sendable {
    private let callback = Mutex<(@Sendable (Int) -> Void)?>(nil)

    func onChange(_ newCallback: @escaping @Sendable (Int) -> Void) { callback.withLock { $0 = newCallback } }
    func measure(_ speed: Int) { callback.withLock(\.self)?(speed) }
}

final class Network: Sendable {
    let speedChanged = ObserverSet<Int>()
    let monitor = Monitor()

    init() {
        monitor.onChange { [speedChanged] speed in speedChanged.notify(speed) }
    }
}

let network = Network()
network.speedChanged.addNonisolated { speed in print("speed: \(speed)") }
network.monitor.measure(100)

// MARK: A part of a notification

final class Editor: Sendable {
    private let changes = ObserverSet<(title: String, length: Int)>()
    var titleChanged: some NotificationSource<String> { changes.map(\.title) }
    var savedLong: some NotificationSource<Void> { changes.filter { $0.length > 1_000 }.map { _ in } }

    func save(_ title: String, length: Int) { changes.notify((title: title, length: length)) }
}

let editor = Editor()
editor.titleChanged.addNonisolated { title in print("title: \(title)") }
editor.savedLong.addNonisolated { print("that is long") }
editor.save("Notes", length: 10)
editor.save("Memoirs", length: 2_000)

// MARK: A producer that runs only while it is observed

/// A class that needs power while it runs.
final class Sensor: Sendable {
    private let callback = Mutex<(@Sendable (Double) -> Void)?>(nil)

    func onMeasure(_ newCallback: @escaping @Sendable (Double) -> Void) { callback.withLock { $0 = newCallback } }
    func start() { print("sensor on") }
    func stop() { print("sensor off") }
    func measure(_ celsius: Double) { callback.withLock(\.self)?(celsius) }
}

final class Thermometer: Sendable {
    let measured: ObserverSet<Double>

    init(_ sensor: Sensor) {
        measured = ObserverSet { isObserved in isObserved ? sensor.start() : sensor.stop() }
        sensor.onMeasure { [weak measured] celsius in measured?.notify(celsius) }
    }
}

let sensor = Sensor()
let thermometer = Thermometer(sensor)
let reading = thermometer.measured.addNonisolated { celsius in print("\(celsius) degrees") }
sensor.measure(21.5)
reading.remove()

// MARK: A command-line tool

final class Reader: Sendable {
    let lineRead = ObserverSet<String>()

    func read(_ text: String) {
        for line in text.split(separator: "\n") { lineRead.notify(String(line)) }
    }
}

actor WordCount {
    private(set) var words = 0

    init(_ reader: Reader) {
        reader.lineRead.add(self) { count, line in count.words += line.split(separator: " ").count }
    }
}

let reader = Reader()
let wordCount = WordCount(reader)
reader.lineRead.add { line in print("read: \(line)") }

await Task.detached { reader.read("Kind of Blue\nGiant Steps") }.value
await reader.lineRead.settled()
print("words: \(await wordCount.words)")

// A program that runs until it is told to end. This one tells itself, as soon as it would notice.

let interrupted = ObserverSet<Void>()
let interruptions = interrupted.values()
let signals = [SIGINT, SIGTERM].map { number in
    signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .main)
    source.setEventHandler { interrupted.notify() }
    source.resume()
    return source
}
signals[1].setRegistrationHandler { kill(getpid(), SIGTERM) }

for await _ in interruptions { break }
print("interrupted")
