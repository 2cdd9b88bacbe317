// The examples of the pages "Recipes", "On the server" and "SwiftUI, UIKit and AppKit" that need no user interface.
//
//     swift run Recipes
//
// It prints:
//
//     now playing: So What
//     slider at 7
//     slider at 8
//     label: 1
//     label: 2
//     apples: 1
//     apples: 2
//     jazz: hello
//     jazz: only the stream is left
//     topics: 0
//     row: of the second document
//     search for: kind of
//     drawn last: 100 %; fewer than all: true
//     called when the session opened
//     called at once: the session is open
//     speed: 100
//     sensor on
//     21.5 degrees
//     sensor off
//     sent over the link: one
//     sent over the link: three
//     the distributed actor heard: hello

import Distributed
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

// MARK: The current value, then each change

@MainActor final class Volume {
    private let changes = ObserverSet<Int>()

    var level = 5 {
        didSet {
            if level != oldValue { changes.notify(level) }
        }
    }

    /// The level, then each change; add the observer in the same expression.
    var levels: some NotificationSource<Int> { changes.starting(with: level) }
}

@MainActor final class Slider {
    init(_ volume: Volume) {
        volume.levels.add(self) { slider, level in slider.move(to: level) }
    }

    private func move(to level: Int) { print("slider at \(level)") }
}

let volume = Volume()
volume.level = 7
let slider = Slider(volume)
volume.level = 7
volume.level = 8

actor Counter {
    private let changes = ObserverSet<Int>()
    private var count = 0 { didSet { changes.notify(count) } }

    func increment() { count += 1 }

    func show(in label: Label) {
        changes.starting(with: count).add(label) { @MainActor label, count in label.text = "\(count)" }
    }
}

@MainActor final class Label {
    var text = "" { didSet { print("label: \(text)") } }
}

extension Counter {
    func settled() async { await changes.settled() }
}

let counter = Counter()
let label = Label()
await counter.increment()
await counter.show(in: label)
await counter.increment()
await counter.settled()

// MARK: A set beside a lock

nonisolated final class Inventory: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    /// Held while the counts are changed and sent, and while a stream is made; readers don't take this lock.
    private let changes = Mutex(ObserverSet<[String: Int]>())

    subscript(name: String) -> Int { counts.withLock { counts in counts[name] ?? 0 } }

    func add(_ name: String) {
        changes.withLock { changes in
            changes.notify(
                counts.withLock { counts in
                    counts[name, default: 0] += 1
                    return counts
                })
        }
    }

    /// The counts, then what they are after each change.
    func allCounts() -> AsyncStream<[String: Int]> {
        changes.withLock { changes in changes.starting(with: counts.withLock { $0 }).values() }
    }
}

let inventory = Inventory()
inventory.add("apples")
let counts = inventory.allCounts()
inventory.add("apples")
for await counts in counts.prefix(2) { print("apples: \(counts["apples"] ?? 0)") }

// MARK: Topics that come and go

actor Topics {
    private var sets: [String: ObserverSet<String>] = [:]

    /// Returns what `add` returns: a token, or a stream.
    func observe<Result: Sendable>(
        _ name: String, _ add: @Sendable (ObserverSet<String>) -> Result
    ) -> Result {
        let set =
            sets[name]
            ?? ObserverSet { [weak self] isObserved in
                if !isObserved { Task { await self?.dropIfUnobserved(name) } }
            }
        sets[name] = set
        return add(set)
    }

    func publish(_ text: String, to name: String) { sets[name]?.notify(text) }

    private func dropIfUnobserved(_ name: String) {
        if sets[name]?.isEmpty == true { sets[name] = nil }
    }
}

extension Topics {
    var count: Int { sets.count }
}

let topics = Topics()
let jazz = await topics.observe("jazz") { set in set.addNonisolated { text in print("jazz: \(text)") } }
await topics.publish("hello", to: "jazz")
await topics.publish("nobody is there", to: "blues")
let (lines, linesToken) = await topics.observe("jazz") { set in set.makeStream(buffering: .newest(100)) }
jazz.remove()
await topics.publish("only the stream is left", to: "jazz")
linesToken.remove()
for await line in lines { print("jazz: \(line)") }
while await topics.count > 0 { await Task.yield() }  // the set goes with its last observer
print("topics: \(await topics.count)")

