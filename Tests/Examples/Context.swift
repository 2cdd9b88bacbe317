// What the examples of the documentation take for granted: `.ci/documentation` compiles each of them as the body of a method of
// `View`, beside these declarations. What an example declares itself goes before what is declared here. The examples are also
// compiled with the main actor as the default, so each declaration says where it belongs.

import Foundation
import ObserverSet

// MARK: Models

@MainActor final class Playlist {
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    let cleared = ObserverSet<Void>()
}

nonisolated final class Document: Sendable {
    let titleChanged = ObserverSet<String>()
    let wordAdded = ObserverSet<String>()
    let closed = ObserverSet<Void>()
    func rename(_ title: String) { titleChanged.notify(title) }
}

nonisolated final class Table: Sendable {
    let moved = ObserverSet<(Int, Int)>()
}

nonisolated final class Connection: Sendable {
    let opened = ObserverSet<Void>()
}

nonisolated protocol DownloadDelegate: AnyObject {
    func downloadDidProgress(_ fraction: Double)
    func downloadWillWrite(to file: URL) throws
}

nonisolated final class Sensor: Sendable {
    func start() {}
    func stop() {}
    func onMeasure(_ callback: @escaping @Sendable (Double) -> Void) {}
}

nonisolated final class Download {
    let progressed = ObserverSet<Double>()
    let delegates = MulticastDelegate<any DownloadDelegate>()
}

/// What the article about messages of the compiler observes, as the mistakes in Tests/Clients/Messages do.
nonisolated final class Model: Sendable {
    let cleared = ObserverSet<Void>()
    let renamed = ObserverSet<String>()
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    let moved = ObserverSet<(Int, Int)>()
}

@MainActor let playlist = Playlist()
nonisolated let document = Document()
nonisolated let model = Model()
nonisolated let table = Table()
nonisolated let connection = Connection()
nonisolated let sensor = Sensor()
@MainActor let download = Download()
@MainActor var delegates: MulticastDelegate<any DownloadDelegate> { download.delegates }

// MARK: Events

nonisolated struct OrderPlaced: Event {
    let number: Int
    var total = 0.0
}

nonisolated struct CartEmptied: Event {}

nonisolated struct ThemeChanged: BridgedEvent {
    let isDark: Bool
}

nonisolated extension Notification.Name {
    static let downloadDidFinish = Notification.Name("DownloadDidFinish")
}

nonisolated let publisher = EventPublisher()
nonisolated let center = NotificationCenter()

// MARK: UIKit, as much of it as the examples need

#if !canImport(UIKit)
@MainActor class UIViewController {
    init(nibName: String?, bundle: Bundle?) {}
    required init?(coder: NSCoder) {}
    func viewDidLoad() {}
    func viewWillAppear(_ animated: Bool) {}
    func viewWillDisappear(_ animated: Bool) {}
}

@MainActor final class UILabel {
    var text: String?
}
#endif

// MARK: Observers

/// Whatever an example calls its view: the examples are its methods.
@MainActor class View {
    var isDark = false
    var count = 0
    func insert(_ name: String, at index: Int) {}
    func clear() {}
    func reload() {}
    func setTitle(_ title: String) {}
    func move(_ from: Int, _ to: Int) {}
    func moveRow(_ from: Int, _ to: Int) {}
    func save(_ text: String) throws {}
    func show(_ number: Int) {}
    func show(_ text: String) {}
}

typealias PlaylistView = View
typealias TableView = View
typealias Window = View

@MainActor final class List {
    func insert(_ url: URL) {}
    func clear() {}
}

nonisolated final class Log: Sendable {
    func debug(_ text: String) {}
    func write(_ text: String) {}
    func clear() {}
}

actor History {
    var names: [String] = []
    var words: Set<String> = []
    func append(_ name: String) { names.append(name) }
    func show(_ text: String) {}
    func clear() {}
}

nonisolated final class ProgressBar: DownloadDelegate {
    func downloadDidProgress(_ fraction: Double) {}
    func downloadWillWrite(to file: URL) {}
}

@MainActor let view = View()
@MainActor var window: Window { view }
@MainActor var panel: View { view }
@MainActor let list = List()
@MainActor let progressBar = ProgressBar()
nonisolated let log = Log()
nonisolated let history = History()
nonisolated let bag = ObserverBag()
nonisolated let token = publisher.allEvents.addAsync { _ in }
nonisolated let file = URL(filePath: "/dev/null")
