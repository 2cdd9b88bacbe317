// Plain classes that observe one another without an annotation, in every language mode and with every default
// isolation.

import ObserverSet

/// A class like any other, neither `Sendable` nor annotated.
final class Shelf {
    let cleared = LocalObserverSet<Void>()
    let renamed = LocalObserverSet<String>()
    let moved = LocalObserverSet<(Int, Int)>()
    let bookAdded = LocalObserverSet<(book: Book, index: Int)>()
}

/// Not `Sendable` either, and passed to observers.
final class Book {
    var title: String
    init(_ title: String) { self.title = title }
}

final class Reader {
    var log: [String] = []
    private var token: LocalObserverSet<String>.Token?

    func observe(_ shelf: Shelf) {
        shelf.cleared.add(method: Reader.clear, of: self)
        shelf.renamed.add(method: Reader.rename, of: self)
        shelf.moved.add(method: Reader.move, of: self)
        shelf.bookAdded.add(self) { reader, item in
            item.book.title += "!"
            reader.log.append("\(item.book.title) at \(item.index)")
        }
        shelf.renamed.once.add(self) { reader, name in reader.log.append("first \(name)") }
        token = shelf.renamed.add { [unowned self] name in log.append("now \(name)") }
    }

    func leave() { token?.remove() }

    func clear() { log.append("cleared") }
    func rename(_ name: String) { log.append("renamed \(name)") }
    func move(_ from: Int, _ to: Int) { log.append("moved \(from) to \(to)") }
}

func useLocalSets() {
    let shelf = Shelf()
    let reader = Reader()
    reader.observe(shelf)
    let once = shelf.cleared.once.add { reader.log.append("once") }
    shelf.cleared.notify()
    precondition(!once.isActive && !shelf.cleared.remove(once))
    shelf.renamed.notify("A–K")
    reader.leave()
    shelf.renamed.notify("L–Z")
    shelf.moved.notify(2, 5)
    shelf.bookAdded.notify((book: Book("Momo"), index: 0))
    precondition(
        reader.log == [
            "cleared", "once", "renamed A–K", "first A–K", "now A–K", "renamed L–Z", "moved 2 to 5", "Momo! at 0",
        ], "\(reader.log)")
    precondition(shelf.renamed.removeAll(ownedBy: reader) == 1 && shelf.renamed.isEmpty)
}
