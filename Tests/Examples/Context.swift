// What the examples of the documentation take for granted: `.ci/examples` compiles each of them as the body of a method of
// `View`, beside these declarations. What an example declares itself goes before what is declared here.

import Foundation
import ObserverSet

// MARK: Models

@MainActor final class Playlist {
    let itemAdded = ObserverSet<(name: String, index: Int)>()
    let cleared = ObserverSet<Void>()
}

final class Document: Sendable {
    let titleChanged = ObserverSet<String>()
    let wordAdded = ObserverSet<String>()
    let closed = ObserverSet<Void>()
    func rename(_ title: String) { titleChanged.notify(title) }
}

final class Table: Sendable {
    let moved = ObserverSet<(Int, Int)>()
}

final class Connection: Sendable {
    let opened = ObserverSet<Void>()
}

protocol DownloadDelegate: AnyObject {
    func downloadDidProgress(_ fraction: Double)
    func downloadWillWrite(to file: URL) throws
}

final class Sensor: Sendable {
    func start() {}
    func stop() {}
    func onMeasure(_ callback: @escaping @Sendable (Double) -> Void) {}
}

final class Download {
    let progressed = ObserverSet<Double>()
    let delegates = MulticastDelegate<any DownloadDelegate>()
}

@MainActor let playlist = Playlist()
let document = Document()
let table = Table()
let connection = Connection()
let sensor = Sensor()
@MainActor let download = Download()
@MainActor var delegates: MulticastDelegate<any DownloadDelegate> { download.delegates }

// MARK: Events

struct OrderPlaced: Event {
    let number: Int
    var total = 0.0
}

struct CartEmptied: Event {}

struct ThemeChanged: BridgedEvent {
    let isDark: Bool
}

extension Notification.Name {
    static let downloadDidFinish = Notification.Name("DownloadDidFinish")
}

let publisher = EventPublisher()
let center = NotificationCenter()

// MARK: UIKit, as much of it as the examples need

#if !canImport(UIKit)
@MainActor class UIViewController {
    init(nibName: String?, bundle: Bundle?) {}
    required init?(coder: NSCoder) {}
    func viewDidLoad() {}
    func viewWillAppear(_ animated: Bool) {}
    func viewDidDisappear(_ animated: Bool) {}
}

@MainActor final class UILabel {
    var text: String?
}
#endif

// MARK: Observers

/// Whatever an example calls its view: the examples are its methods.
@MainActor class View {
    var isDark = false
    func insert(_ name: String, at index: Int) {}
    func clear() {}
    func reload() {}
    func setTitle(_ title: String) {}
    func moveRow(_ from: Int, _ to: Int) {}
    func show(_ number: Int) {}
    func show(_ text: String) {}
}

typealias PlaylistView = View
typealias TableView = View
typealias Window = View

@MainActor final class List {
    func insert(_ url: URL) {}
}

final class Log: Sendable {
    func debug(_ text: String) {}
    func write(_ text: String) {}
}

actor History {
    var names: [String] = []
    func append(_ name: String) { names.append(name) }
}

final class ProgressBar: DownloadDelegate {
    func downloadDidProgress(_ fraction: Double) {}
    func downloadWillWrite(to file: URL) {}
}

@MainActor let view = View()
@MainActor var window: Window { view }
@MainActor var panel: View { view }
@MainActor let list = List()
@MainActor let progressBar = ProgressBar()
let log = Log()
let history = History()
let bag = ObserverBag()
let file = URL(filePath: "/dev/null")