// MARK: One registration for each owner

@MainActor final class TitleRow {
    private var token: ObserverToken?

    func observe(_ titleChanged: some NotificationSource<String>) {
        token?.remove()
        token = titleChanged.add(self) { row, title in print("row: \(title)") }
    }
}

let firstTitle = ObserverSet<String>()
let secondTitle = ObserverSet<String>()
let row = TitleRow()
row.observe(firstTitle)
row.observe(secondTitle)
firstTitle.notify("of the first document")
secondTitle.notify("of the second document")

// MARK: Search as the user types

@MainActor final class SearchResults {
    init(_ edited: some NotificationSource<String>) {
        edited.addAsync(self, buffering: .latest) { results, text in
            try? await Task.sleep(for: .milliseconds(50))
            guard !Task.isCancelled else { return }
            await results.search(text)
        }
    }

    private func search(_ text: String) async { print("search for: \(text)") }
}

let edited = ObserverSet<String>()
let results = SearchResults(edited)
for text in ["k", "ki", "kind", "kind of"] { edited.notify(text) }
await edited.settled()

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

// MARK: Once

@MainActor final class Session {
    private let opened = ObserverSet<Void>()
    private(set) var isOpen = false

    func open() {
        isOpen = true
        opened.notify()
    }

    func whenOpen(_ action: @escaping @MainActor () -> Void) {
        if isOpen { action() } else { _ = opened.once.add { action() } }
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
nonisolated final class Monitor: Sendable {
    private let callback = Mutex<(@Sendable (Int) -> Void)?>(nil)

    func onChange(_ newCallback: @escaping @Sendable (Int) -> Void) { callback.withLock { $0 = newCallback } }
    func measure(_ speed: Int) { callback.withLock(\.self)?(speed) }
}

nonisolated final class Network: Sendable {
    let speedChanged = ObserverSet<Int>()
    let monitor = Monitor()

    init() {
        monitor.onChange { [speedChanged] speed in speedChanged.notify(speed) }
    }
}

let network = Network()
_ = network.speedChanged.addNonisolated { speed in print("speed: \(speed)") }
network.monitor.measure(100)

// MARK: A producer that runs only while it is observed

/// A class that needs power while it runs.
nonisolated final class Sensor: Sendable {
    private let callback = Mutex<(@Sendable (Double) -> Void)?>(nil)

    func onMeasure(_ newCallback: @escaping @Sendable (Double) -> Void) { callback.withLock { $0 = newCallback } }
    func start() { print("sensor on") }
    func stop() { print("sensor off") }
    func measure(_ celsius: Double) { callback.withLock(\.self)?(celsius) }
}

nonisolated final class Thermometer: Sendable {
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

// MARK: Connections that close and open again

actor Link {
    private var token: ObserverToken?

    func open(_ said: some NotificationSource<String>) {
        token = said.addAsync(self) { link, text in await link.send(text) }
    }

    func close() async {
        await token?.removeAndWait()  // no call uses the socket now
    }

    private func send(_ text: String) async { print("sent over the link: \(text)") }
}

let hall = ObserverSet<String>()
let link = Link()
await link.open(hall)
hall.notify("one")
await hall.settled()
await link.close()
hall.notify("two")
await link.open(hall)
hall.notify("three")
await hall.settled()

// MARK: A distributed actor

distributed actor Listener {
    typealias ActorSystem = LocalTestingDistributedActorSystem
    private var heard: [String] = []

    func hear(_ text: String) { heard.append(text) }

    func observe(_ said: some NotificationSource<String>) {
        said.addAsync(self) { listener, text in await listener.whenLocal { $0.hear(text) } }
    }
}

extension Listener {
    var summary: String { heard.joined() }
}

let garden = ObserverSet<String>()
let listener = Listener(actorSystem: LocalTestingDistributedActorSystem())
await listener.whenLocal { $0.observe(garden) }
garden.notify("hello")
await garden.settled()
print("the distributed actor heard: \(await listener.whenLocal { $0.summary } ?? "")")
