// Reads a text file line by line, while a counter, an actor and a view observe it.
//
//     swift run GettingStarted [FILE]
//
// Without a file it reads this package's README.

import Foundation
import ObserverSet
import Synchronization

// MARK: A model that can be observed

/// A text that is read in the background, and tells its observers what it finds.
///
/// Its events are declared as ordinary properties.
final class Document: Sendable {
    let opened = ObserverSet<String>()
    let lineRead = ObserverSet<(number: Int, text: String)>()
    let progressed = ObserverSet<(Int, Int)>()
    let closed = ObserverSet<Void>()

    func read(_ url: URL) throws {
        let text = try String(contentsOf: url, encoding: .utf8)
        var lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        if lines.last?.isEmpty == true { lines.removeLast() }
        opened.notify(url.lastPathComponent)
        for (index, line) in lines.enumerated() {
            lineRead.notify((number: index + 1, text: String(line)))
            progressed.notify(index + 1, lines.count)
        }
        closed.notify()
    }
}

// MARK: Observers

/// An observer that belongs to no actor.
///
/// It is called for every line on the thread that reads, before the next line is read.
final class Counter: Sendable {
    private let totals = Mutex((lines: 0, words: 0, longest: ""))
    var result: (lines: Int, words: Int, longest: String) { totals.withLock { $0 } }

    init(_ document: Document) {
        document.lineRead.add(self) { counter, line in counter.count(line.text) }
    }

    private func count(_ text: String) {
        totals.withLock { totals in
            totals.lines += 1
            totals.words += words(in: text).count
            if text.count > totals.longest.count { totals.longest = text }
        }
    }
}

/// An observer that is an actor. It receives the lines on itself, in their order, while the reading goes on.
actor WordIndex {
    private var occurrences: [String: Int] = [:]

    func observe(_ document: Document) {
        document.lineRead.add(self) { index, line in
            for word in words(in: line.text) where word.count > 3 { index.occurrences[word, default: 0] += 1 }
        }
    }

    func mostFrequent(_ count: Int) -> [(word: String, count: Int)] {
        let sorted = occurrences.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.prefix(count).map { (word: $0.key, count: $0.value) }
    }
}

/// An observer on the main actor.
///
/// It is called there, although the text is read elsewhere.
///
/// Its methods are added as observers, without closures.
@MainActor final class ProgressView {
    private var shown = 0

    init(_ document: Document) {
        document.opened.add(method: ProgressView.begin, of: self)
        document.progressed.add(method: ProgressView.update, of: self)
        document.closed.add(method: ProgressView.end, of: self)
    }

    private func begin(_ name: String) { print("Reading \(name)") }

    private func update(_ done: Int, _ total: Int) {
        let quarter = 4 * done / total
        guard quarter > shown else { return }
        shown = quarter
        print("  \(25 * quarter) %")
    }

    private func end() { print("Done") }
}

/// An observer that is released when half of the text has been read.
///
/// No code has to remove it.
final class Guest: Sendable {
    let heard = Atomic<Int>(0)
    deinit { print("  the guest leaves, having heard \(heard.load(ordering: .relaxed)) lines") }
}

func words(in text: String) -> [String] {
    text.split { !$0.isLetter && $0 != "'" }.map { $0.lowercased() }
}

// MARK: Putting them together

let readme = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../README.md").standardizedFileURL
let file = CommandLine.arguments.dropFirst().first.map { URL(filePath: $0) } ?? readme

let document = Document()
let counter = Counter(document)
let index = WordIndex()
let view = ProgressView(document)
await index.observe(document)

// A closure without an owner lives until its token is removed.
let log = document.lineRead.addNonisolated { line in
    print("  log: line \(line.number) has \(line.text.count) characters")
}
_ = document.progressed.addNonisolated { done, _ in if done == 3 { log.remove() } }

let guest = Mutex(Optional(Guest()))
if let guest = guest.withLock(\.self) {
    document.lineRead.addNonisolated(guest) { guest, _ in guest.heard.add(1, ordering: .relaxed) }
}
_ = document.progressed.addNonisolated { done, total in
    guard 2 * done >= total else { return }
    // The guest is released outside the lock, because its `deinit` may do anything there.
    let leaving = guest.withLock { guest in guest.take() }
    _ = consume leaving
}

do {
    try await Task.detached { try document.read(file) }.value
} catch {
    let message = "GettingStarted: \(file.path) cannot be read: \(error.localizedDescription)\n"
    FileHandle.standardError.write(Data(message.utf8))
    exit(1)
}

// Some values for the index and the view may still be pending.
await document.lineRead.settled()
await document.closed.settled()

let result = counter.result
print("\(result.lines) lines, \(result.words) words")
print("Most frequent: \(await index.mostFrequent(5).map { "\($0.word) (\($0.count))" }.joined(separator: ", "))")
print("Longest line: \(result.longest)")
print("Still observing: \(document.lineRead.debugDescription)")
