// Plain classes that notify and observe, as in the article "Let's Build Swift Notifications", in Swift 6 and without
// any annotation.
//
//     swift run OneDomain

import ObserverSet

/// A model that is an ordinary class, neither `Sendable` nor on an actor.
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

/// Observes with its methods and with closures, which it doesn't have to remove before it is released.
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
let log = library.bookAdded.add { book in print("  \(book.title) stands on \(book.shelf ?? "the floor")") }
_ = library.bookAdded.once.add { book in print("  the first book: \(book.title)") }

print("With a librarian:")
library.add(Book("Momo"))
library.add(Book("Emil"))
library.move(from: 1, to: 0)
library.close()

print("Without:")
librarian = nil
library.add(Book("Krabat"))
log.remove()
library.add(Book("Ronja"))
print("Still observing: \(library.bookAdded.debugDescription)")
