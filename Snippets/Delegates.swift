// Code that stays where it is: any number of delegates, weakly held, instead of the one that a `weak var delegate` has room
// for; and plain classes that notify and observe, as in the article "Let's Build Swift Notifications": in Swift 6, without an
// annotation.
//
//     swift run Delegates

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

let miniPlayer = PlayerView()

@MainActor protocol PlayerDelegate: AnyObject { func playerDidStop() }
let delegates = MulticastDelegate<any PlayerDelegate>()
delegates.add(miniPlayer)
delegates.notify { $0.playerDidStop() }

// MARK: - Plain classes

/// A model like any other class: neither `Sendable` nor on an actor.
final class Library {
    let bookAdded = LocalObserverSet<Book>()
    let bookMoved = LocalObserverSet<(title: String, from: Int, to: Int)>()
    let closed = LocalObserverSet<Void>()
    private var books: [Book] = []

    func add(_ book: Book) {
        books.append(book)
        bookAdded.notify(book)
    }

    func move(from: Int, to: Int) {
        let book = books.remove(at: from)
        books.insert(book, at: to)
        bookMoved.notify((title: book.title, from: from, to: to))
    }

    func close() { closed.notify() }
}

/// A parameter may be any object, and observers may change it.
final class Book {
    let title: String
    var shelf: String?
    init(_ title: String) { self.title = title }
}

/// Observes with its methods and with closures; nothing has to be removed when it is released.
final class Librarian {
    private var shelved = 0

    init(_ library: Library) {
        library.bookAdded.add(method: Librarian.shelve, of: self)
        library.bookMoved.add(self) { _, move in print("  \(move.title) moved from \(move.from) to \(move.to)") }
        library.closed.add(method: Librarian.goHome, of: self)
    }

    private func shelve(_ book: Book) {
        book.shelf = "shelf \(book.title.prefix(1))"
        shelved += 1
    }

    private func goHome() { print("  the librarian goes home, having shelved \(shelved)") }

    deinit { print("  the librarian is gone") }
}

let library = Library()
var librarian: Librarian? = Librarian(library)
let shelfLog = library.bookAdded.add { book in print("  \(book.title) stands on \(book.shelf ?? "the floor")") }
_ = library.bookAdded.once.add { book in print("  the first book: \(book.title)") }

print("With a librarian:")
library.add(Book("Momo"))
library.add(Book("Emil"))
library.move(from: 1, to: 0)
library.close()

print("Without:")
librarian = nil
library.add(Book("Krabat"))
shelfLog.remove()
library.add(Book("Ronja"))
print("Still observing: \(library.bookAdded.debugDescription)")
